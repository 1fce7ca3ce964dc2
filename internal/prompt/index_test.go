package prompt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/prompt"
)

func TestWithIndex_StandsBehindTheAgentsPrompt(t *testing.T) {
	rows := []chat.Message{
		{Role: chat.RoleSystem, Content: "you are PicoBot", Marker: chat.MarkerAgentPrompt},
		{Role: chat.RoleUser, Content: "hi"},
	}
	out := prompt.WithIndex(rows, "skills: a")
	require.Len(t, out, 2)
	require.Equal(t, "you are PicoBot\n\nskills: a", out[0].Content)
	require.Equal(t, rows[1], out[1])
	require.Equal(t, "you are PicoBot", rows[0].Content, "the rows are untouched")
	require.Equal(t, rows, prompt.WithIndex(rows, ""))

	out = prompt.WithIndex(rows[1:], "skills: a")
	require.Equal(t, []chat.Message{{Role: chat.RoleSystem, Content: "skills: a"}, rows[1]}, out)
	require.Len(t, prompt.WithIndex(nil, "skills: a"), 1)
}
