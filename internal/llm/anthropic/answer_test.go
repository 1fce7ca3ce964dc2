package anthropic_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/anthropic"
	"picobot/internal/testkit/fakeanthropic"
)

func TestStopReasons(t *testing.T) {
	for name, row := range map[string]struct {
		reply   fakeanthropic.Reply
		stop    llm.StopReason
		kind    llm.Kind
		message string
	}{
		"the end":                  {reply: fakeanthropic.Reply{Text: "x", StopReason: "end_turn"}, stop: llm.StopEnd},
		"a stop sequence":          {reply: fakeanthropic.Reply{Text: "x", StopReason: "stop_sequence"}, stop: llm.StopEnd},
		"calls":                    {reply: fakeanthropic.Reply{ToolCalls: []fakeanthropic.ToolCall{{Name: "f", Input: "{}"}}}, stop: llm.StopToolCalls},
		"calls that are none":      {reply: fakeanthropic.Reply{Text: "x", StopReason: "tool_use"}, stop: llm.StopEnd},
		"the length limit":         {reply: fakeanthropic.Reply{Text: "x", StopReason: "max_tokens"}, stop: llm.StopLength},
		"the length of a thought":  {reply: fakeanthropic.Reply{Thinking: "x", StopReason: "max_tokens"}, stop: llm.StopLength},
		"a refusal":                {reply: fakeanthropic.Reply{StopReason: "refusal"}, kind: llm.KindContentFiltered, message: "the model refused to answer"},
		"an explained refusal":     {reply: fakeanthropic.Reply{StopReason: "refusal", Refusal: "It is about malware."}, kind: llm.KindContentFiltered, message: "the model refused to answer: It is about malware."},
		"a refusal in mid-answer":  {reply: fakeanthropic.Reply{Text: "Well", StopReason: "refusal", ToolCalls: []fakeanthropic.ToolCall{{Name: "f", Input: "{}"}}}, stop: llm.StopContentFilter},
		"the context window":       {reply: fakeanthropic.Reply{Text: "x", StopReason: "model_context_window_exceeded"}, kind: llm.KindContextTooLarge, message: "too long for the model"},
		"a reason nobody knows":    {reply: fakeanthropic.Reply{Text: "x", StopReason: "lunch"}, stop: llm.StopEnd},
		"an answer with no blocks": {reply: fakeanthropic.Reply{Blocks: []fakeanthropic.Block{}}, stop: llm.StopEnd},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serve(t, row.reply, ask("hi"))
			require.Equal(t, row.kind, llm.KindOf(err), "%v", err)
			if row.kind != "" {
				require.Contains(t, typed(t, err).Message, row.message)
				require.False(t, typed(t, err).Retryable())
				require.Empty(t, cmp.Diff(llm.Response{Usage: got.Usage}, got))
				return
			}
			require.Equal(t, row.stop, got.Stop)
			if row.stop == llm.StopContentFilter {
				require.Empty(t, got.ToolCalls, "who refuses asks for nothing")
			}
		})
	}
}

