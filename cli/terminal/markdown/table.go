package markdown

import (
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// The library's tables are as wide as the terminal, cut words anywhere, and cannot be
// read where there is little room. These are as wide as they have to be; their cells
// break where people would; and where not even that leaves columns of leastColumn, each
// row is a list of what its columns are called and what they say.
const (
	leastColumn = 8
	// longWord is the most that a column is kept wide for a word alone.
	longWord = 24
	between  = " │ "
	crossing = "─┼─"
)

// table is one of a text, with the Markdown of its cells.
type table struct {
	from, to   int // where it stands in the text
	alignments []extast.Alignment
	rows       [][]string // the header first
}

// tables finds the tables that stand by themselves; nested tells of others.
func tables(doc ast.Node, source string) (found []table, nested bool) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if t, ok := n.(*extast.Table); ok {
			found = append(found, tableOf(t, source))
			continue
		}
		_ = ast.Walk(n, func(n ast.Node, _ bool) (ast.WalkStatus, error) {
			if n.Kind() == extast.KindTable {
				nested = true
				return ast.WalkStop, nil
			}
			return ast.WalkContinue, nil
		})
	}
	return found, nested
}

func tableOf(n *extast.Table, source string) table {
	t := table{from: -1, alignments: n.Alignments}
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		row := make([]string, 0, len(n.Alignments))
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			if c.Lines().Len() == 0 {
				row = append(row, "")
				continue
			}
			s := c.Lines().At(0)
			row = append(row, strings.ReplaceAll(source[s.Start:s.Stop], `\|`, "|"))
			if t.from < 0 {
				t.from = strings.LastIndexByte(source[:s.Start], '\n') + 1
			}
		}
		t.rows = append(t.rows, row)
	}
	// Each row is a line, and one more has the dashes.
	t.to = max(t.from, 0)
	for range len(t.rows) + 1 {
		end := strings.IndexByte(source[t.to:], '\n')
		if end < 0 {
			t.to = len(source)
			break
		}
		t.to += end + 1
	}
	return t
}

// blockMark is what would make a cell a list, a heading or a quotation.
var blockMark = regexp.MustCompile("^(?:[-+*](?:\\s|$)|#{1,6}(?:\\s|$)|(?:[-*_]\\s*){3,}$|>|~~~|```)|^(\\d{1,9})([.)])")

var lineBreak = regexp.MustCompile(`(?i)<br\s*/?>`)

