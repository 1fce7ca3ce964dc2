package feishu

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// limits of one message.
type limits struct {
	cost   int // of its text, see cost
	tables int
}

// messageLimits keep a card far below Feishu's 30 KB, and with the smallest number of
// tables that anybody has found to be taken.
var messageLimits = limits{cost: 12000, tables: 3}

// cost is how many bytes a text takes inside JSON.
func cost(s string) int {
	n := 0
	for _, r := range s {
		n += runeCost(r)
	}
	return n
}

func runeCost(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
		return 2
	case r < 0x20 || r == '\u2028' || r == '\u2029':
		return 6
	}
	return utf8.RuneLen(r)
}

// block is something that had better stay in one message. What is cut out of it is
// put between head and tail, so that each part is one of its own.
type block struct {
	head, lines, tail []string
	table             bool
	indent            int // of a code block in a list, where it is more than one may have outside
}

func (b block) text() []string {
	return append(append(append([]string(nil), b.head...), b.lines...), b.tail...)
}

// outside is a code block as it is written where no list is around it.
func (b block) outside() block {
	strip := func(lines []string) []string {
		out := make([]string, len(lines))
		for i, l := range lines {
			out[i] = l[min(b.indent, indentOf(l)):]
		}
		return out
	}
	return block{head: strip(b.head), lines: strip(b.lines), tail: strip(b.tail)}
}

func linesCost(lines []string) int {
	n := 0
	for _, l := range lines {
		n += cost(l) + 2 // and its end
	}
	return n
}

// split cuts a text into messages: between blocks where it can be, never so that a
// code block or a table loses what makes it one. None is empty, and each is within
// the limits.
func split(text string, lim limits) []string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD")
	p := packer{lim: lim}
	for _, b := range blocks(strings.Split(text, "\n")) {
		p.add(b)
	}
	p.flush()
	return p.out
}

// packer fills messages.
type packer struct {
	lim    limits
	out    []string
	lines  []string
	cost   int
	tables int
}

func (p *packer) flush() {
	if text := strings.Trim(strings.Join(p.lines, "\n"), "\n"); strings.TrimSpace(text) != "" {
		p.out = append(p.out, text)
	}
	p.lines, p.cost, p.tables = nil, 0, 0
}

func (p *packer) add(b block) {
	lines := b.text()
	c, tables := linesCost(lines), 0
	if b.table {
		tables = 1
	}
	if p.cost+c > p.lim.cost || p.tables+tables > p.lim.tables {
		p.flush()
	}
	if len(p.lines) == 0 && b.indent > 0 { // its list is in another message
		p.add(b.outside())
		return
	}
	if c > p.lim.cost {
		p.cut(b)
		return
	}
	p.lines, p.cost, p.tables = append(p.lines, lines...), p.cost+c, p.tables+tables
}

// cut puts a block that is too large for one message into several.
func (p *packer) cut(b block) {
	frame := linesCost(b.head) + linesCost(b.tail)
	if frame > p.lim.cost/2 { // a head longer than what it heads
		b = block{lines: b.text()}
		frame = 0
	}
	room := p.lim.cost - frame
	var part []string
	used := 0
	end := func() {
		if len(part) > 0 {
			p.add(block{head: b.head, lines: part, tail: b.tail, table: b.table})
			p.flush()
		}
		part, used = nil, 0
	}
	for _, line := range b.lines {
		for _, piece := range cutLine(line, room-2) {
			if c := cost(piece) + 2; used+c > room {
				end()
				part, used = []string{piece}, c
			} else {
				part, used = append(part, piece), used+c
			}
		}
	}
	end()
}

// cutLine cuts a line that is too long, behind a space where there is one near.
func cutLine(line string, most int) []string {
	var out []string
	for cost(line) > most {
		at, space, used := 0, 0, 0
		for i, r := range line {
			if used += runeCost(r); used > most {
				break
			}
			at = i + utf8.RuneLen(r)
			if r == ' ' {
				space = at
			}
		}
		if space > at/2 {
			at = space
		}
		if at == 0 {
			_, at = utf8.DecodeRuneInString(line) // a limit below one character
		}
		out = append(out, line[:at])
		line = line[at:]
	}
	return append(out, line)
}

var (
	fenceLine = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})(.*)$")
	tableRule = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)
)

// opensFence returns what closes the code block that a line opens, "" = it opens none.
func opensFence(line string) string {
	m := fenceLine.FindStringSubmatch(line)
	if m == nil || (m[1][0] == '`' && strings.Contains(m[2], "`")) {
		return ""
	}
	return m[1]
}

func closesFence(line, fence string) bool {
	m := fenceLine.FindStringSubmatch(line)
	return m != nil && strings.HasPrefix(m[1], fence) && strings.TrimSpace(m[2]) == ""
}

// maxNested bounds how far the end of a code block in a list is looked for, in lines:
// each line may begin one.
const maxNested = 1000

// nestedFence returns how many lines a code block has that is indented further than
// one outside of lists may be, 0 = there is none. It must have its end, and nothing in
// it may be outside of the list: anything else is text that only looks like one.
func nestedFence(lines []string) int {
	indent := indentOf(lines[0])
	fence := ""
	if indent > 3 {
		fence = opensFence(lines[0][indent:])
	}
	if fence == "" {
		return 0
	}
	for i, l := range lines[1:min(len(lines), maxNested)] {
		switch at := indentOf(l); {
		case blank(l):
		case at < 2:
			return 0
		case strings.HasPrefix(l[at:], fence) && strings.Trim(l[at:], fence[:1]+" \t\r") == "":
			return i + 2
		}
	}
	return 0
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

func beginsTable(lines []string) bool {
	return len(lines) > 1 && strings.Contains(lines[0], "|") && strings.Contains(lines[1], "-") && strings.Contains(lines[1], "|") && tableRule.MatchString(lines[1])
}

// blocks cuts lines into code blocks, tables, paragraphs and the gaps between them.
func blocks(lines []string) []block {
	var out []block
	for len(lines) > 0 {
		var b block
		n := 1
		if fence := opensFence(lines[0]); fence != "" {
			for n < len(lines) && !closesFence(lines[n], fence) {
				n++
			}
			b = block{head: lines[:1], lines: lines[1:n], tail: []string{fence}}
			n = min(n+1, len(lines))
		} else if n = nestedFence(lines); n > 0 {
			b = block{head: lines[:1], lines: lines[1 : n-1], tail: lines[n-1 : n], indent: indentOf(lines[0])}
		} else if beginsTable(lines) {
			for n = 2; n < len(lines) && strings.Contains(lines[n], "|"); n++ {
			}
			b = block{head: lines[:2], lines: lines[2:n], table: true}
		} else {
			n = 1
			for !blank(lines[0]) && n < len(lines) && !blank(lines[n]) && opensFence(lines[n]) == "" && nestedFence(lines[n:]) == 0 && !beginsTable(lines[n:]) {
				n++
			}
			b = block{lines: lines[:n]}
		}
		out = append(out, b)
		lines = lines[n:]
	}
	return out
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }
