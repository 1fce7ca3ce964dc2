package anthropic_test

import (
	"testing"

	"go.uber.org/goleak"

	"picobot/internal/llm"
	"picobot/internal/llm/anthropic"
	"picobot/internal/llm/providertest"
	"picobot/internal/testkit/fakeanthropic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend plays the neutral script of providertest on the fake server.
type backend struct{ *fakeanthropic.Server }

func (b backend) Queue(answers ...providertest.Answer) {
	for _, a := range answers {
		b.Enqueue(step(a))
	}
}

func step(a providertest.Answer) fakeanthropic.Step {
	switch {
	case a.Hang:
		return fakeanthropic.Hang{}
	case a.Page:
		return fakeanthropic.Raw{Status: a.Status, ContentType: "text/html", Body: "<html><body>Bad gateway</body></html>"}
	case a.Status != 0:
		return fakeanthropic.Error{Status: a.Status, RetryAfter: a.RetryAfter}
	}
	reply := fakeanthropic.Reply{Thinking: a.Reasoning, Text: a.Text, JSON: a.JSON}
	// A prompt's tokens are counted in three places.
	reply.Usage = &fakeanthropic.Usage{Input: int(a.Usage.PromptTokens) / 2, CacheRead: int(a.Usage.CachedTokens),
		CacheWrite: int(a.Usage.PromptTokens) - int(a.Usage.PromptTokens)/2 - int(a.Usage.CachedTokens),
		Output:     int(a.Usage.CompletionTokens), Thinking: int(a.Usage.ReasoningTokens)}
	for _, c := range a.Calls {
		reply.ToolCalls = append(reply.ToolCalls, fakeanthropic.ToolCall{ID: c.ID, Name: c.Function.Name, Input: c.Function.Arguments})
	}
	switch {
	case a.Length:
		reply.StopReason = "max_tokens"
	case a.Refusal:
		reply.StopReason = "refusal"
	case a.Overload:
		return fakeanthropic.FailStream{Reply: reply, AfterEvents: 7, Type: "overloaded_error", Message: "Overloaded"}
	case a.Cut || a.Early:
		return fakeanthropic.CutStream{Reply: reply, AfterEvents: 7, Clean: a.Early}
	}
	return reply
}

func connect(t *testing.T) func(url string) llm.Provider {
	return func(url string) llm.Provider {
		p := anthropic.New(anthropic.Config{Name: "p", BaseURL: url, APIKey: fakeanthropic.DefaultKey})
		t.Cleanup(p.Close)
		return p
	}
}

func TestConformance(t *testing.T) {
	start := func(t *testing.T) providertest.Backend {
		return backend{fakeanthropic.Start(t, fakeanthropic.Config{})}
	}
	providertest.Run(t, start, connect(t))
}

// The same must hold for servers that are only compatible.
func TestConformanceOfCompatibleServers(t *testing.T) {
	for name, config := range map[string]fakeanthropic.Config{
		"events without names":   {Bare: true},
		"no end of the message":  {NoEnd: true},
		"no structured outputs":  {NoStructured: true},
		"no way to force a tool": {NoStructured: true, NoForcedTool: true},
		"one rune a piece":       {TextPiece: 1},
	} {
		t.Run(name, func(t *testing.T) {
			start := func(t *testing.T) providertest.Backend { return backend{fakeanthropic.Start(t, config)} }
			providertest.Run(t, start, connect(t))
		})
	}
}
