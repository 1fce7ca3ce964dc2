package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeanthropic"
	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

// What the provider of one kind said and thought has to be valid for the other kind,
// in the middle of a turn and ever after.
func TestFallbackOfAnotherKindGoesOnAfterToolSteps(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	refused := func(c *harness.Conn, want string) {
		t.Helper()
		same(t, "notices", notices(c), want)
	}
	t.Run("from OpenAI's to Anthropic's", func(t *testing.T) {
		m.T = t
		m.gpt.Enqueue(
			fakeopenai.Reply{Reasoning: "I have to add", Text: "let me see", Usage: &fakeopenai.Usage{Prompt: 100, Completion: 10},
				ToolCalls: []fakeopenai.ToolCall{{ID: "functions.calculator:0", Name: "calculator", Arguments: `{"expression":"1+1"}`}, {ID: "functions.nonsense:1", Name: "no such tool", Arguments: `{"x":`}}},
			fakeopenai.Error{Status: 401, Code: "invalid_api_key", Message: "Incorrect API key provided"},
		)
		m.claude.Enqueue(
			fakeanthropic.Reply{Thinking: "two and two", Text: "more", Usage: &fakeanthropic.Usage{Input: 200, CacheRead: 30, CacheWrite: 3, Output: 20},
				ToolCalls: []fakeanthropic.ToolCall{{ID: "toolu_1", Name: "calculator", Input: `{"expression":"2+2"}`}}},
			fakeanthropic.Reply{Text: "four", Usage: &fakeanthropic.Usage{Input: 300, Output: 30}},
		)
		c := m.chat("default")
		turn := m.ask(c, "what is it?")
		same(t, "the answer", []string{m.reply(turn)}, "four")
		same(t, "the turn", []string{m.row(turn, "status, model, steps, prompt_tokens, completion_tokens")}, "completed|claude|3|633|60")
		if turn.Usage == nil || turn.Usage.PromptTokens != 633 || turn.Usage.CompletionTokens != 60 || turn.Steps != 3 {
			t.Errorf("the frame says %+v", turn)
		}
		refused(c, "Model gpt fails (the API key is refused); claude takes over.")
		same(t, "attempts in Temporal", first(m.failures(turn)), "failed: model gpt at provider gpt: auth (HTTP 401): Incorrect API key provided")
		if m.gpt.Count() != 2 {
			t.Errorf("%d calls of the model that fails: the one that answered was to stay", m.gpt.Count())
		}
		took := m.claude.Requests()[0].Messages
		calls, results := took[len(took)-2], took[len(took)-1]
		if !slices.Equal(calls.Types(), []string{"text", "tool_use", "tool_use"}) || !slices.Equal(results.Types(), []string{"tool_result", "tool_result"}) {
			t.Errorf("claude was told %v and %v", calls.Types(), results.Types())
		}
		// The next message goes to the first model again, with claude's thoughts behind it.
		turn = m.ask(c, "and now?")
		same(t, "the next turn", []string{m.row(turn, "status, model"), m.reply(turn)}, "completed|gpt", "echo: and now?")
		if raw := string(m.gpt.Requests()[2].Raw); strings.Contains(raw, "two and two") || strings.Contains(raw, "_signed") {
			t.Errorf("thoughts that another signed were sent on: %s", raw)
		}
		m.valid()
	})
	t.Run("from Anthropic's to OpenAI's", func(t *testing.T) {
		m.T = t
		m.claude.Enqueue(
			fakeanthropic.Reply{Thinking: "hm", Redacted: "aGlkZGVu", Text: "let me see", ToolCalls: []fakeanthropic.ToolCall{{ID: "toolu_a", Name: "calculator", Input: `{"expression":"1+1"}`}, {ID: "toolu_b", Name: "calculator", Input: `{"expression":"3*3"}`}}},
			fakeanthropic.Error{Status: 400, Message: "Your credit balance is too low to access the Anthropic API."},
		)
		m.gpt.Enqueue(
			fakeopenai.Reply{Reasoning: "well", ToolCalls: []fakeopenai.ToolCall{{Name: "calculator", Arguments: `{"expression":"2+2"}`}}},
			fakeopenai.Reply{Text: "four"},
		)
		before := m.claude.Count()
		c := m.chat("reversed")
		turn := m.ask(c, "what is it?")
		same(t, "the turn", []string{m.row(turn, "status, model, steps"), m.reply(turn)}, "completed|gpt|3", "four")
		refused(c, "Model claude fails (no credit left); gpt takes over.")
		if n := m.claude.Count() - before; n != 2 {
			t.Errorf("%d calls of the model that fails", n)
		}
		turn = m.ask(c, "and now?")
		same(t, "the next turn", []string{m.row(turn, "status, model"), m.reply(turn)}, "completed|claude", "echo: and now?")
		m.valid()
	})
	t.Run("in the first step", func(t *testing.T) {
		m.T = t
		c := m.chat("doomed")
		turn := m.ask(c, "hello")
		same(t, "the turn", []string{m.row(turn, "status, model, steps"), m.reply(turn)}, "completed|claude|1", "echo: hello")
		const said = "Model locked fails (the API key is refused); claude takes over."
		refused(c, said)
		if r := m.h.Run("agent", "--agent", "doomed", "--chat", "script", "-m", "hi"); r.Code != 0 || r.Stdout != "echo: hi\n" || !strings.Contains(r.Stderr, "warn: "+said) {
			t.Errorf("%+v", r)
		}
		m.valid()
	})
}

