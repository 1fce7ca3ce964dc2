package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"picobot/internal/brief"
	"picobot/internal/tools/page"
)

//go:embed web_fetch.md
var webFetchDescription string

// maxErrorPage is how much of a page is shown that says why there is no other.
const maxErrorPage = 1000

type webFetchArgs struct {
	URL      string `json:"url" jsonschema:"the whole URL, beginning with https:// or http://"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"characters of text to return at most"`
}

// WebFetch is the tool web_fetch.
func WebFetch(opts HTTPOptions) Tool {
	opts = opts.withDefaults()
	return New(Spec[webFetchArgs]{
		Name:        "web_fetch",
		Description: webFetchDescription,
		Effect:      ReadOnly,
		Summary:     func(a webFetchArgs) string { return a.URL },
		Refine: func(s *jsonschema.Schema) {
			s.Properties["max_chars"].Minimum = jsonschema.Ptr(0.0)
		},
	}, func(ctx context.Context, _ Call, a webFetchArgs) (string, error) {
		e, err := opts.ask(ctx, question{method: http.MethodGet, url: a.URL, follow: true, header: http.Header{
			"Accept": {"text/html,application/xhtml+xml,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.5"},
		}})
		if err != nil {
			return "", err
		}
		if e.code < 200 || e.code > 299 {
			return shorten(opts.read(e), maxErrorPage), fmt.Errorf("%w %s", errStatus, brief.Cut(brief.OneLine(e.status), maxQuoted))
		}
		return shorten(opts.read(e), a.MaxChars), nil
	})
}

// errStatus is an answer that is no success, to who wanted a page.
var errStatus = errors.New("the server answered")

// read makes text of an answer, with where it is from on top.
func (o HTTPOptions) read(e exchange) string {
	where := e.final.String()
	text, ok := e.text()
	switch {
	case !ok:
		return fmt.Sprintf("%s\n\n[%s, %s: no text, so it is not shown]", where, e.kind(), e.size())
	case strings.TrimSpace(text) == "":
		return where + "\n\n[the page is empty]"
	}
	title := ""
	if page.IsHTML(page.MediaType(e.contentType(), e.data)) {
		title, text = page.Article(text, e.final)
		if text == "" {
			text = "[the page has no text; perhaps scripts make it]"
		}
	}
	if title != "" {
		where = "# " + title + "\n" + where
	}
	if e.more {
		text += o.notRead()
	}
	return where + "\n\n" + text
}

// shorten cuts text to max characters and says so; 0 = the registry's limit alone.
func shorten(text string, max int) string {
	if max <= 0 || utf8.RuneCountInString(text) <= max {
		return text
	}
	return headRunes(text, max) + fmt.Sprintf("\n[cut after %d characters of %d]", max, utf8.RuneCountInString(text))
}
