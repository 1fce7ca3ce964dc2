package openai_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/testkit/fakeopenai"
)

func ask(text string) llm.Request {
	return llm.Request{
		Model:    llm.Model{Name: "m", ID: "fake-model", Stream: true},
		Messages: []llm.Message{message(chat.RoleUser, text)},
	}
}

func message(role chat.Role, text string) llm.Message {
	return llm.Message{Message: chat.Message{Role: role, Content: text}}
}

// serve answers one request with a step and returns what the provider made of it.
func serve(t *testing.T, config fakeopenai.Config, step fakeopenai.Step, req llm.Request) (llm.Response, error) {
	t.Helper()
	server := fakeopenai.Start(t, config)
	server.Enqueue(step)
	got, err := connect(t)(server.URL()).Complete(t.Context(), req, nil)
	require.Empty(t, server.Refused())
	return got, err
}

func eachWay(t *testing.T, test func(t *testing.T, req llm.Request)) {
	for _, stream := range []bool{true, false} {
		t.Run(fmt.Sprintf("stream=%t", stream), func(t *testing.T) {
			req := ask("hi")
			req.Model.Stream = stream
			test(t, req)
		})
	}
}

func TestCallsWithoutIDsGetSome(t *testing.T) {
	for name, quirks := range quirkTable() {
		quirks.NoCallIDs = true
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, req llm.Request) {
				got, err := serve(t, fakeopenai.Config{Quirks: quirks}, fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{
					{Name: "calculator", Arguments: `{"expression":"1+1"}`},
					{Name: "calculator", Arguments: `{"expression":"2+2"}`},
					{Name: "get_time", Arguments: `{}`},
				}}, req)
				require.NoError(t, err)
				require.Empty(t, cmp.Diff([]chat.ToolCall{
					chat.NewToolCall("call_1", "calculator", `{"expression":"1+1"}`),
					chat.NewToolCall("call_2", "calculator", `{"expression":"2+2"}`),
					chat.NewToolCall("call_3", "get_time", `{}`),
				}, got.ToolCalls))
			})
		})
	}
}

func TestArgumentsGivenAsAnObjectAreText(t *testing.T) {
	eachWay(t, func(t *testing.T, req llm.Request) {
		got, err := serve(t, fakeopenai.Config{Quirks: fakeopenai.Quirks{ObjectArguments: true}}, fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{
			{ID: "a", Name: "calculator", Arguments: `{"expression":"1+1"}`},
			{ID: "b", Name: "get_time", Arguments: `{}`},
		}}, req)
		require.NoError(t, err)
		require.Equal(t, `{"expression":"1+1"}`, got.ToolCalls[0].Function.Arguments)
		require.Equal(t, `{}`, got.ToolCalls[1].Function.Arguments)
	})
}

func TestRepeatedIDsAreMadeUnique(t *testing.T) {
	eachWay(t, func(t *testing.T, req llm.Request) {
		got, err := serve(t, fakeopenai.Config{}, fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{
			{ID: "x", Name: "get_time", Arguments: `{}`},
			{ID: "x", Name: "get_time", Arguments: `{}`},
			{ID: "x_2", Name: "get_time", Arguments: `{}`},
		}}, req)
		require.NoError(t, err)
		require.Equal(t, []string{"x", "x_3", "x_2"}, ids(got))
	})
}

func ids(r llm.Response) []string {
	var out []string
	for _, c := range r.ToolCalls {
		out = append(out, c.ID)
	}
	return out
}

func TestIDsOfOtherProvidersAreKeptVerbatim(t *testing.T) {
	eachWay(t, func(t *testing.T, req llm.Request) {
		got, err := serve(t, fakeopenai.Config{}, fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{{ID: "functions.get_time:0", Name: "get_time"}}}, req)
		require.NoError(t, err)
		require.Equal(t, []string{"functions.get_time:0"}, ids(got))
	})
}

