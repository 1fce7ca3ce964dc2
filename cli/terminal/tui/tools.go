package tui

import (
	"strings"
	"time"

	"picobot/cli/terminal"
	"picobot/internal/brief"
	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

// call is a tool call of the turn that runs.
type call struct {
	turn, id      string
	name, summary string
	state         string // of protocol.Tool; "" before it started
	began, ended  time.Time
	result        string
	hasResult     bool
}

// States of protocol.Tool.
const (
	toolStarted   = "started"
	toolCompleted = "completed"
	toolFailed    = "failed"
	toolUnknown   = "unknown"
)

func (c call) settled() bool { return c.state != "" && c.state != toolStarted }

func (m *Model) call(turn, id string) *call {
	for i := range m.calls {
		if m.calls[i].turn == turn && m.calls[i].id == id {
			return &m.calls[i]
		}
	}
	m.calls = append(m.calls[:len(m.calls):len(m.calls)], call{turn: turn, id: id})
	return &m.calls[len(m.calls)-1]
}

// tool takes the state of a call. Those of one step stay together until all have ended.
func (m *Model) tool(t protocol.Tool) {
	if m.done[t.TurnID+" "+t.CallID] {
		return
	}
	m.calls = append([]call(nil), m.calls...)
	c := m.call(t.TurnID, t.CallID)
	c.name = t.Name
	if s := oneLine(t.Summary); s != "" {
		c.summary = s
	}
	switch {
	case t.Status == toolStarted && c.state == "":
		c.state, c.began = t.Status, m.now
	case t.Status != toolStarted && !c.settled():
		c.state, c.ended = t.Status, m.now
	}
}

// asks takes the calls that an answer asks for: their frames may not come.
func (m *Model) asks(row protocol.Message) {
	m.calls = append([]call(nil), m.calls...)
	for _, t := range row.ToolCalls {
		if m.done[row.TurnID+" "+t.ID] {
			continue
		}
		c := m.call(row.TurnID, t.ID)
		c.name = t.Function.Name
		if c.summary == "" {
			c.summary = oneLine(t.Function.Name + ": " + t.Function.Arguments)
		}
	}
}

// result takes what a call returned.
func (m *Model) result(row protocol.Message) {
	if m.done[row.TurnID+" "+row.ToolCallID] {
		return
	}
	m.calls = append([]call(nil), m.calls...)
	c := m.call(row.TurnID, row.ToolCallID)
	if c.name == "" {
		c.name = row.ToolName
	}
	c.result, c.hasResult = row.Content, true
	if !c.settled() {
		c.state, c.ended = outcomeOf(row.Content), m.now
	}
	for _, c := range m.calls {
		if !c.hasResult {
			return
		}
	}
	m.settleCalls()
}

// outcomeOf tells how a call ended from its result, as models are told.
func outcomeOf(result string) string {
	switch {
	case strings.HasPrefix(result, "Error:"):
		return toolFailed
	case strings.HasPrefix(result, "Unknown outcome:"):
		return toolUnknown
	default:
		return toolCompleted
	}
}

// settleCalls makes the calls part of what is over.
func (m *Model) settleCalls() {
	for _, c := range m.calls {
		m.done = with(m.done, c.turn+" "+c.id, true)
		m.add(block{kind: kindTool, head: m.callLine(c, m.page()), text: c.result})
	}
	m.calls = nil
}

// callLine is how a call is shown.
func (m Model) callLine(c call, p page) string {
	what := c.summary
	if what == "" {
		what = terminal.Clean(c.name)
	}
	took, end := "", c.ended
	if end.IsZero() {
		end = m.now
	}
	if !c.began.IsZero() {
		took = p.faint("  " + duration(end.Sub(c.began)))
	}
	how := func(w text.Message) string { return ": " + m.words.Say(w) }
	switch {
	case c.state == toolCompleted:
		return p.good("✓") + " " + what + took
	case c.state == toolFailed:
		return p.alert("✗") + " " + what + p.alert(how(text.ToolFailed{})) + took
	case c.settled():
		return p.alert("?") + " " + what + p.alert(how(text.ToolUnknown{})) + took
	case !c.ended.IsZero():
		return p.alert("✗") + " " + what + p.alert(how(text.ToolStopped{})) + took
	default:
		return p.accent(m.spinner()) + " " + what + took
	}
}

// stopCalls ends the calls of a turn that ended before them.
func (m *Model) stopCalls() {
	m.calls = append([]call(nil), m.calls...)
	for i := range m.calls {
		if !m.calls[i].settled() {
			m.calls[i].ended = m.now
		}
	}
	m.settleCalls()
}

func isResult(row protocol.Message) bool { return row.Role == chat.RoleTool }

// oneLine shortens a summary to what fits beside a tool's name.
func oneLine(text string) string {
	const most = 160
	return brief.Cut(brief.OneLine(text), most)
}

// duration is short: people compare, they do not measure.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Minute:
		return d.Round(time.Second).String()
	default:
		return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
	}
}
