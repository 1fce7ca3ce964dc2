package tui

import (
	"strings"
	"time"

	"picobot/cli/terminal/markdown"
	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

// answer is one that is being written.
type answer struct {
	turn    string
	step    int
	attempt int
	text    string
	shown   int // bytes of text that are over already
	// holes: pieces may be missing, so nothing of it is over before its row is there.
	holes bool

	thoughts         string
	began, concluded time.Time // of the thoughts
	thoughtShown     bool
}

// delta takes a piece.
func (m *Model) delta(d protocol.Delta) {
	a := &m.answer
	switch {
	case d.TurnID != a.turn || d.Step != a.step:
		m.endAnswer()
		*a = answer{turn: d.TurnID, step: d.Step, attempt: d.Attempt}
	case d.Attempt < a.attempt:
		return
	case d.Attempt != a.attempt:
		if a.shown > 0 {
			m.add(block{kind: kindNote, text: m.words.Say(text.AnswerBeginsAgain{})})
		}
		*a = answer{turn: d.TurnID, step: d.Step, attempt: d.Attempt}
	}
	if len(m.calls) > 0 {
		m.settleCalls()
	}
	if d.Kind == "reasoning" {
		if a.began.IsZero() {
			a.began = m.now
		}
		a.thoughts += d.Text
		return
	}
	a.text += d.Text
	m.conclude()
	if a.holes {
		return
	}
	if n := markdown.Stable(a.text[a.shown:]); n > 0 {
		m.endThoughts()
		m.add(block{kind: kindAnswer, text: a.text[a.shown : a.shown+n]})
		a.shown += n
	}
}

// conclude notes when the thoughts were over.
func (m *Model) conclude() {
	if a := &m.answer; a.concluded.IsZero() && a.thoughts != "" {
		a.concluded = m.now
	}
}

// endThoughts makes the thoughts part of what is over.
func (m *Model) endThoughts() {
	a := &m.answer
	if a.thoughtShown || strings.TrimSpace(a.thoughts) == "" {
		return
	}
	m.conclude()
	a.thoughtShown = true
	m.add(m.thought(a.thoughts, a.concluded.Sub(a.began)))
}

func (m *Model) thought(thoughts string, took time.Duration) block {
	head := m.words.Say(text.TerminalThoughts{})
	if took > 0 {
		head = m.words.Say(text.TerminalThought{For: duration(took)})
	}
	return block{kind: kindThought, head: head, text: thoughts}
}

// endAnswer makes what has been written part of what is over, as it is.
func (m *Model) endAnswer() {
	m.endThoughts()
	if a := m.answer; strings.TrimSpace(a.text[a.shown:]) != "" {
		m.add(block{kind: kindAnswer, text: a.text[a.shown:]})
	}
	m.answer = answer{}
}

// row confirms what has been written, or shows what has not.
func (m *Model) row(row protocol.Message) {
	switch {
	case row.Role == chat.RoleUser:
		m.saidRow(row)
	case isResult(row):
		m.result(row)
	case row.Marker == chat.MarkerOutbound: // came as a notice when it was sent
	case row.Role == chat.RoleAssistant:
		m.answerRow(row)
	}
}

func (m *Model) answerRow(row protocol.Message) {
	if len(m.calls) > 0 {
		m.settleCalls()
	}
	a := &m.answer
	if a.turn != row.TurnID {
		m.endAnswer()
	}
	if a.shown == 0 && !a.thoughtShown {
		if row.ReasoningContent != "" {
			a.thoughts = row.ReasoningContent
		}
		if a.began.IsZero() {
			a.began, a.concluded = m.now, m.now
		}
		m.endThoughts()
	}
	rest, kept := strings.CutPrefix(row.Content, a.text[:a.shown])
	if !kept {
		rest = row.Content
		m.add(block{kind: kindNote, text: m.words.Say(text.AnswerBeginsAgain{})})
	}
	k := kindAnswer
	if row.Marker == chat.MarkerError {
		k = kindAlert
		m.reported = row.TurnID
	}
	if strings.TrimSpace(rest) != "" {
		m.add(block{kind: k, text: rest})
	}
	m.answer = answer{}
	m.asks(row)
}