// A model that pauses is sent what it has so far, and goes on.
func TestAPausedTurn_GoesOnUntilItsAnswerIsWhole(t *testing.T) {
	server := fakeanthropic.Start(t, fakeanthropic.Config{})
	search := fakeanthropic.Block{Type: "server_tool_use", Raw: `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`}
	server.Enqueue(
		fakeanthropic.Reply{StopReason: "pause_turn", Usage: &fakeanthropic.Usage{Input: 10, Output: 1}, Blocks: []fakeanthropic.Block{
			{Type: "thinking", Text: "search"}, {Type: "text", Text: "Let me "}, search}},
		fakeanthropic.Reply{StopReason: "pause_turn", Usage: &fakeanthropic.Usage{Input: 20, CacheRead: 5, Output: 2, Thinking: 1}, Blocks: []fakeanthropic.Block{{Type: "text", Text: "see: "}, search}},
		fakeanthropic.Reply{Text: "done.", Usage: &fakeanthropic.Usage{Input: 30, CacheRead: 2, CacheWrite: 3, Output: 3, Thinking: 2}})
	var shown strings.Builder
	got, err := connect(t)(server.URL()).Complete(t.Context(), ask("hi"), func(d llm.Delta) {
		if d.Kind == llm.DeltaText {
			shown.WriteString(d.Text)
		}
	})
	require.NoError(t, err)
	require.Empty(t, server.Refused())
	require.Equal(t, "Let me see: done.", got.Content)
	require.Equal(t, got.Content, shown.String())
	require.Equal(t, chat.Usage{PromptTokens: 70, CompletionTokens: 6, CachedTokens: 7, ReasoningTokens: 3}, got.Usage)
	require.Equal(t, "search", chat.ReasoningText(got.ReasoningContent))
	last := server.Requests()[2]
	require.Len(t, last.Messages, 2)
	require.Equal(t, []string{"thinking", "text", "server_tool_use", "text", "server_tool_use"}, last.Messages[1].Types())
	require.JSONEq(t, search.Raw, last.Messages[1].Blocks[2].Raw)
}

func TestAModelThatOnlyPauses_IsNotAskedForEver(t *testing.T) {
	server := fakeanthropic.Start(t, fakeanthropic.Config{})
	server.Handle(func(fakeanthropic.Request) fakeanthropic.Step {
		return fakeanthropic.Reply{StopReason: "pause_turn", Blocks: []fakeanthropic.Block{{Type: "server_tool_use", Raw: `{"type":"server_tool_use","id":"a","name":"web_search","input":{}}`}}}
	})
	_, err := connect(t)(server.URL()).Complete(t.Context(), ask("hi"), nil)
	require.Equal(t, llm.KindIncomplete, llm.KindOf(err))
	require.LessOrEqual(t, server.Count(), 10)
}

