package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
)

// Answer is what a backend does with one model call.
type Answer struct {
	Text      string
	JSON      string // in the form that the request asked for, whichever way
	Reasoning string
	Calls     []chat.ToolCall
	Length    bool // cut by the length limit
	Usage     chat.Usage

	Status     int // an error with this status instead of an answer
	RetryAfter time.Duration
	Page       bool // a web page with that status, as proxies send
	Cut        bool // break the connection in the middle of the answer
	Early      bool // end in good order in the middle of the answer
	Overload   bool // report an overload in the middle of the answer
	Refusal    bool // withhold the answer
	Hang       bool // do not answer until the client leaves
}

// Backend is a fake of a vendor's server, strict about what it is sent.
type Backend interface {
	URL() string
	// Queue adds answers, one for each valid call. A call that finds none is
	// answered with the text of its last user message after "echo: ".
	Queue(answers ...Answer)
	// Count says how many calls came.
	Count() int
	// Wait returns once n calls have come.
	Wait(ctx context.Context, n int) error
	// Refused says why calls were refused for what they sent.
	Refused() []string
}

// Run runs all tests. start starts a backend that ends with the test; connect
// returns a provider, named "p", that talks to a backend.
func Run(t *testing.T, start func(t *testing.T) Backend, connect func(url string) llm.Provider) {
	for name, test := range map[string]func(*testing.T, fixture){
		"answers the same whether it streams or not":            sameAnswer,
		"streams deltas that add up to the answer":              deltasAddUp,
		"returns parallel tool calls in order":                  toolCalls,
		"says when the length limit cut the answer":             lengthLimit,
		"says when the length limit cut a call":                 cutCall,
		"says when the answer was withheld":                     withheld,
		"answers in JSON when asked for it":                     answersJSON,
		"takes back its own thoughts":                           ownThoughts,
		"sends what another provider thought and called":        otherHistory,
		"sends a history with tools that the server accepts":    toolHistory,
		"sends odd messages that the server accepts":            oddHistory,
		"forbids tools without leaving them out":                forbidTools,
		"classifies errors and asks only once":                  statuses,
		"passes on how long to wait":                            retryAfter,
		"fails when the connection breaks":                      brokenConnection,
		"fails when the answer ends too early":                  earlyEnd,
		"fails when the answer turns into an error":             overload,
		"keeps web pages out of errors":                         webPage,
		"stops when its context is cancelled":                   cancelled,
		"stops at its deadline":                                 deadline,
		"does not begin with a context that has ended":          endedContext,
		"keeps concurrent calls apart":                          concurrent,
		"answers a ping":                                        ping,
		"reports an endpoint that is not there as one to retry": nobodyThere,
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t)
			test(t, fixture{Backend: b, provider: connect(b.URL()), connect: connect})
		})
	}
}

type fixture struct {
	Backend
	provider llm.Provider
	connect  func(url string) llm.Provider
}

// Tools are the tools that requests of these tests offer.
func Tools() []llm.Tool {
	schema := json.RawMessage(`{"type":"object","properties":{"expression":{"type":"string"}},"required":["expression"]}`)
	return []llm.Tool{{Name: "calculator", Description: "Calculates.", Parameters: schema}, {Name: "get_time", Description: "Tells the time."}}
}

func request(stream bool, messages ...llm.Message) llm.Request {
	return llm.Request{Model: llm.Model{Name: "m", ID: "fake-model", Stream: stream, Vision: true}, Messages: messages, Tools: Tools()}
}

func user(text string) llm.Message {
	return llm.Message{Message: chat.Message{Role: chat.RoleUser, Content: text}}
}

func bothWays(t *testing.T, test func(t *testing.T, stream bool)) {
	for _, stream := range []bool{true, false} {
		t.Run(fmt.Sprintf("stream=%t", stream), func(t *testing.T) { test(t, stream) })
	}
}

