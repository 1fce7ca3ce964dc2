package activities_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/tools/proc"
	"picobot/store"
)

// claimed returns a turn whose only call was claimed by an attempt that died and
// left a process running.
func (f *fixture) claimed() (turnID string, left *leftover) {
	f.Helper()
	turnID = f.step(act("a", "x"))
	_, fresh, err := f.record.ClaimTool(f.Context(), store.ToolRun{TurnID: turnID, Step: 1, CallID: "a", Name: "act", Effect: "outside"})
	require.NoError(f, err)
	require.True(f, fresh)
	left = &leftover{TB: f, exited: make(chan struct{})}
	cmd := exec.Command("sleep", "600")
	cmd.Env = append(os.Environ(), proc.MarkName+"="+turnID+".1.0")
	require.NoError(f, cmd.Start())
	left.pid = cmd.Process.Pid
	go func() {
		_ = cmd.Wait()
		close(left.exited)
	}()
	f.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-left.exited
	})
	// A program is started before its environment is there to be read.
	require.Eventually(f, left.running, 10*time.Second, time.Millisecond)
	return turnID, left
}

type leftover struct {
	testing.TB
	pid    int
	exited chan struct{}
}

// running reports whether it can still do anything: a dead process has no environment.
func (l *leftover) running() bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", l.pid))
	return err == nil && len(environ) > 0
}

func (l *leftover) requireKilled() {
	l.Helper()
	select {
	case <-l.exited:
	case <-time.After(5 * time.Second):
		l.Fatal("what the dead attempt left running still runs")
	}
}

func TestRunTool_DeadAttemptLeftAProcess_ItIsKilledBeforeTheResultIsWritten(t *testing.T) {
	f := newFixture(t)
	turn, left := f.claimed()
	aliveWhenWritten := false
	f.onChange = func() { aliveWhenWritten = aliveWhenWritten || left.running() }
	r, err := f.tool(turn, 1, 0)
	require.NoError(t, err)
	require.Equal(t, chat.ToolUnknown, r.Status)
	left.requireKilled()
	require.False(t, aliveWhenWritten)
}

func TestFinishTurn_DeadAttemptLeftAProcess_ItIsKilledBeforeTheTurnEnds(t *testing.T) {
	f := newFixture(t)
	turn, left := f.claimed()
	aliveWhenWritten := false
	f.onChange = func() { aliveWhenWritten = aliveWhenWritten || left.running() }
	_, err := do[flow.FinishResult](f, f.env, flow.FinishTurn, flow.FinishInput{TurnID: turn, Status: chat.TurnCancelled})
	require.NoError(t, err)
	left.requireKilled()
	require.False(t, aliveWhenWritten)
	require.Contains(t, f.last(turn), "Unknown outcome:")
}