func TestErrors_AreClassifiedByStatusAndByWhatTheySay(t *testing.T) {
	for name, row := range map[string]struct {
		step    fakeanthropic.Step
		kind    llm.Kind
		status  int
		message string
	}{
		"a prompt that is too long":   {fakeanthropic.Error{Status: 400, Message: "prompt is too long: 210000 tokens > 200000 maximum"}, llm.KindContextTooLarge, 400, "prompt is too long"},
		"input and limit together":    {fakeanthropic.Error{Status: 400, Message: "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"}, llm.KindContextTooLarge, 400, "exceed context limit"},
		"a request that is too large": {fakeanthropic.Error{Status: 413, Message: "Request exceeds the maximum size"}, llm.KindContextTooLarge, 413, "maximum size"},
		"no credit":                   {fakeanthropic.Error{Status: 400, Message: "Your credit balance is too low to access the Anthropic API."}, llm.KindQuota, 400, "credit balance"},
		"billing":                     {fakeanthropic.Error{Status: 403, Type: "billing_error", Message: "pay"}, llm.KindQuota, 403, "pay"},
		"a wrong key":                 {fakeanthropic.Error{Status: 401, Message: "invalid x-api-key"}, llm.KindAuth, 401, "invalid x-api-key"},
		"no such model":               {fakeanthropic.Error{Status: 404, Message: "model: claude-9"}, llm.KindNotFound, 404, "model: claude-9"},
		"too many":                    {fakeanthropic.Error{Status: 429, RetryAfter: 9 * time.Second}, llm.KindRateLimited, 429, "scripted"},
		"overloaded":                  {fakeanthropic.Error{Status: 529, Message: "Overloaded"}, llm.KindOverloaded, 529, "Overloaded"},
		"their own timeout":           {fakeanthropic.Error{Status: 504}, llm.KindTimeout, 504, "scripted"},
		"a bad request":               {fakeanthropic.Error{Status: 400, Message: "messages.0: no"}, llm.KindBadRequest, 400, "messages.0: no"},
		"a web page":                  {fakeanthropic.Raw{Status: 503, ContentType: "text/html", Body: "<html>busy</html>"}, llm.KindOverloaded, 503, "a web page instead of an answer"},
		"a redirect":                  {fakeanthropic.Raw{Status: 308, Header: http.Header{"Location": {"/x"}}}, llm.KindBadRequest, 308, "set base_url to its real address"},
		"an error with status 200":    {fakeanthropic.Raw{Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, llm.KindOverloaded, 0, "Overloaded"},
		"nothing":                     {fakeanthropic.Raw{}, llm.KindIncomplete, 0, "empty answer"},
		"half a JSON":                 {fakeanthropic.Raw{Body: `{"type":"mess`}, llm.KindServer, 0, "not JSON"},
		"another API's answer":        {fakeanthropic.Raw{Body: `{"choices":[]}`}, llm.KindServer, 0, "without content"},
		"mid-stream, overloaded":      {fakeanthropic.FailStream{Reply: fakeanthropic.Reply{Text: "half an answer"}, AfterEvents: 5, Type: "overloaded_error", Message: "Overloaded"}, llm.KindOverloaded, 0, "Overloaded"},
		"mid-stream, api_error":       {fakeanthropic.FailStream{Reply: fakeanthropic.Reply{Text: "half an answer"}, AfterEvents: 5, Type: "api_error", Message: "Internal server error"}, llm.KindServer, 0, "Internal server error"},
		"mid-stream, rate limited":    {fakeanthropic.FailStream{Reply: fakeanthropic.Reply{Text: "half an answer"}, AfterEvents: 1, Type: "rate_limit_error", Message: "slow down"}, llm.KindRateLimited, 0, "slow down"},
		"mid-stream, timeout":         {fakeanthropic.FailStream{Reply: fakeanthropic.Reply{Text: "half an answer"}, AfterEvents: 1, Type: "timeout_error", Message: "late"}, llm.KindTimeout, 0, "late"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serve(t, row.step, ask("hi"))
			e := typed(t, err)
			require.Equal(t, row.kind, e.Kind, e.Error())
			require.Equal(t, row.status, e.Status)
			require.Contains(t, e.Message, row.message)
			require.NotContains(t, e.Message, "<")
			require.LessOrEqual(t, len(e.Message), 512)
			require.Empty(t, cmp.Diff(llm.Response{Usage: got.Usage}, got))
			if s, ok := row.step.(fakeanthropic.Error); ok {
				require.Equal(t, s.RetryAfter, e.RetryAfter)
				require.Contains(t, e.Message, "(request req_fake)", "support asks for it")
			}
		})
	}
}

func TestAnAnswerThatIsComplete_SurvivesABreakBeforeItsEnd(t *testing.T) {
	// message_start, block start, ping, "done", block stop, message_delta; then the
	// message_stop that never comes.
	got, err := serve(t, fakeanthropic.CutStream{Reply: fakeanthropic.Reply{Text: "done"}, AfterEvents: 6}, ask("hi"))
	require.NoError(t, err)
	require.Equal(t, "done", got.Content)
	_, err = serve(t, fakeanthropic.CutStream{Reply: fakeanthropic.Reply{Text: "done"}, AfterEvents: 5}, ask("hi"))
	require.True(t, typed(t, err).Retryable())
}

func events(lines ...string) fakeanthropic.Raw {
	return fakeanthropic.Raw{ContentType: "text/event-stream", Body: strings.Join(lines, "")}
}

