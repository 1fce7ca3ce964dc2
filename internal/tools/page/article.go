package page

import (
	"net/url"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"picobot/internal/brief"
)

const (
	// An extraction that has less is taken for a mistake of the extraction: pages
	// that are no articles (indexes, documentation) lose what they are about.
	leastArticle = 250 // bytes of Markdown
	// Pages with more elements are not searched for their article, which takes
	// longer than their size does.
	maxElements = 30_000
	maxTitle    = 300
)

// Article turns an HTML page into Markdown: the article if it has one, else all of
// it. Links become absolute. What no parser takes is reduced to its words.
func Article(source string, where *url.URL) (title, markdown string) {
	document, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return "", words(source) // nested deeper than the parser goes
	}
	prune(document)
	flattenTables(document)
	title, markdown = article(document, where)
	if title == "" {
		title = oneLine(titleOf(document))
	}
	if len(markdown) < leastArticle {
		if whole, ok := convert(document, where); ok && len(whole) > len(markdown) {
			markdown = whole
		}
	}
	if strings.TrimSpace(markdown) == "" {
		markdown = words(source)
	}
	return title, strings.TrimSpace(markdown)
}

// article extracts the main part of a page. The extraction is large and follows
// what pages on the web look like: a page on which it breaks off has no article.
func article(document *html.Node, where *url.URL) (title, markdown string) {
	defer func() {
		if recover() != nil {
			title, markdown = "", ""
		}
	}()
	parser := readability.NewParser()
	parser.MaxElemsToParse = maxElements
	found, err := parser.ParseDocument(document, where)
	if err != nil || found.Node == nil {
		return "", ""
	}
	markdown, _ = convert(found.Node, where)
	return oneLine(found.Title()), markdown
}

func convert(node *html.Node, where *url.URL) (markdown string, ok bool) {
	defer func() {
		if recover() != nil {
			markdown, ok = "", false
		}
	}()
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		// Aligned columns are as wide as their widest cell in every row.
		table.NewTablePlugin(table.WithHeaderPromotion(true), table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))
	out, err := c.ConvertNode(node, converter.WithDomain(where.String()))
	return string(out), err == nil
}

// prune removes what only costs room: embedded pictures, code, forms' secrets.
func prune(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if useless(child) {
			n.RemoveChild(child)
		} else {
			prune(child)
		}
		child = next
	}
}

func useless(n *html.Node) bool {
	if n.Type == html.CommentNode {
		return true
	}
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Style, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Embed, atom.Canvas:
		return true
	case atom.Script: // titles and authors are looked for in the descriptions for search engines
		return attribute(n, "type") != "application/ld+json"
	case atom.Img, atom.Source:
		return strings.HasPrefix(strings.ToLower(strings.TrimSpace(attribute(n, "src"))), "data:")
	case atom.Input:
		return strings.EqualFold(attribute(n, "type"), "hidden")
	}
	return false
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func titleOf(n *html.Node) string {
	for d := range n.Descendants() {
		if d.DataAtom == atom.Title && d.Type == html.ElementNode && d.FirstChild != nil {
			return d.FirstChild.Data
		}
	}
	return ""
}

func oneLine(s string) string {
	return brief.Cut(brief.OneLine(s), maxTitle)
}

// words is all text between tags.
func words(source string) string {
	var b strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(source))
	skipping := false
	for {
		switch tokens.Next() {
		case html.ErrorToken: // the end, since a string has no other errors
			return strings.TrimSpace(b.String())
		case html.StartTagToken, html.EndTagToken:
			token := tokens.Token()
			if token.DataAtom == atom.Script || token.DataAtom == atom.Style {
				skipping = token.Type == html.StartTagToken
			}
		case html.TextToken:
			if text := strings.TrimSpace(string(tokens.Text())); text != "" && !skipping {
				b.WriteString(html.UnescapeString(text) + "\n")
			}
		}
	}
}
