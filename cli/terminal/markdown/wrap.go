package markdown

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Wrap breaks a line with colours into lines of at most width columns: at spaces, and
// between wide characters, which are written without any. Lines after the first begin
// with hang. Each line ends without colour.
func Wrap(line string, width int, hang string) []string {
	width = max(width, 2)
	if ansi.StringWidth(hang) > width/2 {
		hang = ""
	}
	w := wrapper{width: width, hang: hang}
	var state byte
	for line != "" {
		seq, columns, n, next := ansi.DecodeSequence(line, state, nil)
		state, line = next, line[n:]
		switch {
		case columns == 0 && strings.HasPrefix(seq, "\x1b["):
			w.colour(seq)
		default:
			w.char(seq, columns)
		}
	}
	return w.end()
}

// wrapper is the line that is being filled, and those before it.
type wrapper struct {
	width int
	hang  string
	out   []string

	cells    []cell
	columns  int
	hung     int    // cells of hang at the start
	spaces   int    // at the end: they may stand beyond the width, where nobody sees them
	active   string // colours that are on
	lastWide bool
	last     string
}

// cell is a character with the colours that are on for it.
type cell struct {
	text    string
	columns int
	colour  string
	breaks  bool // a new line may begin here
}

func (w *wrapper) colour(seq string) {
	if seq == "\x1b[m" || seq == "\x1b[0m" {
		w.active = ""
	} else {
		w.active += seq
	}
}

func (w *wrapper) char(text string, columns int) {
	wide := columns > 1
	breaks := w.last == " " && text != " " ||
		(wide || w.lastWide) && w.last != "" && !strings.ContainsAny(text, notFirst) && !strings.ContainsAny(w.last, notLast)
	w.cells = append(w.cells, cell{text, columns, w.active, breaks})
	w.columns += columns
	w.last, w.lastWide = text, wide
	if w.spaces++; text != " " {
		w.spaces = 0
	}
	for w.columns-w.spaces > w.width && w.breakLine() {
	}
}

// What does not begin a line, and what does not end one, where lines may be broken
// without spaces.
const (
	notFirst = "，。！？、；：）》」』】〕”’…—,.!?;:)]}%·"
	notLast  = "（《「『【〔“‘([{"
)

// breakLine ends a line at its last opportunity, or where it is full.
func (w *wrapper) breakLine() bool {
	at, columns := 0, 0
	for i, c := range w.cells {
		if columns > 0 && c.breaks && strings.Trim(written(w.cells[:i]), " ") != "" && width(w.cells[:i], true) <= w.width {
			at = i
		}
		columns += c.columns
	}
	if at == 0 { // one long word
		columns = 0
		for i, c := range w.cells {
			if columns += c.columns; columns > w.width {
				at = i
				break
			}
		}
	}
	if at <= w.hung { // not even one character fits beside what hangs before it
		if w.hung == 0 {
			return false
		}
		w.cells, w.hung = w.cells[w.hung:], 0
		w.columns = width(w.cells, false)
		return true
	}
	w.out = append(w.out, show(w.cells[:at]))
	rest := w.cells[at:]
	w.cells, w.hung = nil, 0
	for _, r := range w.hang {
		w.cells = append(w.cells, cell{text: string(r), columns: ansi.StringWidth(string(r))})
		w.hung++
	}
	for len(rest) > 0 && rest[0].text == " " {
		rest = rest[1:]
	}
	w.cells = append(w.cells, rest...)
	w.columns = width(w.cells, false)
	return true
}

func (w *wrapper) end() []string { return append(w.out, show(w.cells)) }

func written(cells []cell) string {
	var out strings.Builder
	for _, c := range cells {
		out.WriteString(c.text)
	}
	return out.String()
}

// width is how many columns cells take, with or without the spaces at their end.
func width(cells []cell, trimmed bool) int {
	if trimmed {
		for len(cells) > 0 && cells[len(cells)-1].text == " " {
			cells = cells[:len(cells)-1]
		}
	}
	n := 0
	for _, c := range cells {
		n += c.columns
	}
	return n
}

// show writes cells without the spaces at their end, each colour on where it begins.
func show(cells []cell) string {
	for len(cells) > 0 && cells[len(cells)-1].text == " " {
		cells = cells[:len(cells)-1]
	}
	var out strings.Builder
	colour := ""
	for _, c := range cells {
		if c.colour != colour {
			if colour != "" {
				out.WriteString("\x1b[m")
			}
			out.WriteString(c.colour)
			colour = c.colour
		}
		out.WriteString(c.text)
	}
	if colour != "" {
		out.WriteString("\x1b[m")
	}
	return out.String()
}