func first[A, B any](a A, _ B) A { return a }

func TestEveryModelFailsAndThePersonIsToldOfEachWhatToDo(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	for range 5 {
		m.claude.Enqueue(fakeanthropic.Error{Status: 529, Message: "Overloaded", Header: soon()})
	}
	c := m.chat("doomed")
	turn := m.ask(c, "tell nobody: xyzzy")
	const said = "The provider locked refuses the API key for model locked. Check api_key of the provider. The other models failed, too: claude (no capacity left)."
	if turn.Status != protocol.TurnFailed || turn.Error == nil || turn.Error.Code != "auth" || turn.Error.Message != said {
		t.Errorf("the frame says %+v %+v", turn, turn.Error)
	}
	same(t, "the turn", []string{m.row(turn, "status, error, steps, prompt_tokens")}, "failed|"+said+"|0|0")
	same(t, "the last row", m.h.Record(`SELECT role, marker, content FROM messages WHERE turn_id = ? ORDER BY seq DESC LIMIT 1`, turn.TurnID), "assistant|error|"+said)
	if n := m.claude.Count(); n != 5 {
		t.Errorf("claude was asked %d times", n)
	}
	attempts, history := m.failures(turn)
	const overloaded = "overloaded (HTTP 529)"
	same(t, "attempts in Temporal", attempts,
		"failed: model locked at provider locked: auth (HTTP 401): *",
		"attempt 5, after: model claude at provider claude: "+overloaded+": Overloaded (request req_fake); attempts before: "+strings.Repeat(overloaded+", ", 2)+overloaded,
		"failed: model claude at provider claude: "+overloaded+": Overloaded (request req_fake); attempts before: "+strings.Repeat(overloaded+", ", 3)+overloaded)
	for _, never := range []string{"xyzzy", wrongKey, m.claude.Key()} {
		if strings.Contains(history, never) {
			t.Errorf("Temporal's history holds %q", never)
		}
	}
	if r := m.h.Run("agent", "--agent", "locked", "--chat", "other", "-m", "hi"); r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, "Check api_key") {
		t.Errorf("%+v", r)
	}
	// The session is as good as new.
	turn = m.ask(c, "still there?")
	same(t, "the next turn", []string{m.row(turn, "status, model"), m.reply(turn)}, "completed|claude", "echo: still there?")
	m.valid()
}

