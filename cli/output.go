package cli

import (
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"picobot/cli/terminal"
	"picobot/internal/brief"
	"picobot/internal/text"
)

// printList prints a list: one JSON array, or a table with a row for each item.
func printList[T any](w io.Writer, asJSON bool, items []T, header []string, row func(T) []string) error {
	if asJSON {
		if items == nil {
			items = []T{}
		}
		return printJSON(w, items)
	}
	rows := [][]string{header}
	for _, item := range items {
		cells := row(item)
		for i, c := range cells {
			cells[i] = cell(c)
		}
		rows = append(rows, cells)
	}
	_, err := io.WriteString(w, table(rows))
	return err
}

// columns are the parts of a text that names several things, see text's TableJobs.
func columns(words *text.Catalogue, m text.Message) []string {
	return strings.Split(words.Say(m), "|")
}

// table puts cells below each other, as wide as a terminal shows them: a Chinese
// character takes the room of two others.
func table(rows [][]string) string {
	var widths []int
	for _, cells := range rows {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(c))
		}
	}
	var b strings.Builder
	for _, cells := range rows {
		line := ""
		for i, c := range cells {
			line += c + strings.Repeat(" ", widths[i]-ansi.StringWidth(c)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// maxCell is how many characters a cell of a table shows.
const maxCell = 80

// cell makes a text fit a table, on one line and without what moves a cursor.
func cell(s string) string {
	return brief.Cut(brief.OneLine(s), maxCell)
}

// moment shows a time of the record (ms); "" for none.
func moment(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05")
}

// printer is what commands print to. It remembers the first error: what a command could
// not say is its failure, wherever in it that was said.
type printer struct {
	w io.Writer
	// screen is for one that a person sees: nothing that a model, a tool or a file says
	// may drive it. A script gets what there is.
	screen bool

	mu  sync.Mutex
	err error
}

func (w *printer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := p
	if w.screen {
		out = undriven(p)
	}
	n, err := w.w.Write(out)
	if w.err == nil {
		w.err = err
	}
	if err == nil {
		n = len(p)
	}
	return n, err
}

func (w *printer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// undriven is terminal.Clean for text that may end within a character.
func undriven(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError || terminal.Clean(string(r)) != "" {
			out = append(out, p[:n]...)
		}
		p = p[n:]
	}
	return out
}
