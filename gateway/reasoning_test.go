package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/store"
)

func TestRowFrame_SignedReasoning_ShowsOnlyWhatPeopleCanRead(t *testing.T) {
	row := store.Row{Message: chat.Message{Role: chat.RoleAssistant, Content: "4", ReasoningContent: chat.Reasoning{
		By: "anthropic claude-sonnet-5-5", Blocks: []chat.ReasoningBlock{{Text: "two and two", Signature: "c2lnbmVk"}, {Redacted: "aGlkZGVu"}},
	}.Stored()}}
	require.Equal(t, "two and two", RowFrame(row).ReasoningContent)
	row.ReasoningContent = "only text"
	require.Equal(t, "only text", RowFrame(row).ReasoningContent)
}