func TestErrorThatNoRetryHelpsEndsTheTurnAtOnceWithAdvice(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	for name, row := range map[string]struct {
		agent string
		gpt   fakeopenai.Step
		code  string
		says  []string
	}{
		"quota": {"gpt", fakeopenai.Error{Status: 429, Code: "insufficient_quota", Type: "insufficient_quota", Message: "You exceeded your current quota"},
			"quota", []string{"no credit left", "Add credit, or choose another model"}},
		"key":     {"locked", nil, "auth", []string{"refuses the API key", "Check api_key"}},
		"no such": {"gpt", fakeopenai.Error{Status: 404, Code: "model_not_found", Message: "The model does not exist"}, "not_found", []string{"does not know model gpt", "Check the model's id"}},
		"too long": {"gpt", fakeopenai.Error{Status: 400, Code: "context_length_exceeded", Message: "This model's maximum context length is 8192 tokens"},
			"context_too_large", []string{"too long for model gpt", "Begin a new one with /new"}},
		"filtered": {"gpt", fakeopenai.Error{Status: 400, Code: "content_filter", Message: "filtered"}, "content_filtered", []string{"content filter", "Put the request differently"}},
		"web page": {"gpt", fakeopenai.Raw{Status: 403, ContentType: "text/html", Body: "<html>blocked</html>"}, "auth", []string{"Check api_key"}},
	} {
		before := m.gpt.Count()
		if row.gpt != nil {
			m.gpt.Enqueue(row.gpt)
		}
		turn := m.ask(m.chat(row.agent), "hello")
		if turn.Status != protocol.TurnFailed || turn.Error == nil || turn.Error.Code != row.code {
			t.Errorf("%s: %+v %+v", name, turn, turn.Error)
			continue
		}
		for _, want := range row.says {
			if !strings.Contains(turn.Error.Message, want) {
				t.Errorf("%s: %q does not say %q", name, turn.Error.Message, want)
			}
		}
		if n := m.gpt.Count() - before; n != 1 {
			t.Errorf("%s: asked %d times", name, n)
		}
	}
	m.valid()
}

func TestRetryWaitsAsLongAsTheProviderAsksAndSaysSo(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	const wait = 3 * time.Second
	m.gpt.Enqueue(fakeopenai.Error{Status: 429, Code: "rate_limit_exceeded", Message: "slow down", RetryAfter: wait},
		fakeopenai.Error{Status: 500, Message: "oops", Header: soon()}, fakeopenai.Reply{Text: "fine"})
	c := m.chat("default")
	var turn protocol.Turn
	if d := took(func() { turn = m.ask(c, "hello") }); d < wait {
		t.Errorf("the endpoint asked for %s, and was asked again after %s", wait, d)
	}
	same(t, "the turn", []string{m.row(turn, "status, model"), m.reply(turn)}, "completed|gpt", "fine")
	same(t, "notices", notices(c), "Model gpt at provider gpt does not answer now (too many calls in a short time). It is asked again in 3 seconds.")
	same(t, "attempts in Temporal", first(m.failures(turn)),
		"attempt 3, after: model gpt at provider gpt: server_error (HTTP 500): oops; attempts before: rate_limited (HTTP 429)")
	m.valid()
}

// A wait that a provider asks for is no reason to wait with a stop.
func TestStopWhileARetryWaitsEndsTheTurnAtOnce(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	m.gpt.Enqueue(fakeopenai.Error{Status: 503, Message: "later", RetryAfter: 4 * harness.Patience})
	c := m.chat("gpt")
	a := c.Send("m1", "hello")
	harness.Expect(c, "the notice", func(n protocol.Notice) bool { return strings.Contains(n.Text, "It is asked again in 240 seconds.") })
	c.Write(protocol.Cancel{})
	if turn := c.End(a.TurnID); turn.Status != protocol.TurnCancelled {
		t.Errorf("%+v", turn)
	}
	turn := m.ask(c, "are you there?")
	same(t, "the next turn", []string{m.reply(turn)}, "echo: are you there?")
	m.valid()
}

// Which model answers a turn is in the record, not in anybody's memory.
func TestFallbackThatAnsweredStaysAfterAKill(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	m.gpt.Enqueue(fakeopenai.Error{Status: 401, Code: "invalid_api_key"})
	m.claude.Enqueue(fakeanthropic.Reply{Thinking: "hm", ToolCalls: []fakeanthropic.ToolCall{{ID: "toolu_1", Name: "bash", Input: `{"command":"sleep 600"}`}}},
		fakeanthropic.Reply{Text: "so be it"})
	c := m.chat("default")
	a := c.Send("m1", "sleep")
	m.h.Eventually("the command runs", func() bool { return len(m.h.Record(`SELECT 1 FROM tool_runs WHERE status = 'claimed'`)) == 1 })
	m.g.Kill9()
	m.g = m.h.StartGateway()
	m.h.Eventually("the turn ends", func() bool {
		return len(m.h.Record(`SELECT 1 FROM turns WHERE id = ? AND finished_at IS NOT NULL`, a.TurnID)) == 1
	})
	turn := protocol.Turn{TurnID: a.TurnID}
	same(t, "the turn", []string{m.row(turn, "status, model, steps"), m.reply(turn)}, "completed|claude|2", "so be it")
	if m.gpt.Count() != 1 {
		t.Errorf("the model that fails was asked %d times", m.gpt.Count())
	}
	m.valid()
}
