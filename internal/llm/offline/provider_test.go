package offline_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/offline"
)

func tools() []llm.Tool {
	var all []llm.Tool
	for _, name := range []string{"calculator", "get_time", "file_read", "file_write", "bash", "web_fetch", "memory_manage", "memory_search", "scheduler_manage"} {
		all = append(all, llm.Tool{Name: name})
	}
	return all
}

func request(messages ...llm.Message) llm.Request {
	return llm.Request{Model: llm.Model{Name: "m"}, Messages: messages, Tools: tools()}
}

func said(role chat.Role, text string) llm.Message {
	return llm.Message{Message: chat.Message{Role: role, Content: text}}
}

func user(text string) llm.Message { return said(chat.RoleUser, text) }

func calling(calls ...chat.ToolCall) llm.Message {
	return llm.Message{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: calls}}
}

func result(id, name, text string) llm.Message {
	return llm.Message{Message: chat.Message{Role: chat.RoleTool, ToolCallID: id, ToolName: name, Content: text}}
}

func complete(t *testing.T, req llm.Request) llm.Response {
	t.Helper()
	resp, err := offline.New(offline.Options{}).Complete(t.Context(), req, nil)
	require.NoError(t, err)
	require.Positive(t, resp.Usage.PromptTokens)
	require.Positive(t, resp.Usage.CompletionTokens)
	return resp
}

// run plays a whole turn; each tool answers with its arguments.
func run(t *testing.T, req llm.Request) (answer string, steps [][]string) {
	t.Helper()
	ids := map[string]bool{}
	for {
		resp := complete(t, req)
		if resp.Stop != llm.StopToolCalls {
			require.Empty(t, resp.ToolCalls)
			return resp.Content, steps
		}
		req.Messages = append(req.Messages, calling(resp.ToolCalls...))
		var names []string
		for _, c := range resp.ToolCalls {
			require.False(t, ids[c.ID], "id %s came twice in the turn", c.ID)
			ids[c.ID] = true
			names = append(names, c.Function.Name)
			req.Messages = append(req.Messages, result(c.ID, c.Function.Name, "result of "+c.Function.Arguments))
		}
		steps = append(steps, names)
		require.Less(t, len(steps), 100)
	}
}

func TestAToolIsCalledAndItsResultAnswered(t *testing.T) {
	answer, steps := run(t, request(user("  calc 1+1\n")))
	require.Equal(t, [][]string{{"calculator"}}, steps)
	require.Equal(t, `calculator: result of {"expression":"1+1"}`, answer)
}

func TestToolsAreCalledInOneStep(t *testing.T) {
	answer, steps := run(t, request(user("tools calc 1; time; read x")))
	require.Equal(t, [][]string{{"calculator", "get_time", "file_read"}}, steps)
	require.Equal(t, "calculator: result of {\"expression\":\"1\"}\nget_time: result of {}\nfile_read: result of {\"path\":\"x\"}", answer)
}

func TestALoopCallsOneAfterTheOther(t *testing.T) {
	answer, steps := run(t, request(user("loop 4")))
	require.Equal(t, [][]string{{"get_time"}, {"get_time"}, {"get_time"}, {"get_time"}}, steps)
	require.Equal(t, 4, strings.Count(answer, "get_time: result of {}"))
}

func TestAnythingElseIsEchoed(t *testing.T) {
	for text, want := range map[string]string{
		"hello":     "echo: hello",
		" a  b \n":  "echo: a  b",
		"calc":      "echo: calc",
		"世界 calc 1": "echo: 世界 calc 1",
	} {
		resp := complete(t, request(user(text)))
		require.Equal(t, want, resp.Content)
		require.Equal(t, llm.StopEnd, resp.Stop)
	}
}

func TestOnlyTheLastUserMessageCounts(t *testing.T) {
	earlier := []llm.Message{
		said(chat.RoleSystem, "calc 9"), user("calc 1"),
		calling(chat.NewToolCall("call_1", "calculator", "{}")),
		result("call_1", "calculator", "1"),
		said(chat.RoleAssistant, "calculator: 1"),
	}
	resp := complete(t, request(append(earlier, user("hello"))...))
	require.Equal(t, "echo: hello", resp.Content)

	answer, steps := run(t, request(append(earlier, user("time"), said(chat.RoleSystem, "reminder"))...))
	require.Equal(t, [][]string{{"get_time"}}, steps)
	require.Equal(t, "get_time: result of {}", answer)
}

func TestAResultWithoutAToolNameIsNamedByItsCall(t *testing.T) {
	resp := complete(t, request(user("time"), calling(chat.NewToolCall("x", "get_time", "{}")), result("x", "", "noon\n")))
	require.Equal(t, "get_time: noon", resp.Content)
}