const (
	start  = `data: {"type":"message_start","message":{"usage":{"input_tokens":3}}}` + "\n\n"
	finish = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}` + "\n\n"
	stop   = `data: {"type":"message_stop"}` + "\n\n"
)

func text(s string) string {
	return `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"` + s + `"}}` + "\n\n"
}

func TestStreamsAsServersReallyWriteThem(t *testing.T) {
	usage := chat.Usage{PromptTokens: 3, CompletionTokens: 4}
	plain := llm.Response{Content: "a", Stop: llm.StopEnd, Usage: usage}
	cached := llm.Response{Content: "a", Stop: llm.StopEnd, Usage: chat.Usage{PromptTokens: 3, CompletionTokens: 4, CachedTokens: 1, ReasoningTokens: 2}}
	for name, row := range map[string]struct {
		raw  fakeanthropic.Raw
		want llm.Response
	}{
		"no names, no end":           {events(start, text("a"), finish), plain},
		"an end in OpenAI's way":     {events(start, text("a"), finish, "data: [DONE]\n\n"), plain},
		"keepalives":                 {events(": x\n\n", start, strings.Repeat(": x\n\n", 1000), text("a"), "event: ping\ndata: {\"type\":\"ping\"}\n\n", finish), plain},
		"CRLF":                       {events(strings.ReplaceAll(start+text("a")+finish+stop, "\n", "\r\n")), plain},
		"no blank lines":             {events(strings.ReplaceAll(start+text("a")+finish+stop, "\n\n", "\n")), plain},
		"an event over several":      {events(start, "data: {\"type\":\ndata: \"content_block_start\",\"index\":0,\ndata: \"content_block\":{\"type\":\"text\",\"text\":\"a\"}}\n\n", finish), plain},
		"events that nobody knows":   {events(start, "event: x\ndata: {\"type\":\"x\",\"index\":\"y\"}\n\n", text("a"), "data: 7\n\n", "data: {}\n\n", finish, stop), plain},
		"what comes after the end":   {events(start, text("a"), finish, stop, text("no"), "garbage"), plain},
		"fields of the wrong type":   {events(start, `data: {"type":"content_block_start","index":"0","content_block":{"type":"text","text":null,"citations":7}}`+"\n\n", `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","citation":[]}}`+"\n\n", finish), plain},
		"objects that are none":      {events(`data: {"type":"message_start","message":7}`+"\n\n", `data: {"type":"message_start","message":{"usage":[],"content":"x"}}`+"\n\n", start, text("a"), `data: {"type":"content_block_delta","index":0,"delta":7}`+"\n\n", `data: {"type":"content_block_stop","index":{}}`+"\n\n", finish), plain},
		"numbers that are text":      {events(`data: {"type":"message_start","message":{"usage":{"input_tokens":"3"}}}`+"\n\n", text("a"), `data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_details":"x","stop_sequence":7},"usage":{"output_tokens":4.0}}`+"\n\n"), plain},
		"blocks that nobody knows":   {events(start, `data: {"type":"content_block_start","index":1,"content_block":{"type":"hologram","text":"no"}}`+"\n\n", text("a"), finish), plain},
		"a whole message":            {fakeanthropic.Raw{Body: ` {"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}}`}, plain},
		"usage only at the end":      {events(text("a"), `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":1,"cache_read_input_tokens":1,"cache_creation_input_tokens":1,"output_tokens":4,"output_tokens_details":{"thinking_tokens":2}}}`+"\n\n"), cached},
		"input that comes whole":     {events(start, `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"x":1}}}`+"\n\n", finish), llm.Response{Stop: llm.StopToolCalls, Usage: usage, ToolCalls: []chat.ToolCall{chat.NewToolCall("a", "f", `{"x":1}`)}}},
		"calls without ids":          {events(start, `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f"}}`+"\n\n", `data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","name":"f"}}`+"\n\n", finish), llm.Response{Stop: llm.StopToolCalls, Usage: usage, ToolCalls: []chat.ToolCall{chat.NewToolCall("call_1", "f", "{}"), chat.NewToolCall("call_2", "f", "{}")}}},
		"pieces of two blocks mixed": {events(start, `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f"}}`+"\n\n", `data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"g"}}`+"\n\n", `data: {"type":"content_block_delta","index":0,"delta":{"partial_json":"{\"a"}}`+"\n\n", `data: {"type":"content_block_delta","index":1,"delta":{"partial_json":"{\"b\":2}"}}`+"\n\n", `data: {"type":"content_block_delta","index":0,"delta":{"partial_json":"\":1}"}}`+"\n\n", finish), llm.Response{Stop: llm.StopToolCalls, Usage: usage, ToolCalls: []chat.ToolCall{chat.NewToolCall("a", "f", `{"a":1}`), chat.NewToolCall("b", "g", `{"b":2}`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serve(t, row.raw, ask("hi"))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(row.want, got))
		})
	}
}

