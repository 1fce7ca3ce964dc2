package markdown

import (
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Renderer makes lines of a given width. Not safe for concurrent use.
type Renderer struct {
	width  int
	render *glamour.TermRenderer
	parse  goldmark.Markdown
}

// New returns a Renderer for lines of at most width columns.
func New(width int, colour bool) (*Renderer, error) {
	width = max(width, 8)
	r, err := glamour.NewTermRenderer(
		glamour.WithStyles(style(colour)),
		glamour.WithWordWrap(width),
		glamour.WithChromaFormatter("terminal16"),
		glamour.WithInlineTableLinks(true),
		glamour.WithPreservedNewLines(), // models mean them
	)
	if err != nil {
		return nil, err
	}
	return &Renderer{width: width, render: r, parse: goldmark.New(goldmark.WithExtensions(extension.GFM))}, nil
}

// hyperlink is how the library marks links. Terminals find addresses on their own,
// and a mark that is cut in two would go on to the end of the screen.
var hyperlink = regexp.MustCompile("\x1b\\]8;[^\a\x1b]*(\a|\x1b\\\\)")

// Lines returns the lines of a text, without empty ones at its ends. What cannot be
// shown as Markdown is shown as it is written.
func (r *Renderer) Lines(source string) []string {
	out := r.rendered(source)
	out = ansi.Hardwrap(hyperlink.ReplaceAllString(out, ""), r.width, true)
	lines := strings.Split(out, "\n")
	for i, l := range lines {
		lines[i] = trimRight(l)
	}
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// rendered is the text as the library shows it, or the text where it cannot: models
// write things that nobody has tried.
func (r *Renderer) rendered(source string) (out string) {
	defer func() {
		if recover() != nil {
			out = source
		}
	}()
	out, err := r.render.Render(r.literal(source))
	if err != nil {
		return source
	}
	return out
}

// literal makes HTML of the text be shown: the library would leave it out, and with it
// whatever looks like it, such as the <T> of List<T>.
func (r *Renderer) literal(source string) string {
	var at []int
	note := func(s text.Segment) {
		for i := s.Start; i < s.Stop; i++ {
			if source[i] == '<' || source[i] == '&' {
				at = append(at, i)
			}
		}
	}
	_ = ast.Walk(r.parse.Parser().Parse(text.NewReader([]byte(source))), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				note(n.Segments.At(i))
			}
		case *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				note(n.Lines().At(i))
			}
			if n.HasClosure() {
				note(n.ClosureLine)
			}
		}
		return ast.WalkContinue, nil
	})
	var out strings.Builder
	from := 0
	for _, i := range at {
		if i < from {
			continue
		}
		out.WriteString(source[from:i] + `\`)
		from = i
	}
	return out.String() + source[from:]
}

var trailing = regexp.MustCompile(`(?:[ \t]|\x1b\[[0-9;]*m)+$`)

// trimRight takes out the spaces at the end of a line, between and after colours.
func trimRight(l string) string {
	end := trailing.FindString(l)
	l = l[:len(l)-len(end)]
	if strings.Contains(l, "\x1b[") {
		l += "\x1b[m"
	}
	return l
}