func TestAMessageOfPicturesIsAnswered(t *testing.T) {
	picture := user("")
	picture.Images = []llm.Image{{URL: "https://example.com/a.png"}}
	require.Equal(t, "echo: [1 image(s)]", complete(t, request(picture)).Content)
}

func TestForbiddenToolsAreNotCalled(t *testing.T) {
	req := request(user("loop 5"))
	req.ForbidTools = true
	require.Equal(t, "echo: loop 5", complete(t, req).Content)

	req.Messages = append(req.Messages, calling(chat.NewToolCall("x", "get_time", "{}")), result("x", "get_time", "noon"))
	resp := complete(t, req)
	require.Equal(t, "get_time: noon", resp.Content)
	require.Empty(t, resp.ToolCalls)
}

func TestToolsThatAreNotOfferedAreNotCalled(t *testing.T) {
	req := request(user("tools time; calc 1"))
	req.Tools = []llm.Tool{{Name: "get_time"}}
	require.Equal(t, "echo: tools time; calc 1", complete(t, req).Content)
	req.Tools = nil
	require.Equal(t, "echo: tools time; calc 1", complete(t, req).Content)
}

func TestTheSameRequestIsAnsweredTheSameWay(t *testing.T) {
	for _, text := range []string{"tools time; in 10s say x", "hello", "loop 2"} {
		require.Empty(t, cmp.Diff(complete(t, request(user(text))), complete(t, request(user(text)))))
	}
}

func TestAFailureLooksLikeAProviders(t *testing.T) {
	p := offline.New(offline.Options{Name: "off"})
	for _, status := range []int{400, 401, 402, 404, 408, 429, 500, 503, 529} {
		for range 2 {
			_, err := p.Complete(t.Context(), request(user("fail "+strconv.Itoa(status))), nil)
			e, ok := errors.AsType[*llm.Error](err)
			require.True(t, ok)
			require.Equal(t, llm.KindOfStatus(status), e.Kind)
			require.Equal(t, status, e.Status)
			require.Equal(t, "off", e.Provider)
			require.Equal(t, "m", e.Model)
		}
	}
}

func TestAnswersAreStreamed(t *testing.T) {
	var deltas []string
	resp, err := offline.New(offline.Options{}).Complete(t.Context(), request(user(strings.Repeat("wörter ", 50))), func(d llm.Delta) {
		require.Equal(t, llm.DeltaText, d.Kind)
		deltas = append(deltas, d.Text)
	})
	require.NoError(t, err)
	require.Equal(t, resp.Content, strings.Join(deltas, ""))
	require.Greater(t, len(deltas), 2)
	require.LessOrEqual(t, len(deltas), 24)
}

func TestASlowAnswerComesInPiecesOverItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var last time.Duration
		var text strings.Builder
		resp, err := offline.New(offline.Options{}).Complete(t.Context(), request(user("slow 2.5")), func(d llm.Delta) {
			require.Greater(t, time.Since(start), last)
			last = time.Since(start)
			text.WriteString(d.Text)
		})
		require.NoError(t, err)
		require.Equal(t, 2500*time.Millisecond, last)
		require.Equal(t, "slow: this answer took 2.5s", resp.Content)
		require.Equal(t, resp.Content, text.String())
	})
}

func TestASlowAnswerStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(3*time.Second, func() { cancel(cause) })
		start := time.Now()
		_, err := offline.New(offline.Options{}).Complete(ctx, request(user("slow 60")), nil)
		require.Equal(t, llm.KindCanceled, llm.KindOf(err))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, cause)
		require.Equal(t, 3*time.Second, time.Since(start))

		late, free := context.WithTimeout(t.Context(), time.Second)
		defer free()
		_, err = offline.New(offline.Options{}).Complete(late, request(user("slow 60")), nil)
		require.Equal(t, llm.KindTimeout, llm.KindOf(err))
	})
}

func TestAnInjectedSleepIsUsed(t *testing.T) {
	var slept time.Duration
	p := offline.New(offline.Options{Sleep: func(_ context.Context, d time.Duration) error {
		slept += d
		return nil
	}})
	_, err := p.Complete(t.Context(), request(user("slow 7")), nil)
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, slept)

	broken := errors.New("no clock")
	p = offline.New(offline.Options{Sleep: func(context.Context, time.Duration) error { return broken }})
	_, err = p.Complete(t.Context(), request(user("slow 7")), nil)
	require.ErrorIs(t, err, broken)
	require.Equal(t, llm.KindServer, llm.KindOf(err))
}

func TestAnEndedContextIsAnsweredAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := offline.New(offline.Options{})
	_, err := p.Complete(ctx, request(user("hello")), nil)
	require.Equal(t, llm.KindCanceled, llm.KindOf(err))
	require.Equal(t, llm.KindCanceled, llm.KindOf(p.Ping(ctx)))
	require.NoError(t, p.Ping(t.Context()))
}