func richAnswer() Answer {
	return Answer{
		Text:      "Let me see: 世界 <b>& \"quotes\"</b>\nnew line 🎉",
		Reasoning: "First think, 然后回答.",
		Calls: []chat.ToolCall{
			chat.NewToolCall("id-a", "calculator", `{"expression":"1+1"}`),
			chat.NewToolCall("id-b", "get_time", `{}`),
			chat.NewToolCall("id-c", "calculator", `{"expression":"\"}{\" + '世界'"}`),
		},
		Usage: chat.Usage{PromptTokens: 12, CompletionTokens: 34, CachedTokens: 3, ReasoningTokens: 8},
	}
}

func (a Answer) response() llm.Response {
	return llm.Response{Content: a.Text, ReasoningContent: a.Reasoning, ToolCalls: a.Calls, Stop: llm.StopToolCalls, Usage: a.Usage}
}

// shown is a response with its reasoning as people are shown it.
func shown(r llm.Response) llm.Response {
	r.ReasoningContent = chat.ReasoningText(r.ReasoningContent)
	return r
}

func sameAnswer(t *testing.T, f fixture) {
	want := richAnswer()
	bothWays(t, func(t *testing.T, stream bool) {
		f.Queue(want)
		got, err := f.provider.Complete(t.Context(), request(stream, user("hi")), nil)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want.response(), shown(got)))
	})
}

func deltasAddUp(t *testing.T, f fixture) {
	f.Queue(richAnswer())
	var text, reasoning strings.Builder
	count := 0
	got, err := f.provider.Complete(t.Context(), request(true, user("hi")), func(d llm.Delta) {
		count++
		switch d.Kind {
		case llm.DeltaText:
			text.WriteString(d.Text)
		case llm.DeltaReasoning:
			reasoning.WriteString(d.Text)
		default:
			t.Errorf("unknown kind of delta %q", d.Kind)
		}
	})
	require.NoError(t, err)
	require.Equal(t, got.Content, text.String())
	require.Equal(t, chat.ReasoningText(got.ReasoningContent), reasoning.String())
	require.Greater(t, count, 2, "the answer came in one piece")
}

func toolCalls(t *testing.T, f fixture) {
	want := richAnswer()
	want.Text = ""
	bothWays(t, func(t *testing.T, stream bool) {
		f.Queue(want)
		got, err := f.provider.Complete(t.Context(), request(stream, user("hi")), nil)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want.Calls, got.ToolCalls))
		require.Equal(t, llm.StopToolCalls, got.Stop)
	})
}

func lengthLimit(t *testing.T, f fixture) {
	bothWays(t, func(t *testing.T, stream bool) {
		f.Queue(Answer{Text: "half an ans", Length: true})
		got, err := f.provider.Complete(t.Context(), request(stream, user("hi")), nil)
		require.NoError(t, err)
		require.Equal(t, llm.StopLength, got.Stop)
		require.Equal(t, "half an ans", got.Content)
	})
}

func cutCall(t *testing.T, f fixture) {
	bothWays(t, func(t *testing.T, stream bool) {
		f.Queue(Answer{Calls: []chat.ToolCall{chat.NewToolCall("a", "calculator", `{"expr`)}, Length: true})
		got, err := f.provider.Complete(t.Context(), request(stream, user("hi")), nil)
		require.NoError(t, err)
		require.Equal(t, llm.StopLength, got.Stop, "the caller must see that the call is half-written")
	})
}

func withheld(t *testing.T, f fixture) {
	bothWays(t, func(t *testing.T, stream bool) {
		f.Queue(Answer{Refusal: true}, Answer{Text: "I would rather", Refusal: true})
		_, err := f.provider.Complete(t.Context(), request(stream, user("hi")), nil)
		require.Equal(t, llm.KindContentFiltered, llm.KindOf(err))
		got, err := f.provider.Complete(t.Context(), request(stream, user("hi")), nil)
		require.NoError(t, err)
		require.Equal(t, llm.StopContentFilter, got.Stop)
		require.Equal(t, "I would rather", got.Content)
	})
}

