package openai_test

import (
	"testing"

	"go.uber.org/goleak"

	"picobot/internal/llm"
	"picobot/internal/llm/openai"
	"picobot/internal/llm/providertest"
	"picobot/internal/testkit/fakeopenai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend plays the neutral script of providertest on the fake server.
type backend struct{ *fakeopenai.Server }

func (b backend) Queue(answers ...providertest.Answer) {
	for _, a := range answers {
		b.Enqueue(step(a))
	}
}

func step(a providertest.Answer) fakeopenai.Step {
	switch {
	case a.Hang:
		return fakeopenai.Hang{}
	case a.Page:
		return fakeopenai.Raw{Status: a.Status, ContentType: "text/html", Body: "<html><body>Bad gateway</body></html>"}
	case a.Status != 0:
		return fakeopenai.Error{Status: a.Status, Type: "some_error", RetryAfter: a.RetryAfter}
	}
	reply := fakeopenai.Reply{Text: a.Text + a.JSON, Reasoning: a.Reasoning}
	reply.Usage = &fakeopenai.Usage{Prompt: int(a.Usage.PromptTokens), Completion: int(a.Usage.CompletionTokens),
		Cached: int(a.Usage.CachedTokens), Reasoning: int(a.Usage.ReasoningTokens)}
	for _, c := range a.Calls {
		reply.ToolCalls = append(reply.ToolCalls, fakeopenai.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	if a.Length {
		reply.FinishReason = "length"
	}
	if a.Refusal {
		reply.FinishReason = "content_filter"
	}
	if a.Cut || a.Early || a.Overload {
		cut := fakeopenai.CutStream{Reply: reply, AfterChunks: 5, Clean: a.Early}
		if a.Overload {
			cut.Error = &fakeopenai.Error{Type: "overloaded_error", Message: "Overloaded"}
		}
		return cut
	}
	return reply
}

func connect(t *testing.T) func(url string) llm.Provider {
	return func(url string) llm.Provider {
		p := openai.New(openai.Config{Name: "p", BaseURL: url, APIKey: fakeopenai.DefaultKey})
		t.Cleanup(p.Close)
		return p
	}
}

func TestConformance(t *testing.T) {
	start := func(t *testing.T) providertest.Backend { return backend{fakeopenai.Start(t, fakeopenai.Config{})} }
	providertest.Run(t, start, connect(t))
}

// The same must hold for every server, however it writes its replies.
func TestConformanceUnderQuirks(t *testing.T) {
	for name, quirks := range quirkTable() {
		t.Run(name, func(t *testing.T) {
			start := func(t *testing.T) providertest.Backend {
				return backend{fakeopenai.Start(t, fakeopenai.Config{Quirks: quirks})}
			}
			providertest.Run(t, start, connect(t))
		})
	}
}

func quirkTable() map[string]fakeopenai.Quirks {
	return map[string]fakeopenai.Quirks{
		"no index":                       {NoIndex: true},
		"all calls at index 0":           {ZeroIndex: true},
		"all calls in one delta":         {OneDelta: true},
		"no index and one delta":         {NoIndex: true, OneDelta: true},
		"index 0 and one delta":          {ZeroIndex: true, OneDelta: true},
		"header comes with every piece":  {RepeatHeader: true},
		"repeated headers, no index":     {RepeatHeader: true, NoIndex: true},
		"reasoning under its other name": {ReasoningField: "reasoning"},
		"usage in the finishing chunk":   {UsageInFinish: true},
		"keepalive comments":             {Comments: true},
		"no [DONE]":                      {NoDone: true},
		"two finish reasons":             {TwoFinishReasons: true},
		"lines end in CRLF":              {CRLF: true},
		"created is a float":             {FloatCreated: true},
	}
}
