package tui

import (
	"strings"

	"picobot/cli/terminal"
	"picobot/cli/terminal/markdown"
	"picobot/internal/text"
)

// page is what lines are made for.
type page struct {
	width    int
	unfolded bool // nothing is left out
	colour   bool
	words    *text.Catalogue
	made     renderers
}

// renderers keeps what makes lines of Markdown: it takes longer to make than to use.
type renderers map[int]*markdown.Renderer

// narrower is a page that leaves columns to what stands before its lines.
func (p page) narrower(columns int) page {
	p.width = max(p.width-columns, 8)
	return p
}

func (p page) markdown(s string) []string {
	r, ok := p.made[p.width]
	if !ok {
		var err error
		if r, err = markdown.New(p.width, p.colour); err != nil {
			return p.wrap(s)
		}
		if len(p.made) > 8 {
			clear(p.made) // of sizes that the terminal had once
		}
		p.made[p.width] = r
	}
	return r.Lines(strings.ReplaceAll(terminal.Clean(s), "\t", "    "))
}

const plain = "\x1b[m"

func sgr(code, s string) string {
	if s == "" {
		return ""
	}
	return "\x1b[" + code + "m" + s + plain
}

// faint is for what is beside the matter.
func (p page) faint(s string) string { return sgr("2", s) }

// accent marks who speaks, and what is chosen.
func (p page) accent(s string) string { return p.in("1;36", "1", s) }

// alert is for failures.
func (p page) alert(s string) string { return p.in("31", "1", s) }

// good is for what has succeeded.
func (p page) good(s string) string { return p.in("32", "", s) }

func (p page) in(colour, without, s string) string {
	switch {
	case p.colour:
		return sgr(colour, s)
	case without == "":
		return s
	default:
		return sgr(without, s)
	}
}
