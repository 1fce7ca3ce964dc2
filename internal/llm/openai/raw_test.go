package openai_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/testkit/fakeopenai"
)

const finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"

func events(lines ...string) fakeopenai.Raw {
	return fakeopenai.Raw{ContentType: "text/event-stream", Body: strings.Join(lines, "")}
}

func text(s string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":"` + s + `"}}]}` + "\n\n"
}

func TestStreamsAsServersReallyWriteThem(t *testing.T) {
	for name, row := range map[string]struct {
		raw  fakeopenai.Raw
		want llm.Response
	}{
		"no space after the colon": {
			raw:  events(`data:{"choices":[{"delta":{"content":"a"}}]}`+"\n\n", finish, "data:[DONE]\n\n"),
			want: llm.Response{Content: "a", Stop: llm.StopEnd},
		},
		"no blank lines between events": {
			raw:  events(strings.ReplaceAll(text("a")+text("b")+finish, "\n\n", "\n")),
			want: llm.Response{Content: "ab", Stop: llm.StopEnd},
		},
		"one event over several data lines": {
			raw:  events("data: {\"choices\":[\ndata: {\"delta\":{\"content\":\"a\"}}\ndata: ]}\n\n", finish),
			want: llm.Response{Content: "a", Stop: llm.StopEnd},
		},
		"more keepalives than go-openai bears": {
			raw:  events(strings.Repeat(": keep-alive\n\n", 1000), text("a"), strings.Repeat("\n", 1000), finish),
			want: llm.Response{Content: "a", Stop: llm.StopEnd},
		},
		"other fields": {
			raw:  events("id: 1\nevent: completion\nretry: 10\n", text("a"), finish),
			want: llm.Response{Content: "a", Stop: llm.StopEnd},
		},
		"error null first in the chunk": {
			raw:  events(`data: {"error":null,"choices":[{"delta":{"content":"a"}}]}`+"\n\n", finish),
			want: llm.Response{Content: "a", Stop: llm.StopEnd},
		},
		"the word error in the text": {
			raw:  events(text(`\"error\"`), finish),
			want: llm.Response{Content: `"error"`, Stop: llm.StopEnd},
		},
		"last line without its end": {
			raw:  events(text("a"), strings.TrimSpace(finish)),
			want: llm.Response{Content: "a", Stop: llm.StopEnd},
		},
		"nulls everywhere": {
			raw: events(`data: {"id":null,"choices":[{"index":null,"delta":{"role":null,"content":null,"tool_calls":null,"reasoning_content":null},"finish_reason":null}],"usage":null}`+"\n\n",
				text("a"), finish),
			want: llm.Response{Content: "a", Stop: llm.StopEnd},
		},
		"a further choice that nobody asked for": {
			raw:  events(text("a"), `data: {"choices":[{"index":1,"delta":{"content":"no"}}]}`+"\n\n", finish),
			want: llm.Response{Content: "a", Stop: llm.StopEnd},
		},
		"usage inside the choice": {
			raw:  events(text("a"), `data: {"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":4}}]}`+"\n\n"),
			want: llm.Response{Content: "a", Stop: llm.StopEnd, Usage: chat.Usage{PromptTokens: 3, CompletionTokens: 4}},
		},
		"running usage in every chunk": {
			raw: events(`data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`+"\n\n",
				`data: {"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2.0}}`+"\n\n"),
			want: llm.Response{Content: "ab", Stop: llm.StopEnd, Usage: chat.Usage{PromptTokens: 3, CompletionTokens: 2}},
		},
		"usage with what was cached and thought": {
			raw:  events(text("a"), `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":40,"prompt_tokens_details":{"cached_tokens":20},"completion_tokens_details":{"reasoning_tokens":10}}}`+"\n\n"),
			want: llm.Response{Content: "a", Stop: llm.StopEnd, Usage: chat.Usage{PromptTokens: 30, CompletionTokens: 40, CachedTokens: 20, ReasoningTokens: 10}},
		},
		"what was cached in DeepSeek's place": {
			raw:  events(text("a"), `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":4,"prompt_cache_hit_tokens":20,"prompt_cache_miss_tokens":10}}`+"\n\n"),
			want: llm.Response{Content: "a", Stop: llm.StopEnd, Usage: chat.Usage{PromptTokens: 30, CompletionTokens: 4, CachedTokens: 20}},
		},
		"what was cached in Kimi's place": {
			raw:  events(text("a"), `data: {"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":30,"completion_tokens":4,"cached_tokens":20}}]}`+"\n\n"),
			want: llm.Response{Content: "a", Stop: llm.StopEnd, Usage: chat.Usage{PromptTokens: 30, CompletionTokens: 4, CachedTokens: 20}},
		},
		"details of usage that are none": {
			raw:  events(text("a"), `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":7,"completion_tokens_details":[null],"cached_tokens":-1}}`+"\n\n"),
			want: llm.Response{Content: "a", Stop: llm.StopEnd, Usage: chat.Usage{PromptTokens: 3, CompletionTokens: 4}},
		},
		"content in parts": {
			raw: events(`data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}}]}`+"\n\n",
				finish),
			want: llm.Response{Content: "a", ReasoningContent: "hm", Stop: llm.StopEnd},
		},
		"a refusal": {
			raw:  events(`data: {"choices":[{"delta":{"content":null,"refusal":"I can't."}}]}`+"\n\n", finish),
			want: llm.Response{Content: "I can't.", Stop: llm.StopEnd},
		},
		"a whole reply instead of a stream": {
			raw: fakeopenai.Raw{Body: "\n{\n\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"a\",\n" +
				`"tool_calls":[{"id":"x","function":{"name":"get_time","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`},
			want: llm.Response{Content: "a", Stop: llm.StopToolCalls, ToolCalls: []chat.ToolCall{chat.NewToolCall("x", "get_time", "{}")},
				Usage: chat.Usage{PromptTokens: 1, CompletionTokens: 2}},
		},
		"a stream without its content type": {
			raw:  fakeopenai.Raw{ContentType: "text/plain", Body: text("a") + finish},
			want: llm.Response{Content: "a", Stop: llm.StopEnd},
		},
		"a name in pieces": {
			raw: events(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"get_"}}]}}]}`+"\n\n",
				`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"time","arguments":"{}"}}]}}]}`+"\n\n", finish),
			want: llm.Response{Stop: llm.StopToolCalls, ToolCalls: []chat.ToolCall{chat.NewToolCall("x", "get_time", "{}")}},
		},
		"an id that comes late": {
			raw: events(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"get_time"}}]}}]}`+"\n\n",
				`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"arguments":"{}"}}]}}]}`+"\n\n", finish),
			want: llm.Response{Stop: llm.StopToolCalls, ToolCalls: []chat.ToolCall{chat.NewToolCall("x", "get_time", "{}")}},
		},
		"calls without arguments, index and id": {
			raw: events(`data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"get_time"}}]}}]}`+"\n\n",
				`data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"skill_list"}}]}}]}`+"\n\n", finish),
			want: llm.Response{Stop: llm.StopToolCalls, ToolCalls: []chat.ToolCall{
				chat.NewToolCall("call_1", "get_time", "{}"), chat.NewToolCall("call_2", "skill_list", "{}")}},
		},
		"a stray header without a name": {
			raw:  events(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{}}]}}]}`+"\n\n", text("a"), finish),
			want: llm.Response{Content: "a", Stop: llm.StopEnd},
		},
		"the protocol's first form of a call": {
			raw:  events(`data: {"choices":[{"delta":{"function_call":{"name":"get_time","arguments":"{}"}},"finish_reason":"function_call"}]}` + "\n\n"),
			want: llm.Response{Stop: llm.StopToolCalls, ToolCalls: []chat.ToolCall{chat.NewToolCall("call_1", "get_time", "{}")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serve(t, fakeopenai.Config{}, row.raw, ask("hi"))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(row.want, got))
		})
	}
}

// What an endpoint counted is paid for, whatever became of the answer.
func TestComplete_StreamBreaksAfterItsUsage_ReportsIt(t *testing.T) {
	got, err := serve(t, fakeopenai.Config{}, events(`data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":30,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":20}}}`+"\n\n"), ask("hi"))
	require.Equal(t, llm.KindIncomplete, llm.KindOf(err))
	require.Empty(t, cmp.Diff(llm.Response{Usage: chat.Usage{PromptTokens: 30, CompletionTokens: 1, CachedTokens: 20}}, got))
}

func TestWholeRepliesAsServersReallyWriteThem(t *testing.T) {
	for name, row := range map[string]struct {
		body string
		want llm.Response
	}{
		"keepalive white space before it": {
			body: "\n\n  " + `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`,
			want: llm.Response{Content: "a", Stop: llm.StopEnd},
		},
		"content null and reasoning": {
			body: `{"choices":[{"message":{"content":null,"reasoning":"hm","tool_calls":[]},"finish_reason":"stop"}]}`,
			want: llm.Response{ReasoningContent: "hm", Stop: llm.StopEnd},
		},
		"error null": {
			body: `{"error":null,"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`,
			want: llm.Response{Content: "a", Stop: llm.StopEnd},
		},
		"fields of the wrong type": {
			body: `{"id":7,"created":"now","choices":[{"index":"0","message":{"content":"a","reasoning_content":{"x":1},"refusal":false},"finish_reason":"stop"}],"usage":{"prompt_tokens":"5","completion_tokens":null}}`,
			want: llm.Response{Content: "a", Stop: llm.StopEnd, Usage: chat.Usage{PromptTokens: 5}},
		},
		"usage with what was cached and thought": {
			body: `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":40,"prompt_tokens_details":{"cached_tokens":20},"completion_tokens_details":{"reasoning_tokens":10}}}`,
			want: llm.Response{Content: "a", Stop: llm.StopEnd, Usage: chat.Usage{PromptTokens: 30, CompletionTokens: 40, CachedTokens: 20, ReasoningTokens: 10}},
		},
		"calls that look like one": {
			body: `{"choices":[{"message":{"tool_calls":[{"function":{"name":"get_time"}},{"function":{"name":"get_time","arguments":""}},{"function":{"name":"get_time","arguments":null}}]},"finish_reason":"tool_calls"}]}`,
			want: llm.Response{Stop: llm.StopToolCalls, ToolCalls: []chat.ToolCall{chat.NewToolCall("call_1", "get_time", "{}"),
				chat.NewToolCall("call_2", "get_time", "{}"), chat.NewToolCall("call_3", "get_time", "{}")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := ask("hi")
			req.Model.Stream = false
			got, err := serve(t, fakeopenai.Config{}, fakeopenai.Raw{Body: row.body}, req)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(row.want, got))
		})
	}
}

func TestAFinishedStreamLeavesAConnectionToUseAgain(t *testing.T) {
	server := fakeopenai.Start(t, fakeopenai.Config{})
	p := connect(t)(server.URL())
	var fresh atomic.Int32
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			fresh.Add(1)
		}
	}})
	for range 5 {
		_, err := p.Complete(ctx, ask("hi"), nil)
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, fresh.Load())
}

func TestAnEndpointThatKeepsAFinishedStreamOpenDoesNotHoldTheAnswer(t *testing.T) {
	released := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(text("a") + finish + "data: [DONE]\n\n"))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-released:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(released)
	got, err := connect(t)(server.URL).Complete(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, "a", got.Content)
}
