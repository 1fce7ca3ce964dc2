package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"picobot/cli/terminal"
	"picobot/internal/text"
)

// picker is a list to choose from, in the place of the input.
type picker struct {
	kind   pickerKind
	title  string
	filter string
	at     int
	texts  []string // of the history, newest first
}

type pickerKind int

const (
	pickSession pickerKind = iota
	pickHistory
)

// choice is an item of a picker.
type choice struct{ text, label, beside string }

func (m *Model) historyPicker() *picker {
	p := &picker{kind: pickHistory, title: m.words.Say(text.PickHistory{})}
	for _, t := range slices.Backward(m.input.history) {
		if !slices.Contains(p.texts, t) {
			p.texts = append(p.texts, t)
		}
	}
	return p
}

// choices are the items that fit the filter.
func (m Model) choices() []choice {
	var out []choice
	switch m.picker.kind {
	case pickHistory:
		for _, t := range m.picker.texts {
			if fits(t, m.picker.filter) {
				out = append(out, choice{text: t, label: oneLine(t)})
			}
		}
	case pickSession:
		for _, s := range m.sessions {
			if fits(s.Title+" "+s.ID, m.picker.filter) {
				here := ""
				if s.ID == m.session {
					here = " ←"
				}
				out = append(out, choice{text: s.dialog(), label: m.called(s) + here, beside: s.dialog()})
			}
		}
	}
	return out
}

// called is what a dialog is called in a list.
func (m Model) called(s Session) string {
	if text.Untitled(s.Title) && s.Messages > 0 {
		return m.words.Say(text.UntitledDialog{})
	}
	return oneLine(s.Title)
}

// pick takes a key while there is a list.
func (m *Model) pick(k tea.KeyPressMsg) []effect {
	p := *m.picker
	m.picker = &p
	items := m.choices()
	switch k.String() {
	case "esc":
		m.picker = nil
	case "up", "ctrl+p":
		p.at = max(p.at-1, 0)
	case "down", "ctrl+n", "ctrl+r":
		p.at = min(p.at+1, max(len(items)-1, 0))
	case "backspace":
		if r := []rune(p.filter); len(r) > 0 {
			p.filter = string(r[:len(r)-1])
		}
		p.at = 0
	case "ctrl+u":
		p.filter, p.at = "", 0
	case "enter", "tab":
		if p.at < len(items) {
			m.picker = nil
			return m.chosen(p.kind, items[p.at])
		}
	default:
		if k.Text != "" {
			p.filter += terminal.Clean(k.Text)
			p.at = 0
		}
	}
	return nil
}

func (m *Model) chosen(kind pickerKind, c choice) []effect {
	if kind == pickSession {
		return m.send("/use "+c.text, nil)
	}
	m.input.set(c.text)
	m.completeNot()
	return nil
}

// listed takes the dialogs.
func (m *Model) listed(l sessionsLoaded) {
	m.loading = false
	if l.err != nil {
		if m.picker != nil && m.picker.kind == pickSession {
			m.picker = nil
		}
		m.add(block{kind: kindAlert, text: m.words.Say(text.DialogsNotListed{Detail: l.err.Error()})})
		return
	}
	m.sessions = l.sessions
	if m.sessions == nil {
		m.sessions = []Session{}
	}
	m.offer()
}
