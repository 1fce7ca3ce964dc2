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
	fitted *glamour.TermRenderer // makes tables that fit, inside of lists and quotations
	long   *glamour.TermRenderer // leaves lines as long as they are
	parse  goldmark.Markdown
}

// New returns a Renderer for lines of at most width columns.
func New(width int, colour bool) (*Renderer, error) {
	width = max(width, 8)
	fitted, err := newGlamour(width, colour)
	if err != nil {
		return nil, err
	}
	long, err := newGlamour(0, colour)
	if err != nil {
		return nil, err
	}
	return &Renderer{width: width, fitted: fitted, long: long, parse: goldmark.New(goldmark.WithExtensions(extension.GFM))}, nil
}

func newGlamour(width int, colour bool) (*glamour.TermRenderer, error) {
	return glamour.NewTermRenderer(
		glamour.WithStyles(style(colour)),
		glamour.WithWordWrap(width),
		glamour.WithChromaFormatter("terminal16"),
		glamour.WithInlineTableLinks(true),
		glamour.WithPreservedNewLines(), // models mean them
	)
}

// hyperlink is how the library marks links. Terminals find addresses on their own,
// and a mark that is cut in two would go on to the end of the screen.
var hyperlink = regexp.MustCompile("\x1b\\]8;[^\a\x1b]*(\a|\x1b\\\\)")

// Lines returns the lines of a text, without empty ones at its ends. What cannot be
// shown as Markdown is shown as it is written.
func (r *Renderer) Lines(source string) []string {
	doc := r.parse.Parser().Parse(text.NewReader([]byte(source)))
	if deep(doc) {
		return r.asWritten(source)
	}
	found, nested := tables(doc, source)
	render := r.long
	if nested {
		render = r.fitted
	}
	var lines []string
	add := func(more []string) {
		if len(lines) > 0 && len(more) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, more...)
	}
	from := 0
	for _, t := range found {
		if t.from < from { // what the library says makes no sense
			continue
		}
		add(r.wrapped(render, source[from:t.from]))
		add(r.tableLines(t))
		from = t.to
	}
	add(r.wrapped(render, source[from:]))
	return lines
}

// deepest is how many lists, quotations and emphases may be inside each other. What each
// of them costs the library grows with all around it: a thousand take a minute.
const deepest = 40

// deep reports whether anything of a text is deeper than that.
func deep(n ast.Node) bool {
	depth, found := 0, false
	_ = ast.Walk(n, func(_ ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			depth--
			return ast.WalkContinue, nil
		}
		if depth++; depth > deepest {
			found = true
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return found
}

func (r *Renderer) asWritten(source string) []string {
	var lines []string
	for l := range strings.SplitSeq(strings.Trim(source, "\n"), "\n") {
		lines = append(lines, Wrap(l, r.width, "")...)
	}
	return lines
}

// wrapped shows a text without tables of its own.
func (r *Renderer) wrapped(render *glamour.TermRenderer, source string) []string {
	if strings.TrimSpace(source) == "" {
		return nil
	}
	// The library breaks lines at spaces only, which Chinese has none of, and forgets
	// how far they were indented.
	var lines []string
	for _, l := range strings.Split(hyperlink.ReplaceAllString(r.shown(render, source), ""), "\n") {
		l = trimRight(l)
		lines = append(lines, Wrap(l, r.width, hang(ansi.Strip(l)))...)
	}
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

var beginning = regexp.MustCompile(`^ *(?:│ )*(?:• |\[[ x]\] |\d{1,9}\. )?`)

// hang is what the further lines of a line begin with: its indent, the bar of a
// quotation, and room below the mark of a list's item.
func hang(l string) string {
	return strings.Map(func(r rune) rune {
		if r == '│' {
			return r
		}
		return ' '
	}, beginning.FindString(l))
}

// shown is the text as the library shows it, or the text where it cannot: models write
// things that nobody has tried.
func (r *Renderer) shown(render *glamour.TermRenderer, source string) (out string) {
	defer func() {
		if recover() != nil {
			out = source
		}
	}()
	out, err := render.Render(r.literal(source))
	if err != nil {
		return source
	}
	return out
}

// longLanguage is the longest name of a language at the start of code. The library tries
// longer ones on the names of all files that it knows, which takes seconds.
const longLanguage = 24

var language = regexp.MustCompile(`^\w[^"'(]*$`)

// longLine is the longest line of code in colours, in bytes. What the library's
// expressions cost grows faster than a line: 25 kB of emphases take it ten seconds.
const longLine = 2000

// coloured reports whether code is worth the time.
func coloured(code *text.Segments) bool {
	for i := range code.Len() {
		if l := code.At(i); l.Len() > longLine {
			return false
		}
	}
	return true
}

// literal makes HTML of the text be shown: the library would leave it out, and with it
// whatever looks like it, such as the <T> of List<T>. So it does with the definitions of
// links, which may come long after what refers to them has been shown, and with code
// that begins beside its fence.
func (r *Renderer) literal(source string) string {
	var out strings.Builder
	from := 0
	insert := func(at int, what string) {
		if at >= from {
			out.WriteString(source[from:at] + what)
			from = at
		}
	}
	escape := func(s text.Segment, what string) {
		for i := s.Start; i < s.Stop; i++ {
			if strings.IndexByte(what, source[i]) >= 0 {
				insert(i, `\`)
			}
		}
	}
	const html = "<&"
	_ = ast.Walk(r.parse.Parser().Parse(text.NewReader([]byte(source))), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				escape(n.Segments.At(i), html)
			}
		case *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				escape(n.Lines().At(i), html)
			}
			if n.HasClosure() {
				escape(n.ClosureLine, html)
			}
		case *ast.LinkReferenceDefinition:
			for i := range n.Lines().Len() {
				escape(n.Lines().At(i), "["+html)
			}
		case *ast.FencedCodeBlock:
			name := n.Language([]byte(source))
			switch {
			case n.Info == nil:
			case len(name) <= longLanguage && language.Match(name):
				if !coloured(n.Lines()) {
					insert(n.Info.Segment.Start, "text ")
				}
			case n.Parent().Kind() == ast.KindDocument:
				insert(n.Info.Segment.Start, "\n")
			case len(name) > longLanguage: // a new line would end what it is in
				insert(n.Info.Segment.Start+longLanguage, " ")
			}
		}
		return ast.WalkContinue, nil
	})
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
