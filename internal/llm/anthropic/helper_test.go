package anthropic_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/testkit/fakeanthropic"
)

func ask(text string) llm.Request {
	return llm.Request{
		Model:    llm.Model{Name: "m", ID: "claude-sonnet-5-5", Stream: true, Vision: true},
		Messages: []llm.Message{message(chat.RoleUser, text)},
	}
}

func message(role chat.Role, text string) llm.Message {
	return llm.Message{Message: chat.Message{Role: role, Content: text}}
}

// answered is the message that a response becomes in the next request.
func answered(r llm.Response) llm.Message {
	return llm.Message{Message: chat.Message{Role: chat.RoleAssistant, Content: r.Content, ReasoningContent: r.ReasoningContent, ToolCalls: r.ToolCalls}}
}

func called(calls ...chat.ToolCall) llm.Message { return answered(llm.Response{ToolCalls: calls}) }

func result(id, text string) llm.Message {
	m := message(chat.RoleTool, text)
	m.ToolCallID = id
	return m
}

var clock = []llm.Tool{{Name: "get_time", Description: "Tells the time."}}

// sent returns the request as it arrives.
func sent(t *testing.T, req llm.Request) fakeanthropic.Request {
	t.Helper()
	server := fakeanthropic.Start(t, fakeanthropic.Config{})
	_, err := connect(t)(server.URL()).Complete(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, 1, server.Count())
	return server.Requests()[0]
}

// serve answers one request with a step and returns what the provider made of it.
func serve(t *testing.T, step fakeanthropic.Step, req llm.Request) (llm.Response, error) {
	t.Helper()
	server := fakeanthropic.Start(t, fakeanthropic.Config{})
	server.Enqueue(step)
	got, err := connect(t)(server.URL()).Complete(t.Context(), req, nil)
	require.Empty(t, server.Refused())
	return got, err
}

func typed(t *testing.T, err error) *llm.Error {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	require.True(t, ok, "%v is no *llm.Error", err)
	return e
}
