package activities_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/store"
)

func TestBegin_PromptUnreadable_OnlySessionsWithoutOneFail(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(f.dir, "AGENT.md")
	require.NoError(t, os.WriteFile(path, []byte("be good"), 0o600))
	b := f.begin("cli", "hello")
	require.Empty(t, b.Failure.Code)
	require.NoError(t, os.WriteFile(path, make([]byte, 300<<10), 0o600))

	resumed := f.beginAgain(f.turn(b.TurnID).SessionID)
	require.Equal(t, b.TurnID, resumed.TurnID)
	require.Empty(t, resumed.Failure.Code, "a turn that has begun goes on")
	_, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	require.Empty(t, f.begin("cli", "again").Failure.Code, "the session has its prompt")
	require.Equal(t, flow.CodePrompt, f.begin("feishu", "hello").Failure.Code, "without its prompt the agent is another one")
}

func TestBegin_UnsentReplies_AreGivenToTheWorkflowExceptATerminals(t *testing.T) {
	f := newFixture(t)
	b := f.begin("feishu", "hello")
	r, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	require.Len(t, r.Outbound, 1)
	session := f.turn(b.TurnID).SessionID
	idle := f.beginAgain(session)
	require.Empty(t, idle.TurnID)
	require.Equal(t, r.Outbound, idle.Outbound, "also when no turn waits")
	next := f.begin("feishu", "and now")
	require.NotEmpty(t, next.TurnID)
	require.Equal(t, r.Outbound, next.Outbound)
	_, err = f.env.ExecuteActivity(flow.Deliver, r.Outbound[0])
	require.NoError(t, err)
	require.Empty(t, f.beginAgain(session).Outbound, "a sent one is done")

	terminal := f.turn(f.begin("cli", "hello").TurnID)
	_, err = f.record.Enqueue(t.Context(), store.Outbound{Channel: chat.ChannelCLI, ChatID: "c", SessionID: terminal.SessionID, Origin: "x", Content: "hi"})
	require.NoError(t, err)
	require.Empty(t, f.beginAgain(terminal.SessionID).Outbound, "it waits until somebody connects")
}
