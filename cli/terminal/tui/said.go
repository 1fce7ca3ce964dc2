package tui

import (
	"encoding/json"
	"errors"
	"strings"

	"picobot/cli/client"
	"picobot/cli/terminal"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

// waiting is a message that was sent from here and is not being answered yet.
type waiting struct {
	number int
	text   string
}

func (w waiting) isCommand() bool { return strings.HasPrefix(w.text, "/") }

// saidRow takes a person's row: it is its turn now.
func (m *Model) saidRow(row protocol.Message) {
	m.taken(func(w waiting) bool { return w.text == row.Content })
	m.spoken = true
	m.add(block{kind: kindSaid, text: row.Content})
}

// taken forgets the first waiting message that is meant, if there is one.
func (m *Model) taken(is func(waiting) bool) (waiting, bool) {
	for i, w := range m.waiting {
		if is(w) {
			m.waiting = append(m.waiting[:i:i], m.waiting[i+1:]...)
			return w, true
		}
	}
	return waiting{}, false
}

func (m *Model) command(c protocol.Command) {
	m.retitle(c)
	if w, ok := m.taken(func(w waiting) bool { return w.isCommand() && strings.HasPrefix(strings.ToLower(w.text), "/"+c.Name) }); ok {
		m.add(block{kind: kindSaid, text: w.text})
	}
	k := kindNote
	if !c.OK {
		k = kindAlert
	}
	m.add(block{kind: k, text: c.Text})
}

// turn takes the state of a turn. Of turns that nobody saw begin, the end is no news.
func (m *Model) turn(t protocol.Turn) {
	switch t.Status {
	case protocol.TurnQueued:
		return
	case protocol.TurnStarted:
		if _, known := m.running[t.TurnID]; !known {
			m.running = with(m.running, t.TurnID, m.now)
		}
		m.follow(t.TurnID)
		return
	}
	if m.answer.turn == t.TurnID {
		m.endAnswer()
	}
	if len(m.calls) > 0 && m.calls[0].turn == t.TurnID {
		m.stopCalls()
	}
	m.running = without(m.running, t.TurnID)
	if !m.followed[t.TurnID] {
		return
	}
	m.followed = without(m.followed, t.TurnID)
	if t.Status != protocol.TurnCompleted && m.reported != t.TurnID {
		m.reported = t.TurnID
		failed := terminal.FailedError{Outcome: client.Outcome{Status: t.Status, Problem: t.Error}, Words: m.words}
		m.add(block{kind: kindAlert, text: failed.Error()})
	}
}

func (m *Model) follow(turn string) {
	if turn != "" && !m.followed[turn] {
		m.followed = with(m.followed, turn, true)
	}
}

// ended takes how a message ended. Most has been said by then: by rows, by the turn's
// end, by the answer to a command.
func (m *Model) ended(a answered) []effect {
	w, unseen := m.taken(func(w waiting) bool { return w.number == a.number })
	if unseen {
		m.add(block{kind: kindSaid, text: w.text})
	}
	var refused *client.RefusedError
	switch {
	case errors.As(a.err, &refused):
		m.add(block{kind: kindAlert, text: m.words.Say(text.MessageRefused{Message: refused.Message, Code: refused.Code})})
	case a.err != nil:
		m.err = a.err
		return []effect{leave{}}
	case unseen && a.outcome.Command == nil && a.outcome.Reply != "":
		m.add(block{kind: kindAnswer, text: a.outcome.Reply})
	}
	return nil
}

func with[V any](old map[string]V, key string, v V) map[string]V {
	out := map[string]V{key: v}
	for k, v := range old {
		if k != key {
			out[k] = v
		}
	}
	return out
}

func without[V any](old map[string]V, key string) map[string]V {
	out := map[string]V{}
	for k, v := range old {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// retitle takes over what a command says this dialog is called now.
func (m *Model) retitle(c protocol.Command) {
	var dialog struct {
		SessionID string `json:"session_id"`
		Title     string `json:"title"`
	}
	if c.OK && json.Unmarshal(c.Data, &dialog) == nil && dialog.SessionID == m.session && dialog.Title != "" {
		m.title = oneLine(dialog.Title)
	}
}