func answersJSON(t *testing.T, f fixture) {
	for name, schema := range map[string]string{
		"closed": `{"type":"object","properties":{"facts":{"type":"array","items":{"type":"string"}}},"required":["facts"],"additionalProperties":false}`,
		"open":   `{"type":"object","properties":{"facts":{"type":"array","items":{"type":"string"}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, stream bool) {
				req := request(stream, user("hi"))
				req.Tools = nil
				req.Schema = &llm.Schema{Name: "plan", JSON: json.RawMessage(schema)}
				f.Queue(Answer{JSON: `{"facts":["a"]}`})
				got, err := f.provider.Complete(t.Context(), req, nil)
				require.NoError(t, err)
				require.JSONEq(t, `{"facts":["a"]}`, got.Content)
				require.Empty(t, got.ToolCalls)
				require.Equal(t, llm.StopEnd, got.Stop)
			})
		})
	}
}

func ownThoughts(t *testing.T, f fixture) {
	for _, mode := range []string{"", "auto", "echo", "drop"} {
		t.Run(mode, func(t *testing.T) {
			bothWays(t, func(t *testing.T, stream bool) {
				f.Queue(richAnswer(), richAnswer(), Answer{Text: "done"})
				messages := []llm.Message{user("hi")}
				for step := range 3 {
					req := request(stream, messages...)
					req.Model.Reasoning = mode
					got, err := f.provider.Complete(t.Context(), req, nil)
					require.NoError(t, err, "step %d", step)
					for i := range got.ToolCalls { // as the record makes them unique
						got.ToolCalls[i].ID += fmt.Sprint(step)
					}
					messages = append(messages, assistant(got))
					for _, call := range got.ToolCalls {
						messages = append(messages, result(call, "x"))
					}
				}
				require.Empty(t, f.Refused())
			})
		})
	}
}

// otherHistory is a conversation that another provider's model began: a fallback
// takes it over, in the middle of a turn.
func otherHistory(t *testing.T, f fixture) {
	bothWays(t, func(t *testing.T, stream bool) {
		for _, mode := range []string{"auto", "echo", "drop"} {
			thought := llm.Response{ReasoningContent: "plain", ToolCalls: []chat.ToolCall{chat.NewToolCall("functions.bash:0", "a tool that is gone", "{}")}}
			signed := llm.Response{Content: "x", ReasoningContent: chat.Reasoning{By: "elsewhere", Blocks: []chat.ReasoningBlock{
				{Text: "hm", Signature: "forged"}, {Said: 1}, {Redacted: "hidden"}}}.Stored(),
				ToolCalls: []chat.ToolCall{chat.NewToolCall("functions.bash.0", "calculator", "{}"), chat.NewToolCall("toolu_1", "calculator", "[1]")}}
			f.Queue(Answer{Text: "done"})
			req := request(stream, user("hi"), assistant(thought), result(thought.ToolCalls[0], "1"),
				assistant(signed), result(signed.ToolCalls[0], "Error: no"), result(signed.ToolCalls[1], "2"))
			req.Model.Reasoning = mode
			// Names that never were are no business of OpenAI-style servers either.
			req.Messages[1].ToolCalls[0].Function.Name = "gone"
			got, err := f.provider.Complete(t.Context(), req, nil)
			require.NoError(t, err)
			require.Equal(t, "done", got.Content)
		}
		require.Empty(t, f.Refused())
	})
}

// assistant is the message that a response becomes in the next request.
func assistant(r llm.Response) llm.Message {
	return llm.Message{Message: chat.Message{Role: chat.RoleAssistant, Content: r.Content, ReasoningContent: r.ReasoningContent, ToolCalls: r.ToolCalls}}
}

func result(call chat.ToolCall, text string) llm.Message {
	return llm.Message{Message: chat.Message{Role: chat.RoleTool, Content: text, ToolCallID: call.ID, ToolName: call.Function.Name}}
}

func toolHistory(t *testing.T, f fixture) {
	bothWays(t, func(t *testing.T, stream bool) {
		answer := richAnswer()
		// What a model may write and no server takes back.
		answer.Calls[1].Function.Arguments = ""
		answer.Calls[2].Function.Arguments = `{"expression": "1+`
		f.Queue(answer, Answer{Text: "done"})
		messages := []llm.Message{user("hi")}
		got, err := f.provider.Complete(t.Context(), request(stream, messages...), nil)
		require.NoError(t, err)
		require.Equal(t, "{}", got.ToolCalls[1].Function.Arguments)
		require.Equal(t, `{"expression": "1+`, got.ToolCalls[2].Function.Arguments, "arguments are kept as they were written")

		messages = append(messages, assistant(got))
		for _, call := range got.ToolCalls {
			messages = append(messages, result(call, ""))
		}
		got, err = f.provider.Complete(t.Context(), request(stream, messages...), nil)
		require.NoError(t, err)
		require.Equal(t, "done", got.Content)
		require.Empty(t, f.Refused())
	})
}

