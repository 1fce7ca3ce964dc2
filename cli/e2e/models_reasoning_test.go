package e2e

import (
	"strings"
	"testing"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeanthropic"
	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

// thoughts are what the requests of a turn sent back of a model's earlier thoughts,
// "-" for an answer without any.
func thoughts(requests []fakeopenai.Request) (out []string) {
	for _, r := range requests {
		var line []string
		for _, msg := range r.Messages {
			if msg.Role == "assistant" && len(msg.ToolCalls) > 0 {
				thought := "-"
				if msg.ReasoningContent != nil {
					thought = *msg.ReasoningContent
				}
				line = append(line, thought)
			}
		}
		out = append(out, strings.Join(line, " / "))
	}
	return out
}

// Endpoints differ in whether they want their thoughts back, refuse them or do not
// care, and a person sees them either way.
func TestReasoningOfOpenAIStyleModelsGoesBackWhereItMust(t *testing.T) {
	rows := map[string]*struct {
		config    fakeopenai.Config
		id        string
		reasoning string
		field     string
		back      []string // with each request that was taken
		refused   int
		fake      *fakeopenai.Server
	}{
		"wants":       {config: fakeopenai.Config{Thinks: true}, id: "deepseek-chat", reasoning: "auto", field: "reasoning_content", back: []string{"", "first", "first / second"}},
		"wants, new":  {config: fakeopenai.Config{Thinks: true}, id: "my-model", reasoning: "auto", field: "reasoning", back: []string{"", "first", "first / second"}, refused: 1},
		"indifferent": {id: "my-model", reasoning: "auto", field: "reasoning", back: []string{"", "-", "- / -"}},
		"refuses":     {config: fakeopenai.Config{NoThought: true}, id: "deepseek-old", reasoning: "auto", field: "reasoning_content", back: []string{"", "-", "- / -"}, refused: 1},
		"echo":        {id: "my-model", reasoning: "echo", field: "reasoning_content", back: []string{"", "first", "first / second"}},
		"drop":        {config: fakeopenai.Config{NoThought: true}, id: "deepseek-chat", reasoning: "drop", field: "reasoning_content", back: []string{"", "-", "- / -"}},
	}
	var servers []server
	further := map[string]object{}
	for name, row := range rows {
		row.config.Quirks.ReasoningField = row.field
		row.fake = fakeopenai.Start(t, row.config)
		servers = append(servers, server{row.fake, name})
		further[name] = object{"provider": name, "model": row.id, "reasoning": row.reasoning}
	}
	further["silent"] = object{"provider": "claude", "model": "claude-fake", "then": []string{"wants"}}
	m := newModels(t, fakeopenai.Config{}, further, servers...)
	call := func(thought, expression string) fakeopenai.Step {
		return fakeopenai.Reply{Reasoning: thought, ToolCalls: []fakeopenai.ToolCall{{Name: "calculator", Arguments: `{"expression":"` + expression + `"}`}}}
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			m.T = t
			row.fake.Enqueue(call("first", "1+1"), call("second", "2+2"), fakeopenai.Reply{Reasoning: "third thought, at length", Text: "four"})
			c := m.chat(name)
			turn := m.ask(c, "2+2?")
			same(t, "the turn", []string{m.row(turn, "status, steps"), m.reply(turn)}, "completed|3", "four")
			var taken []fakeopenai.Request
			for _, r := range row.fake.Requests() {
				if r.Refused == "" {
					taken = append(taken, r)
				}
			}
			same(t, "thoughts that went back", thoughts(taken), row.back...)
			if refused := row.fake.Refused(); len(refused) != row.refused {
				t.Errorf("refused: %q", refused)
			}
			shownAndStored(m, c, turn, "first", "second", "third thought, at length")
		})
	}
	t.Run("wants thoughts that another kind of model never had", func(t *testing.T) {
		m.T = t
		m.claude.Enqueue(
			fakeanthropic.Reply{ToolCalls: []fakeanthropic.ToolCall{{ID: "toolu_1", Name: "calculator", Input: `{"expression":"1+1"}`}}},
			fakeanthropic.Error{Status: 403, Message: "not for you"})
		fake := rows["wants"].fake
		before := fake.Count()
		fake.Enqueue(call("mine", "2+2"), fakeopenai.Reply{Text: "four"})
		turn := m.ask(m.chat("silent"), "2+2?")
		same(t, "the turn", []string{m.row(turn, "status, steps, model"), m.reply(turn)}, "completed|3|wants", "four")
		same(t, "thoughts that went back", thoughts(fake.Requests()[before:]), "", " / mine")
		if refused := fake.Refused(); len(refused) > 0 {
			t.Errorf("refused: %q", refused)
		}
	})
	m.T = t
	sound(t, m.h)
}

