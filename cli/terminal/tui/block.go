package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"picobot/cli/terminal"
	"picobot/cli/terminal/markdown"
	"picobot/internal/text"
)

// kind is what a block of the conversation is.
type kind int

const (
	kindSaid    kind = iota // by a person
	kindAnswer              // Markdown of the model's
	kindThought             // of the model's; folded to its heading
	kindTool                // a call; its result is folded away
	kindNote                // of PicoBot's own
	kindAlert               // a failure
	kindNews                // Markdown that came from outside the turn
)

// block is a part of the conversation that is over.
type block struct {
	kind kind
	text string
	head string // of thoughts and calls: the line that is always shown
	last int    // > 0: folded, only so many of its last lines
}

// saidLines is how many lines are shown of a message that is folded.
const saidLines = 12

// lines shows a block at a width.
func (b block) lines(p page) []string {
	var out []string
	switch b.kind {
	case kindSaid:
		out = p.said(b.text)
	case kindAnswer:
		out = p.markdown(b.text)
	case kindNews:
		out = prefixed(p.narrower(2).markdown(b.text), p.accent("◆")+" ", "  ")
	case kindThought, kindTool:
		out = p.folding(b)
	case kindNote:
		out = each(p.wrap(b.text), p.faint)
	case kindAlert:
		out = each(p.wrap(b.text), p.alert)
	}
	if b.last > 0 && len(out) > b.last && !p.unfolded {
		out = append([]string{p.faint("…")}, out[len(out)-b.last:]...)
	}
	return out
}

// spaced reports whether an empty line stands between two blocks.
func spaced(before, after block) bool {
	switch after.kind {
	case kindAnswer, kindSaid, kindNews:
		return true
	default:
		return before.kind != after.kind && (before.kind != kindThought || after.kind != kindTool)
	}
}

func (p page) said(what string) []string {
	lines := p.narrower(2).wrap(what)
	if !p.unfolded && len(lines) > saidLines+1 {
		more := p.words.Say(text.TerminalMore{Lines: len(lines) - saidLines})
		lines = append(lines[:saidLines:saidLines], p.faint(more))
	}
	return prefixed(lines, p.accent(">")+" ", "  ")
}

func (p page) folding(b block) []string {
	head := cut(b.head, p.width)
	body := strings.TrimSpace(b.text)
	if b.kind == kindThought {
		mark := "▸ "
		if p.unfolded {
			mark = "▾ "
		}
		head = p.faint(cut(mark+b.head, p.width))
	}
	if !p.unfolded || body == "" {
		return []string{head}
	}
	lines := p.narrower(2).wrap(body)
	return append([]string{head}, prefixed(each(lines, p.faint), "  ", "  ")...)
}

// wrap breaks plain text into lines, at spaces where there are any.
func (p page) wrap(s string) []string {
	s = strings.ReplaceAll(terminal.Clean(s), "\t", "    ")
	var out []string
	for _, l := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		out = append(out, markdown.Wrap(l, p.width, "")...)
	}
	return out
}

func cut(s string, width int) string { return ansi.Truncate(s, width, "…") }

func each(lines []string, style func(string) string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = style(l)
	}
	return out
}

func prefixed(lines []string, first, rest string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if i == 0 {
			out[i] = first + l
		} else {
			out[i] = rest + l
		}
	}
	return out
}

func columns(s string) int { return ansi.StringWidth(s) }

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-columns(s), 0))
}
