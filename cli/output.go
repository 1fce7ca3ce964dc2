package cli

import (
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

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

// errWriter remembers the first error of its writes: what a command could not say is its
// failure, wherever in it that was said.
type errWriter struct {
	w io.Writer

	mu  sync.Mutex
	err error
}

func (w *errWriter) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	return n, err
}

func (w *errWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