func TestACutCallIsReportedAsCut(t *testing.T) {
	eachWay(t, func(t *testing.T, req llm.Request) {
		got, err := serve(t, fakeopenai.Config{}, fakeopenai.Reply{FinishReason: "length",
			ToolCalls: []fakeopenai.ToolCall{{ID: "a", Name: "calculator", Arguments: `{"expr`}}}, req)
		require.NoError(t, err)
		require.Equal(t, llm.StopLength, got.Stop, "the caller must see that the call is half-written")
		require.Equal(t, `{"expr`, got.ToolCalls[0].Function.Arguments)
	})
}

func TestFinishReasons(t *testing.T) {
	for _, row := range []struct {
		reason string
		calls  bool
		stop   llm.StopReason
		kind   llm.Kind
		text   string
	}{
		{reason: "stop", text: "x", stop: llm.StopEnd},
		{reason: "stop", calls: true, stop: llm.StopToolCalls},
		{reason: "tool_calls", text: "x", stop: llm.StopEnd},
		{reason: "function_call", calls: true, stop: llm.StopToolCalls},
		{reason: "length", text: "x", stop: llm.StopLength},
		{reason: "content_filter", text: "x", stop: llm.StopContentFilter},
		{reason: "content_filter", kind: llm.KindContentFiltered},
		{reason: "error", text: "x", kind: llm.KindServer},
		{reason: "insufficient_system_resource", text: "x", kind: llm.KindOverloaded},
		{reason: "some_new_reason", text: "x", stop: llm.StopEnd},
	} {
		t.Run(fmt.Sprintf("%s calls=%t text=%q", row.reason, row.calls, row.text), func(t *testing.T) {
			eachWay(t, func(t *testing.T, req llm.Request) {
				reply := fakeopenai.Reply{Text: row.text, FinishReason: row.reason}
				if row.calls {
					reply.ToolCalls = []fakeopenai.ToolCall{{Name: "get_time", Arguments: "{}"}}
				}
				got, err := serve(t, fakeopenai.Config{}, reply, req)
				require.Equal(t, row.kind, llm.KindOf(err), "%v", err)
				require.Equal(t, row.stop, got.Stop)
			})
		})
	}
}

func TestAWholeReplyWithoutFinishReasonIsAnAnswer(t *testing.T) {
	req := ask("hi")
	req.Model.Stream = false
	got, err := serve(t, fakeopenai.Config{Quirks: fakeopenai.Quirks{NoFinishReason: true}}, fakeopenai.Reply{Text: "x"}, req)
	require.NoError(t, err)
	require.Equal(t, "x", got.Content)
}

func TestAStreamWithoutFinishReasonIsNoAnswer(t *testing.T) {
	for name, step := range map[string]fakeopenai.Step{
		"ended by [DONE]": fakeopenai.Reply{Text: "looks whole", Quirks: &fakeopenai.Quirks{NoFinishReason: true}},
		"just ended":      fakeopenai.CutStream{Reply: fakeopenai.Reply{Text: "looks whole"}, AfterChunks: 3, Clean: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serve(t, fakeopenai.Config{}, step, ask("hi"))
			require.Equal(t, llm.KindIncomplete, llm.KindOf(err))
			require.Empty(t, cmp.Diff(llm.Response{Usage: got.Usage}, got))
		})
	}
}

func TestAnAnswerThatIsCompleteSurvivesABreakBeforeItsUsage(t *testing.T) {
	// role, "done", finish reason; then the usage chunk that never comes.
	step := fakeopenai.CutStream{Reply: fakeopenai.Reply{Text: "done"}, AfterChunks: 3}
	got, err := serve(t, fakeopenai.Config{}, step, ask("hi"))
	require.NoError(t, err)
	require.Equal(t, "done", got.Content)
	require.Zero(t, got.Usage)
}

func TestNoUsageIsZeroUsage(t *testing.T) {
	eachWay(t, func(t *testing.T, req llm.Request) {
		got, err := serve(t, fakeopenai.Config{Quirks: fakeopenai.Quirks{NoUsage: true}}, fakeopenai.Reply{Text: "x"}, req)
		require.NoError(t, err)
		require.Zero(t, got.Usage)
	})
}