// cell shows the Markdown of a cell: a line, or several where it has breaks.
func (r *Renderer) cell(source string) []string {
	var out []string
	for _, part := range lineBreak.Split(source, -1) {
		part = strings.TrimSpace(part)
		if m := blockMark.FindStringSubmatchIndex(part); m != nil {
			at := 0
			if m[4] >= 0 { // a number and its point
				at = m[4]
			}
			part = part[:at] + `\` + part[at:]
		}
		shown := strings.Split(hyperlink.ReplaceAllString(r.shown(r.long, part), ""), "\n")
		for i, l := range shown {
			shown[i] = strings.TrimLeft(trimRight(l), " ")
		}
		out = append(out, strings.TrimSpace(strings.Join(slices.DeleteFunc(shown, func(l string) bool { return l == "" }), " ")))
	}
	return out
}

// tableLines shows a table.
func (r *Renderer) tableLines(t table) []string {
	cells := make([][][]string, len(t.rows))
	natural, least := make([]int, len(t.alignments)), make([]int, len(t.alignments))
	for i, row := range t.rows {
		cells[i] = make([][]string, len(t.alignments))
		for c := range min(len(row), len(t.alignments)) {
			cells[i][c] = r.cell(row[c])
			for _, l := range cells[i][c] {
				natural[c] = max(natural[c], ansi.StringWidth(l))
				least[c] = max(least[c], min(widestWord(l), longWord))
			}
		}
	}
	widths := share(natural, least, r.width-(len(natural)-1)*len([]rune(between)))
	if widths == nil {
		return r.records(cells)
	}
	return grid(cells, t.alignments, widths)
}

// widestWord is the columns of the widest word of a line; one in Chinese may be broken.
func widestWord(line string) int {
	widest := 0
	for _, word := range strings.Fields(ansi.Strip(line)) {
		if w := ansi.StringWidth(word); w == len([]rune(word)) {
			widest = max(widest, w)
		}
	}
	return widest
}

// share gives each column what it needs, or as much of it as there is room for; nil
// where there is too little to read anything.
func share(natural, least []int, room int) []int {
	out := make([]int, len(natural))
	for _, floor := range []func(c int) int{
		func(c int) int { return natural[c] },
		func(c int) int { return min(natural[c], max(leastColumn, least[c])) },
		func(c int) int { return min(natural[c], leastColumn) },
	} {
		sum := 0
		for c := range out {
			out[c] = max(floor(c), 1)
			sum += out[c]
		}
		if left := room - sum; left >= 0 {
			return grown(out, natural, left)
		}
	}
	return nil
}

// grown spreads what is left over the columns that need it, evenly.
func grown(out, natural []int, left int) []int {
	for left > 0 {
		var short []int
		for c := range out {
			if out[c] < natural[c] {
				short = append(short, c)
			}
		}
		if len(short) == 0 {
			break
		}
		each := max(left/len(short), 1)
		for _, c := range short {
			n := min(each, natural[c]-out[c], left)
			out[c], left = out[c]+n, left-n
		}
	}
	return out
}

// grid shows rows in columns. Where one takes several lines, a rule is between all.
func grid(cells [][][]string, alignments []extast.Alignment, widths []int) []string {
	rows, several := make([][]string, len(cells)), false
	for i, row := range cells {
		rows[i] = gridRow(row, alignments, widths)
		several = several || i > 0 && len(rows[i]) > 1
	}
	var rule []string
	for _, w := range widths {
		rule = append(rule, strings.Repeat("─", w))
	}
	var out []string
	for i, row := range rows {
		if i == 1 || i > 1 && several {
			out = append(out, strings.Join(rule, crossing))
		}
		out = append(out, row...)
	}
	if len(rows) == 1 {
		out = append(out, strings.Join(rule, crossing))
	}
	return out
}

func gridRow(row [][]string, alignments []extast.Alignment, widths []int) []string {
	columns, height := make([][]string, len(widths)), 1
	for c, w := range widths {
		for _, l := range row[c] {
			columns[c] = append(columns[c], Wrap(l, w, "")...)
		}
		height = max(height, len(columns[c]))
	}
	var out []string
	for y := range height {
		parts := make([]string, len(widths))
		for c, w := range widths {
			l := ""
			if y < len(columns[c]) {
				l = columns[c][y]
			}
			parts[c] = aligned(l, w, alignments[c])
		}
		out = append(out, trimRight(strings.Join(parts, between)))
	}
	return out
}

func aligned(l string, width int, a extast.Alignment) string {
	gap := max(width-ansi.StringWidth(l), 0)
	left := 0
	switch a {
	case extast.AlignRight:
		left = gap
	case extast.AlignCenter:
		left = gap / 2
	case extast.AlignLeft, extast.AlignNone:
	}
	return strings.Repeat(" ", left) + l + strings.Repeat(" ", gap-left)
}

// records shows each row as a list of its columns.
func (r *Renderer) records(cells [][][]string) []string {
	rule := strings.Repeat("─", min(r.width, leastColumn))
	var out []string
	for i, row := range cells {
		if i == 0 && len(cells) > 1 {
			continue // it is the heads of the lines
		}
		if len(out) > 0 {
			out = append(out, rule)
		}
		for c, cell := range row {
			text := strings.Join(cell, " ")
			if head := strings.Join(cells[0][c], " "); i > 0 && head != "" {
				text = head + ": " + text
			}
			if strings.TrimSpace(text) != "" {
				out = append(out, Wrap(text, r.width, "  ")...)
			}
		}
	}
	return out
}