// shownAndStored checks that thoughts were streamed before what was said, stand in the
// rows that clients are sent, and nothing but they.
func shownAndStored(m *models, c *harness.Conn, turn protocol.Turn, want ...string) {
	m.Helper()
	for i, thought := range want {
		if got := shown(c, turn.TurnID, "reasoning", i+1, 1); got != thought {
			m.Errorf("step %d showed the thought %q, not %q", i+1, got, thought)
		}
	}
	var rows []string
	said := map[int]bool{}
	for _, f := range c.Frames() {
		switch f := f.(type) {
		case protocol.Delta:
			if f.Kind == "reasoning" && said[f.Step] {
				m.Errorf("step %d showed a thought after its text", f.Step)
			}
			said[f.Step] = said[f.Step] || f.Kind == "text"
		case protocol.Message:
			if f.Role == "assistant" {
				rows = append(rows, f.ReasoningContent)
			}
		}
	}
	same(m.T, "thoughts in rows", rows, want...)
}

func TestReasoningThatIsSignedGoesBackAsItWasAndPeopleSeeItsText(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, map[string]object{
		"dropper": {"provider": "claude", "model": "claude-fake", "max_output_tokens": 4000, "reasoning": "drop", "extra": object{"thinking": object{"type": "enabled", "budget_tokens": 1024}}},
	})
	script := func() {
		for _, step := range []fakeanthropic.Reply{
			{Thinking: "first", ToolCalls: []fakeanthropic.ToolCall{{ID: "toolu_1", Name: "calculator", Input: `{"expression":"1+1"}`}}},
			{Thinking: "second", Redacted: "aGlkZGVu", Text: "and", ToolCalls: []fakeanthropic.ToolCall{{ID: "toolu_2", Name: "calculator", Input: `{"expression":"2+2"}`}}},
			{Thinking: "third", Text: "four"},
		} {
			m.claude.Enqueue(step)
		}
	}
	// back lists the kinds of block that the answers of the last request consisted of.
	back := func() (out []string) {
		for _, msg := range m.claude.Requests()[m.claude.Count()-1].Messages {
			if msg.Role == "assistant" {
				out = append(out, strings.Join(msg.Types(), " "))
			}
		}
		return out
	}
	script()
	c := m.chat("claude")
	turn := m.ask(c, "2+2?")
	same(t, "the turn", []string{m.row(turn, "status, steps"), m.reply(turn)}, "completed|3", "four")
	same(t, "what went back", back(), "thinking tool_use", "thinking redacted_thinking text tool_use")
	shownAndStored(m, c, turn, "first", "second", "third")
	for _, f := range harness.Of[protocol.Message](c) {
		if strings.Contains(f.ReasoningContent, "_signed") {
			t.Errorf("a client was shown %q", f.ReasoningContent)
		}
	}

	script()
	c = m.chat("dropper")
	turn = m.ask(c, "2+2?")
	same(t, "the turn", []string{m.row(turn, "status, steps"), m.reply(turn)}, "completed|3", "four")
	same(t, "what went back", back(), "tool_use", "text tool_use")
	shownAndStored(m, c, turn, "first", "second", "third")
	m.valid()
}
