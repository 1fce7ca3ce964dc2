package tui

import (
	"strings"
	"time"

	"picobot/cli/terminal/paint"
	"picobot/internal/text"
)

// Frame is what stands below what is over: what is under way, and what is being typed.
func (m Model) Frame() paint.Frame {
	p := m.page()
	bottom, x, y := m.bottom(p)
	room := m.height - 1 - len(bottom)
	above := m.underWay(p)
	if len(above) > 0 {
		above = append(above, "")
	}
	if m.Blocks() > 0 && room > len(above) && room > 3 {
		above = append([]string{""}, above...)
	}
	if len(above) > room {
		above = above[len(above)-max(room, 0):]
	}
	return paint.Frame{Lines: append(above, bottom...), X: x, Y: len(above) + y}
}

// maxLive bounds, in bytes, what is made into lines of an answer whose next paragraph
// has not ended: no screen shows more.
const maxLive = 8 << 10

// underWay are the lines of the answer that is being written, and of what it waits for.
func (m Model) underWay(p page) []string {
	var out []string
	if a := m.answer; !a.thoughtShown && strings.TrimSpace(a.thoughts) != "" {
		out = append(out, m.thinking(p)...)
	}
	if rest := tail(m.answer.text[m.answer.shown:], maxLive); strings.TrimSpace(rest) != "" {
		if len(out) > 0 {
			out = append(out, "")
		}
		out = append(out, p.markdown(rest)...)
	}
	for _, c := range m.calls {
		out = append(out, cut(m.callLine(c, p), p.width))
	}
	for _, w := range m.waiting {
		out = append(out, p.faint(cut("> "+oneLine(w.text)+" ("+m.words.Say(text.TerminalWaits{})+")", p.width)))
	}
	return out
}

// thinking shows the end of the thoughts, or all of them that there is room for.
func (m Model) thinking(p page) []string {
	const few = 4
	a := m.answer
	if !a.concluded.IsZero() && !p.unfolded {
		return m.thought(a.thoughts, a.concluded.Sub(a.began)).lines(p)
	}
	lines := p.narrower(2).wrap(tail(a.thoughts, maxLive))
	if !p.unfolded && len(lines) > few {
		lines = lines[len(lines)-few:]
	}
	head := p.faint("▾ " + m.words.Say(text.TerminalThinking{}))
	return append([]string{head}, prefixed(each(lines, p.faint), "  ", "  ")...)
}

// tail is the end of a text, at most so many bytes, from the start of a line.
func tail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[len(s)-most:]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[i+1:]
	}
	return strings.ToValidUTF8(s, "")
}

var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func (m Model) spinner() string { return spinner[m.ticks%len(spinner)] }

// status is the line that says what goes on.
func (m Model) status(p page) string {
	switch since, runs := m.since(); {
	case m.session == "" || !m.connected:
		return p.accent(m.spinner()) + " " + p.faint(m.words.Say(text.TerminalConnecting{}))
	case runs:
		return p.accent(m.spinner()) + " " + p.faint(m.words.Say(text.TerminalWorking{For: seconds(m.now.Sub(since))}))
	default:
		return p.faint(m.name() + " · " + m.model)
	}
}

// seconds is a duration that does not flicker.
func seconds(d time.Duration) string {
	return duration(max(d.Truncate(time.Second), 0))
}

// since is when the oldest turn that runs began.
func (m Model) since() (at time.Time, runs bool) {
	for _, t := range m.running {
		if !runs || t.Before(at) {
			at, runs = t, true
		}
	}
	return at, runs
}

// bottom is the lower end: status, input, and what can be chosen.
func (m Model) bottom(p page) (lines []string, x, y int) {
	rule := p.faint(strings.Repeat("─", p.width))
	roomy := m.height >= 8
	lines = append(lines, cut(m.status(p), p.width))
	if roomy {
		lines = append(lines, rule)
	}
	if m.picker != nil {
		list, x, y := m.pickerLines(p, max(m.height-4, 2))
		return append(lines, list...), x, y + len(lines)
	}
	in := m.input
	typed, x, y := in.lines(p.width, max(m.height/3, 1))
	y += len(lines)
	lines = append(lines, typed...)
	lines = append(lines, m.candidates(p, max(min(8, m.height-len(lines)-3), 0))...)
	return lines, x, y
}

// candidates are the lines of the completion.
func (m Model) candidates(p page, most int) []string {
	items := m.complete.items
	if len(items) == 0 || most == 0 {
		return nil
	}
	wide := 0
	for _, c := range items {
		wide = max(wide, columns(c.label))
	}
	wide = min(wide, p.width/2)
	from := window(m.complete.at, len(items), most)
	var out []string
	for i := from; i < min(from+most, len(items)); i++ {
		c := items[i]
		label := pad(cut(c.label, wide), wide)
		if i == m.complete.at && m.complete.moved {
			label = p.accent(label)
		}
		out = append(out, cut("  "+label+"  "+p.faint(c.help), p.width))
	}
	return out
}

func (m Model) pickerLines(p page, most int) (lines []string, x, y int) {
	filter := "> " + m.picker.filter
	lines = []string{p.faint(cut(m.picker.title, p.width)), cut(filter, p.width)}
	items := m.choices()
	room := max(min(most-len(lines), 12), 1)
	switch {
	case len(items) == 0 && m.loading && m.picker.kind == pickSession:
		lines = append(lines, "  "+p.faint(m.words.Say(text.PickLoading{})))
	case len(items) == 0:
		lines = append(lines, "  "+p.faint(m.words.Say(text.PickNothing{})))
	}
	from := window(m.picker.at, len(items), room)
	for i := from; i < min(from+room, len(items)); i++ {
		mark, label := "  ", items[i].label
		if i == m.picker.at {
			mark, label = p.accent("› "), p.accent(label)
		}
		lines = append(lines, cut(mark+label+"  "+p.faint(items[i].beside), p.width))
	}
	return lines, min(columns(filter), p.width-1), 1
}

// window is the first of the items that are shown, so that the chosen one is.
func window(at, items, room int) int {
	return max(0, min(at-room/2, items-room))
}
