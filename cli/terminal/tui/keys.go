package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"picobot/cli/terminal"
	"picobot/cli/terminal/history"
	"picobot/internal/text"
)

// twice is how soon a second Ctrl-C means the person and not the next turn.
const twice = 2 * time.Second

// key takes a key that was pressed.
func (m *Model) key(k tea.KeyPressMsg) []effect {
	if m.reader != nil {
		return m.turnPage(k)
	}
	if k.String() == "ctrl+c" {
		return m.interrupt()
	}
	m.pressed = time.Time{} // whoever goes on typing does not mean to leave
	switch k.String() {
	case "ctrl+z":
		return []effect{suspend{}}
	case "ctrl+l":
		m.epoch++
		return nil
	case "ctrl+t":
		m.read()
		return nil
	}
	if m.picker != nil {
		return m.pick(k)
	}
	if todo, done := m.completing(k); done {
		return todo
	}
	switch k.String() {
	case "enter":
		return m.enter()
	case "ctrl+d":
		if m.input.empty() {
			return []effect{leave{}}
		}
	case "ctrl+r":
		m.picker = m.historyPicker()
		return nil
	case "ctrl+o":
		m.picker = &picker{kind: pickSession, title: m.words.Say(text.PickDialog{})}
		return m.load()
	case "up", "ctrl+p":
		if m.input.back() {
			m.completeNot()
			return nil
		}
	case "down", "ctrl+n":
		if m.input.forward() {
			m.completeNot()
			return nil
		}
	}
	m.input.key(k)
	return m.completeAgain()
}

// interrupt is Ctrl-C: the first stops what runs, the second leaves. What is typed is
// left alone while something runs, and cleared when nothing does; later than soon after
// the first, nothing that is typed is left behind.
func (m *Model) interrupt() []effect {
	if m.picker != nil {
		m.picker = nil
		return nil
	}
	if !m.pressed.IsZero() && m.now.Sub(m.pressed) <= twice {
		return []effect{leave{}}
	}
	return []effect{cancelTurn{}}
}

// stopped is told whether there was something to stop.
func (m *Model) stopped(was bool) []effect {
	before := m.pressed
	m.pressed = m.now
	switch {
	case was:
		m.note(m.words.Say(text.StoppingTurn{}))
	case !before.IsZero() && m.input.empty():
		return []effect{leave{}}
	default:
		m.input.clear()
		m.completeNot()
		m.note(m.words.Say(text.PressAgain{}))
	}
	return nil
}

// enter sends what is typed; after a backslash it begins a new line instead.
func (m *Model) enter() []effect {
	if m.input.continues() {
		return nil
	}
	what := strings.TrimSpace(terminal.Clean(m.input.whole()))
	media := m.input.media()
	if what == "" {
		m.input.clear()
		return nil
	}
	m.input.sent(what)
	m.completeNot()
	return m.send(what, media)
}

func (m *Model) send(what string, media []Image) []effect {
	m.pressed = time.Time{}
	m.sent++
	m.waiting = append(m.waiting[:len(m.waiting):len(m.waiting)], waiting{number: m.sent, text: what})
	todo := []effect{send{number: m.sent, text: what, media: frames(media)}}
	if history.Keeps(what) {
		todo = append(todo, remember{what})
	}
	return todo
}
