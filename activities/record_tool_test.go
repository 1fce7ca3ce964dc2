package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/store"
)

func sendCall(id, content string) chat.ToolCall {
	return chat.NewToolCall(id, "session_send", `{"content":"`+content+`"}`)
}

func TestRunTool_RecordTool_RunTwice_SendsOnceAndNamesTheRowBothTimes(t *testing.T) {
	f := newFixture(t)
	turn := f.step(sendCall("a", "on my way"), sendCall("b", "there"))
	first, err := f.tool(turn, 1, 0)
	require.NoError(t, err)
	require.Equal(t, chat.ToolCompleted, first.Status)
	require.Len(t, first.Outbound, 1, "the workflow delivers it")
	again, err := f.tool(turn, 1, 0)
	require.NoError(t, err)
	require.Equal(t, first, again, "an attempt after a crash hands the same row over")
	pending, err := f.record.PendingOutbound(t.Context(), "cli", "")
	require.NoError(t, err)
	require.Len(t, pending, 1)
	require.Equal(t, "on my way", pending[0].Content)
}

// The result is there with the effect or not at all: a failed write loses neither.
func TestRunTool_RecordTool_RecordCannotBeWritten_IsDoneOnceItCan(t *testing.T) {
	f := newFixture(t)
	turn := f.step(sendCall("a", "on my way"))
	unlock := f.lockRecord()
	retried := make(chan struct{}, 100)
	f.onRetry = func() {
		select {
		case retried <- struct{}{}:
		default:
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := f.tool(turn, 1, 0)
		done <- err
	}()
	<-retried
	unlock()
	require.NoError(t, <-done)
	pending, err := f.record.PendingOutbound(t.Context(), "cli", "")
	require.NoError(t, err)
	require.Len(t, pending, 1)
	require.Equal(t, chat.RoleTool, f.rows(turn)[3].Role)
}

func TestRunTool_RecordTool_TurnIsToBeCancelled_ChangesNothing(t *testing.T) {
	f := newFixture(t)
	turn := f.step(sendCall("a", "on my way"))
	_, err := f.record.Cancel(t.Context(), f.turn(turn).SessionID, turn)
	require.NoError(t, err)
	_, err = f.tool(turn, 1, 0)
	require.Error(t, err)
	pending, err := f.record.PendingOutbound(t.Context(), "cli", "")
	require.NoError(t, err)
	require.Empty(t, pending)
}

// A claim of a build in which the tool acted outside says that it may have acted.
func TestRunTool_ToolThatChangedItsClass_ClaimIsUnknown(t *testing.T) {
	f := newFixture(t)
	turn := f.step(sendCall("a", "on my way"))
	_, _, err := f.record.ClaimTool(t.Context(), store.ToolRun{TurnID: turn, Step: 1, CallID: "a", Name: "session_send", Effect: "outside"})
	require.NoError(t, err)
	r, err := f.tool(turn, 1, 0)
	require.NoError(t, err)
	require.Equal(t, chat.ToolUnknown, r.Status)
}
