package tui

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"picobot/internal/text"
)

// reader shows the conversation with everything unfolded, on the terminal's other
// screen: what has gone into the scrollback cannot be unfolded there.
type reader struct {
	lines  []string // of the blocks that are over
	blocks int      // how many those are
	width  int      // that the lines were made for
	top    int      // first line on the screen
	ends   bool     // it stays at the end, whatever comes
}

// read opens the reader where the last message begins, or at the end while that is
// being answered.
func (m *Model) read() {
	m.reader = &reader{}
	m.readOn()
	begin := 0
	for i, b := range m.blocks {
		if b.kind == kindSaid {
			begin = i
		}
	}
	last := m.finalOn(m.whole(), m.dropped+begin)
	top := len(m.reader.lines) - len(last)
	if len(last) > 0 && last[0] == "" {
		top++
	}
	m.turnTo(top)
	m.reader.ends = m.reader.ends || len(m.running) > 0
}

// readOn takes what has been said since into the reader.
func (m *Model) readOn() {
	r := *m.reader
	if r.width != m.width {
		r.lines, r.blocks, r.width = nil, 0, m.width
	}
	if n := m.Blocks(); n > r.blocks {
		r.lines = append(r.lines[:len(r.lines):len(r.lines)], m.finalOn(m.whole(), r.blocks)...)
		r.blocks = n
	}
	m.reader = &r
}

// whole is a page with nothing folded.
func (m Model) whole() page {
	p := m.page()
	p.unfolded = true
	return p
}

// reading are the lines that there are to read.
func (m Model) reading() []string {
	lines := m.reader.lines
	if above := m.underWay(m.whole()); len(above) > 0 {
		lines = append(append(lines[:len(lines):len(lines)], ""), above...)
	}
	return lines
}

// room is how many lines of the reader are on the screen.
func (m Model) room() int { return max(m.height-1, 1) }

// turnTo shows the lines from top on, as far as there are any.
func (m *Model) turnTo(top int) {
	last := max(len(m.reading())-m.room(), 0)
	r := *m.reader
	r.top, r.ends = min(max(top, 0), last), top >= last
	m.reader = &r
}

// turnPage takes a key while the reader is open.
func (m *Model) turnPage(k tea.KeyPressMsg) []effect {
	top := m.reader.top
	if m.reader.ends {
		top = max(len(m.reading())-m.room(), 0)
	}
	switch k.String() {
	case "ctrl+t", "esc", "q", "enter", "ctrl+c", "ctrl+d":
		m.reader = nil
	case "ctrl+z":
		m.reader = nil
		return []effect{suspend{}}
	case "up", "k", "ctrl+p":
		m.turnTo(top - 1)
	case "down", "j", "ctrl+n":
		m.turnTo(top + 1)
	case "pgup", "b", "ctrl+b":
		m.turnTo(top - max(m.room()-1, 1))
	case "pgdown", "space", "ctrl+f":
		m.turnTo(top + max(m.room()-1, 1))
	case "home", "g":
		m.turnTo(0)
	case "end", "G":
		m.turnTo(len(m.reading()))
	case "ctrl+l":
		m.epoch++
	}
	return nil
}

// Page is the screen of the reader; nil when it is not open.
func (m Model) Page() []string {
	if m.reader == nil {
		return nil
	}
	lines, room := m.reading(), m.room()
	top := min(m.reader.top, max(len(lines)-room, 0))
	if m.reader.ends {
		top = max(len(lines)-room, 0)
	}
	out := make([]string, 0, m.height)
	out = append(out, lines[top:min(top+room, len(lines))]...)
	for len(out) < room {
		out = append(out, "")
	}
	if m.height < 2 {
		return out
	}
	p := m.page()
	at := strconv.Itoa(min(top+room, len(lines))) + "/" + strconv.Itoa(len(lines))
	return append(out, p.accent(cut(m.words.Say(text.TerminalReading{At: at}), p.width)))
}
