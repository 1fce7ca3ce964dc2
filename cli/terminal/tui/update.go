package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"picobot/cli/terminal"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

// Update takes one message at a time and returns the next Model and what is to be done.
func (m Model) Update(msg any, now time.Time) (Model, []effect) {
	m.now = now
	var todo []effect
	switch msg := msg.(type) {
	case sized:
		m.resize(msg.width, msg.height)
	case tea.KeyPressMsg:
		todo = m.key(msg)
	case tea.PasteMsg:
		todo = m.paste(msg.Content)
	case frame:
		todo = m.frame(msg.ServerFrame)
	case earlier:
		m.earlier(msg.rows)
	case say:
		m.note(msg.text)
	case lost:
		m.disconnected()
	case answered:
		todo = m.ended(msg)
	case cancelled:
		todo = m.stopped(msg.stopped)
	case sessionsLoaded:
		m.listed(msg)
	case imagesRead:
		m.attach(msg)
	case ticked:
		m.ticks++
		m.ticking = false
	case redraw:
		m.epoch++
	}
	if m.reader != nil {
		m.readOn()
	}
	if m.moves() && !m.ticking {
		m.ticking = true
		todo = append(todo, tick{})
	}
	return m, todo
}

func (m *Model) resize(width, height int) {
	if m.width == width && m.height == height {
		return
	}
	m.width, m.height = max(width, 1), max(height, 1)
	m.epoch++
}

func (m *Model) note(what string) { m.add(block{kind: kindNote, text: what}) }

// moves reports whether something on the screen changes by itself.
func (m Model) moves() bool { return len(m.running) > 0 || !m.connected || len(m.waiting) > 0 }

func (m *Model) frame(f protocol.ServerFrame) []effect {
	switch f := f.(type) {
	case protocol.Welcome:
		return m.welcome(f)
	case protocol.Accepted:
		m.follow(f.TurnID)
	case protocol.Delta:
		m.delta(f)
	case protocol.Tool:
		m.tool(f)
	case protocol.Message:
		m.row(f)
	case protocol.Turn:
		m.turn(f)
	case protocol.Command:
		m.command(f)
	case protocol.Notice:
		m.notice(f)
	case protocol.Error:
		if f.ID == "" {
			m.add(block{kind: kindAlert, text: m.words.Say(text.GatewaySays{Message: f.Message, Code: f.Code})})
		}
	}
	return nil
}

func (m *Model) notice(n protocol.Notice) {
	k := kindNote
	switch n.Level {
	case "warn", "error":
		k = kindAlert
	case "message":
		k = kindNews
	}
	m.add(block{kind: k, text: terminal.NoticeText(n, m.words)})
}

// welcome is the gateway's, at first, after a reconnect and in another dialog.
func (m *Model) welcome(w protocol.Welcome) []effect {
	m.connected = true
	m.model = oneLine(w.Model)
	m.title = oneLine(w.Title)
	m.spoken = w.LastSeq > 1 // the first row greets
	m.sessions = nil
	if w.SessionID == m.session {
		return nil // only a reconnect
	}
	first := m.session == ""
	m.leaveSession()
	m.session = w.SessionID
	m.note(m.words.Say(text.TerminalGreeting{Title: m.name(), Model: m.model}))
	if first {
		m.note(m.words.Say(text.TerminalKeys{}))
	}
	return nil
}

// name is what the dialog is called. One that was spoken in is not new any more.
func (m Model) name() string {
	switch {
	case !text.Untitled(m.title):
		return m.title
	case m.spoken:
		return m.words.Say(text.UntitledDialog{})
	default:
		return m.words.Say(text.DefaultTitle{})
	}
}

// leaveSession lets go of what belongs to a dialog that is followed no more. What
// goes on there is in its record.
func (m *Model) leaveSession() {
	m.endAnswer()
	if len(m.calls) > 0 {
		m.stopCalls()
	}
	m.done, m.running, m.followed = map[string]bool{}, map[string]time.Time{}, map[string]bool{}
	if m.session == "" {
		return // what was typed before the first welcome is for this one
	}
	var commands []waiting
	for _, w := range m.waiting {
		if w.isCommand() {
			commands = append(commands, w)
		} else {
			m.add(block{kind: kindSaid, text: w.text})
		}
	}
	m.waiting = commands
}

// disconnected is told once for each time. The rows will say what was missed.
func (m *Model) disconnected() {
	m.connected = false
	m.answer.holes = m.answer.turn != ""
	m.note(m.words.Say(text.GatewayLost{}))
}