func oddHistory(t *testing.T, f fixture) {
	bothWays(t, func(t *testing.T, stream bool) {
		picture := user("")
		picture.Images = []llm.Image{{MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}, {URL: "https://example.com/a.png"}}
		system := llm.Message{Message: chat.Message{Role: chat.RoleSystem, Content: "Be brief.", Marker: chat.MarkerAgentPrompt}}
		blank := llm.Message{Message: chat.Message{Role: chat.RoleSystem}}
		f.Queue(Answer{Text: "done"})
		_, err := f.provider.Complete(t.Context(), request(stream, system, user("one"), assistant(llm.Response{}), system, blank, user(""), picture, user("two")), nil)
		require.NoError(t, err)
		require.Empty(t, f.Refused())
	})
}

func forbidTools(t *testing.T, f fixture) {
	bothWays(t, func(t *testing.T, stream bool) {
		calls := richAnswer().Calls
		req := request(stream, user("hi"), assistant(llm.Response{ToolCalls: calls}), result(calls[0], "2"), result(calls[1], "now"), result(calls[2], "x"))
		req.ForbidTools = true
		f.Queue(Answer{Text: "done"})
		got, err := f.provider.Complete(t.Context(), req, nil)
		require.NoError(t, err)
		require.Equal(t, "done", got.Content)
		require.Empty(t, f.Refused())
	})
}

func statuses(t *testing.T, f fixture) {
	for status, kind := range map[int]llm.Kind{
		400: llm.KindBadRequest, 401: llm.KindAuth, 402: llm.KindQuota, 403: llm.KindAuth, 404: llm.KindNotFound,
		408: llm.KindTimeout, 409: llm.KindServer, 413: llm.KindContextTooLarge, 429: llm.KindRateLimited,
		500: llm.KindServer, 502: llm.KindServer, 503: llm.KindOverloaded, 504: llm.KindTimeout, 529: llm.KindOverloaded,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			bothWays(t, func(t *testing.T, stream bool) {
				before := f.Count()
				f.Queue(Answer{Status: status})
				_, err := f.provider.Complete(t.Context(), request(stream, user("hi")), nil)
				e, ok := errors.AsType[*llm.Error](err)
				require.True(t, ok, "%T is no *llm.Error", err)
				require.Equal(t, kind, e.Kind)
				require.Equal(t, status, e.Status)
				require.Equal(t, "p", e.Provider)
				require.Equal(t, "m", e.Model)
				require.Equal(t, 1, f.Count()-before, "a provider must not retry")
			})
		})
	}
}

func retryAfter(t *testing.T, f fixture) {
	bothWays(t, func(t *testing.T, stream bool) {
		f.Queue(Answer{Status: 429, RetryAfter: 7 * time.Second})
		_, err := f.provider.Complete(t.Context(), request(stream, user("hi")), nil)
		e, ok := errors.AsType[*llm.Error](err)
		require.True(t, ok)
		require.Equal(t, 7*time.Second, e.RetryAfter)
		require.True(t, e.Retryable())
	})
}