// What an endpoint counted is paid for, whatever became of the answer.
func TestComplete_StreamBreaksAfterItsUsage_ReportsIt(t *testing.T) {
	got, err := serve(t, events(start, text("a")), ask("hi"))
	require.Equal(t, llm.KindIncomplete, typed(t, err).Kind)
	require.Empty(t, cmp.Diff(llm.Response{Usage: chat.Usage{PromptTokens: 3}}, got))
}

func TestStreamsThatCannotBe_AreErrors(t *testing.T) {
	for name, raw := range map[string]fakeanthropic.Raw{
		"a piece of nothing":      events(start, `data: {"type":"content_block_delta","index":3,"delta":{"text":"x"}}`+"\n\n", finish),
		"a call without a name":   events(start, `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a"}}`+"\n\n", finish),
		"half an event":           events(start, "data: {\"type\":\"mess\n\n", finish),
		"one long line":           events("data: {\"x\":\"" + strings.Repeat("x", 33<<20)),
		"more blocks than can be": events(start, strings.Repeat(text(""), 5000), finish),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serve(t, raw, ask("hi"))
			require.Equal(t, llm.KindServer, typed(t, err).Kind)
		})
	}
}

func TestBrokenArguments_StayAsTheModelWroteThem(t *testing.T) {
	got, err := serve(t, fakeanthropic.Reply{ToolCalls: []fakeanthropic.ToolCall{{ID: "a", Name: "f", Input: `{"x": 1, "y`}, {ID: "b", Name: "f", Input: ""}, {ID: "a", Name: "f", Input: `[1]`}}}, ask("hi"))
	require.NoError(t, err)
	require.Equal(t, []chat.ToolCall{chat.NewToolCall("a", "f", `{"x": 1, "y`), chat.NewToolCall("b", "f", "{}"), chat.NewToolCall("a_2", "f", "[1]")}, got.ToolCalls)
}

func TestAModelThatDoesNotStream_ShowsNothingInPieces(t *testing.T) {
	server := fakeanthropic.Start(t, fakeanthropic.Config{})
	req := ask("hi")
	req.Model.Stream = false
	got, err := connect(t)(server.URL()).Complete(t.Context(), req, func(d llm.Delta) { t.Errorf("delta %+v", d) })
	require.NoError(t, err)
	require.Equal(t, "echo: hi", got.Content)
	require.True(t, server.Requests()[0].Stream, "on the wire it always streams: long answers are refused otherwise")
}

