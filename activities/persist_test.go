package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
)

// lockedForOneWrite locks the record until a write has failed for good, with all the
// tries the store makes of it, and the next one is under way.
func (f *fixture) lockedForOneWrite() {
	f.Helper()
	unlock := f.lockRecord()
	writes := 0
	f.onRetry = func() { // the store tries each write twice here, and says so once
		if writes++; writes == 2 {
			unlock()
		}
	}
}

func TestCallModel_RecordCannotBeWritten_AnswerOutlivesItAndNobodyIsAskedAgain(t *testing.T) {
	t.Parallel() // it waits for SQLite's own timeout
	f := newFixture(t)
	b := f.begin("cli", "hello")
	f.model.reply = func(ctx context.Context, req llm.Request, n int, d func(llm.Delta)) (llm.Response, error) {
		f.lockedForOneWrite()
		return says("worth keeping")(ctx, req, n, d)
	}
	_, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	require.Equal(t, 1, f.model.count())
	require.Equal(t, "worth keeping", f.last(b.TurnID))
	require.Equal(t, chat.TurnCompleted, f.turn(b.TurnID).Status)
}

func TestRunTool_RecordCannotBeWritten_ResultOutlivesItAndNothingActsAgain(t *testing.T) {
	t.Parallel() // it waits for SQLite's own timeout
	f := newFixture(t)
	turn := f.step(act("a", "slow"))
	go func() {
		<-f.acted
		f.lockedForOneWrite()
		close(f.release)
	}()
	r, err := f.tool(turn, 1, 0)
	require.NoError(t, err)
	require.Equal(t, chat.ToolCompleted, r.Status)
	require.Empty(t, f.acted)
	require.Contains(t, f.last(turn), "done slow")
}