func brokenConnection(t *testing.T, f fixture) {
	bothWays(t, func(t *testing.T, stream bool) {
		answer := richAnswer()
		answer.Cut = true
		f.Queue(answer)
		got, err := f.provider.Complete(t.Context(), request(stream, user("hi")), nil)
		e, ok := errors.AsType[*llm.Error](err)
		require.True(t, ok, "a broken answer was taken for a whole one: %+v", got)
		require.True(t, e.Retryable(), e.Error())
		require.Empty(t, cmp.Diff(llm.Response{Usage: got.Usage}, got), "an error comes with nothing but what it cost")
	})
}

func earlyEnd(t *testing.T, f fixture) {
	answer := richAnswer()
	answer.Early = true
	f.Queue(answer)
	got, err := f.provider.Complete(t.Context(), request(true, user("hi")), nil)
	e, ok := errors.AsType[*llm.Error](err)
	require.True(t, ok, "half an answer was taken for a whole one: %+v", got)
	require.Equal(t, llm.KindIncomplete, e.Kind)
	require.True(t, e.Retryable())
}

func overload(t *testing.T, f fixture) {
	answer := richAnswer()
	answer.Overload = true
	f.Queue(answer)
	got, err := f.provider.Complete(t.Context(), request(true, user("hi")), nil)
	e, ok := errors.AsType[*llm.Error](err)
	require.True(t, ok, "an error was taken for an answer: %+v", got)
	require.Equal(t, llm.KindOverloaded, e.Kind)
	require.True(t, e.Retryable())
	require.Empty(t, cmp.Diff(llm.Response{Usage: got.Usage}, got), "an error comes with nothing but what it cost")
}

func webPage(t *testing.T, f fixture) {
	for status, kind := range map[int]llm.Kind{200: llm.KindBadRequest, 502: llm.KindServer, 403: llm.KindAuth} {
		bothWays(t, func(t *testing.T, stream bool) {
			f.Queue(Answer{Page: true, Status: status})
			_, err := f.provider.Complete(t.Context(), request(stream, user("hi")), nil)
			require.Equal(t, kind, llm.KindOf(err))
			require.NotContains(t, err.Error(), "<")
		})
	}
}

func cancelled(t *testing.T, f fixture) {
	bothWays(t, func(t *testing.T, stream bool) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("the user said stop")
		before := f.Count()
		f.Queue(Answer{Hang: true})
		go func() {
			if f.Wait(t.Context(), before+1) == nil {
				cancel(stop)
			}
		}()
		_, err := f.provider.Complete(ctx, request(stream, user("hi")), nil)
		require.Equal(t, llm.KindCanceled, llm.KindOf(err))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, stop)
	})
}

func deadline(t *testing.T, f fixture) {
	bothWays(t, func(t *testing.T, stream bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		f.Queue(Answer{Hang: true})
		_, err := f.provider.Complete(ctx, request(stream, user("hi")), nil)
		require.Equal(t, llm.KindTimeout, llm.KindOf(err))
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func endedContext(t *testing.T, f fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.provider.Complete(ctx, request(true, user("hi")), nil)
	require.Equal(t, llm.KindCanceled, llm.KindOf(err))
	require.Equal(t, llm.KindCanceled, llm.KindOf(f.provider.Ping(ctx)))
	require.Zero(t, f.Count())
}

func concurrent(t *testing.T, f fixture) {
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			text := fmt.Sprintf("message %d", i)
			got, err := f.provider.Complete(t.Context(), request(i%2 == 0, user(text)), nil)
			if err != nil || got.Content != "echo: "+text {
				t.Errorf("call %d: got %q, %v", i, got.Content, err)
			}
		})
	}
	wg.Wait()
}

func ping(t *testing.T, f fixture) {
	require.NoError(t, f.provider.Ping(t.Context()))
	require.Zero(t, f.Count(), "a ping costs no model call")
}

func nobodyThere(t *testing.T, f fixture) {
	// Port 1 is reserved and nobody listens there.
	p := f.connect("http://127.0.0.1:1/v1")
	_, err := p.Complete(t.Context(), request(true, user("hi")), nil)
	require.Equal(t, llm.KindTransport, llm.KindOf(err))
	require.Equal(t, llm.KindTransport, llm.KindOf(p.Ping(t.Context())))
}