func TestJSON_IsAskedForInTheWayTheEndpointTakes(t *testing.T) {
	closed := `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`
	open := `{"type":"object","properties":{"a":{"type":"integer"}}}`
	for name, row := range map[string]struct {
		config  fakeanthropic.Config
		schema  string
		extra   map[string]json.RawMessage
		reply   fakeanthropic.Reply
		refused int
		check   func(t *testing.T, r fakeanthropic.Request)
	}{
		"structured outputs": {schema: closed, check: func(t *testing.T, r fakeanthropic.Request) {
			require.JSONEq(t, `{"format":{"type":"json_schema","schema":`+closed+`}}`, string(r.Fields["output_config"]))
		}},
		"beside an effort": {schema: closed, extra: map[string]json.RawMessage{"output_config": json.RawMessage(`{"effort":"low"}`)}, check: func(t *testing.T, r fakeanthropic.Request) {
			require.JSONEq(t, `{"effort":"low","format":{"type":"json_schema","schema":`+closed+`}}`, string(r.Fields["output_config"]))
		}},
		"a schema that they refuse": {schema: open, refused: 1, check: func(t *testing.T, r fakeanthropic.Request) {
			require.Equal(t, "plan", r.ToolChoice)
			require.JSONEq(t, open, string(r.Tools[0].Schema))
		}},
		"a model without them": {config: fakeanthropic.Config{NoStructured: true}, schema: closed, refused: 1,
			extra: map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"adaptive"}`)},
			check: func(t *testing.T, r fakeanthropic.Request) {
				require.Equal(t, "plan", r.ToolChoice)
				require.Empty(t, r.Thinking, "a forced call and thinking exclude each other")
			}},
		"a model without either": {config: fakeanthropic.Config{NoStructured: true, NoForcedTool: true}, schema: closed, refused: 2,
			reply: fakeanthropic.Reply{Text: "Here you are:\n```json\n{\"a\":1}\n```"},
			check: func(t *testing.T, r fakeanthropic.Request) {
				require.Contains(t, r.System[len(r.System)-1].Text, closed)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			server := fakeanthropic.Start(t, row.config)
			p := connect(t)(server.URL())
			req := ask("hi")
			req.Messages = append([]llm.Message{message(chat.RoleSystem, "s")}, req.Messages...)
			req.Model.Extra = row.extra
			req.Schema = &llm.Schema{Name: "plan", JSON: json.RawMessage(row.schema)}
			for range 2 {
				if row.reply.Text == "" {
					row.reply.JSON = `{"a":1}`
				}
				server.Enqueue(row.reply)
				got, err := p.Complete(t.Context(), req, nil)
				require.NoError(t, err)
				require.JSONEq(t, `{"a":1}`, got.Content)
				require.Equal(t, llm.StopEnd, got.Stop)
				require.Empty(t, got.ToolCalls)
			}
			require.Len(t, server.Refused(), row.refused, "what an endpoint refused it is not asked again")
			requests := server.Requests()
			row.check(t, requests[len(requests)-1])
		})
	}
}

func TestAFinishedStream_LeavesAConnectionToUseAgain(t *testing.T) {
	server := fakeanthropic.Start(t, fakeanthropic.Config{})
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

func TestPing_FindsOutWhatIsWrong(t *testing.T) {
	for name, row := range map[string]struct {
		config fakeanthropic.Config
		key    string
		kind   llm.Kind
	}{
		"all is well":             {key: fakeanthropic.DefaultKey},
		"a key that is refused":   {key: "wrong", kind: llm.KindAuth},
		"no list of models":       {config: fakeanthropic.Config{NoModels: true}, key: fakeanthropic.DefaultKey},
		"no list and a wrong key": {config: fakeanthropic.Config{NoModels: true}, key: "wrong", kind: llm.KindAuth},
	} {
		t.Run(name, func(t *testing.T) {
			server := fakeanthropic.Start(t, row.config)
			p := anthropic.New(anthropic.Config{Name: "p", BaseURL: server.URL(), APIKey: row.key})
			t.Cleanup(p.Close)
			require.Equal(t, row.kind, llm.KindOf(p.Ping(t.Context())))
		})
	}
}

func TestSecrets_NeverReachAnError(t *testing.T) {
	server := fakeanthropic.Start(t, fakeanthropic.Config{Key: "sk-ant-very-secret"})
	p := anthropic.New(anthropic.Config{Name: "p", BaseURL: server.URL(), APIKey: server.Key(), Headers: map[string]string{"X-Auth": "Token header-secret"}})
	t.Cleanup(p.Close)
	for _, step := range []fakeanthropic.Step{
		fakeanthropic.Error{Status: 401, Message: "bad key sk-ant-very-secret, header Token header-secret"},
		fakeanthropic.FailStream{Reply: fakeanthropic.Reply{Text: "x"}, AfterEvents: 1, Type: "api_error", Message: "header-secret"},
		fakeanthropic.Error{Status: 500, Message: strings.Repeat("x", 500) + "sk-ant-very-secret", Header: http.Header{"Request-Id": {"sk-ant-very-secret"}}},
	} {
		server.Enqueue(step)
		_, err := p.Complete(t.Context(), ask("hi"), nil)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
}
