package openai_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
)

// A model can call anything. A name that endpoints refuse would be refused with every
// later request of the session.
func TestToolNamesOfEarlierCallsAreOnesThatEndpointsTake(t *testing.T) {
	for name, want := range map[string]string{
		"bash":                    "bash",
		"no such tool":            "no_such_tool",
		"functions.bash":          "functions_bash",
		"":                        "unnamed",
		"读":                       "_",
		strings.Repeat("a", 1000): strings.Repeat("a", 64),
	} {
		req := sent(t, llm.Request{Model: llm.Model{ID: "m", Stream: true}, Messages: []llm.Message{
			{Message: chat.Message{Role: chat.RoleUser, Content: "hi"}},
			{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{chat.NewToolCall("c1", name, "{}")}}},
			{Message: chat.Message{Role: chat.RoleTool, ToolCallID: "c1", Content: "Error: there is no such tool"}},
		}})
		require.Equal(t, want, req.Messages[1].ToolCalls[0].Name)
	}
}
