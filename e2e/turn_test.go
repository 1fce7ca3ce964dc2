package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/testkit/harness"
	"picobot/store"
)

// One stack for the tests that leave it as they found it: a start costs seconds.
func TestTurns(t *testing.T) {
	s := newStack(t)
	t.Run("ToolCall_IsAnsweredThroughTheRealLoop", func(t *testing.T) {
		turn := s.await(s.say("calc", "calc 12*7"))
		require.Equal(t, chat.TurnCompleted, turn.Status, turn.Error)
		require.Equal(t, "calculator: 84", s.reply(turn))
		require.Equal(t, 2, turn.Steps)
		rows := s.rows(turn)
		require.Len(t, rows, 4)
		require.Equal(t, rows[1].ToolCalls[0].ID, rows[2].ToolCallID)
	})
	t.Run("History_CarriesIdsNeverContents", func(t *testing.T) {
		secret := "do not put me into history " + strings.Repeat("x", 5000)
		turn := s.await(s.say("history", secret))
		s.idle(turn.SessionID)
		h := s.history(turn.SessionID, "")
		size := 0
		for _, e := range h.Events {
			size += e.Size()
			require.NotContains(t, e.String(), "do not put me")
		}
		t.Logf("%d events, %d bytes", len(h.Events), size)
	})
	t.Run("Messages_OfOneSession_AreAnsweredInOrderOneAtATime", func(t *testing.T) {
		var turns []store.Turn
		for _, m := range []string{"one", "two", "three", "four"} {
			turns = append(turns, s.say("order", m))
		}
		var seq int64
		for i, turn := range turns {
			turns[i] = s.await(turn)
			rows := s.rows(turn)
			require.Greater(t, rows[0].Seq, seq)
			seq = rows[len(rows)-1].Seq
		}
		require.Equal(t, "echo: four", s.reply(turns[3]))
	})
	t.Run("ParallelTools_RowsAreInCallOrder", func(t *testing.T) {
		turn := s.await(s.say("parallel", "tools run sleep 0.3 && echo a; calc 1+1; run echo b"))
		require.Equal(t, chat.TurnCompleted, turn.Status)
		var results []string
		for _, r := range s.rows(turn) {
			if r.Role == chat.RoleTool {
				results = append(results, strings.TrimSpace(r.Content))
			}
		}
		require.Equal(t, []string{"a", "2", "b"}, results)
	})
	t.Run("LongTurn_ContinuesAsNewAndLosesNothing", func(t *testing.T) {
		turn := s.accept("long", "loop 12")
		// The first run is started by hand with a small bound; the runs after it inherit it.
		first, err := s.client.ExecuteWorkflow(t.Context(), startOptions(turn.SessionID), flow.SessionWorkflow,
			flow.SessionInput{SessionID: turn.SessionID, Queues: flow.Queues{Base: "picobot"}, MaxSteps: 4})
		require.NoError(t, err)
		done := s.await(turn)
		require.Equal(t, chat.TurnCompleted, done.Status, done.Error)
		require.Equal(t, 13, done.Steps)
		require.NotEqual(t, first.GetRunID(), done.RunID)
	})
	t.Run("Cancel_StopsARunningToolAndTheNextMessageIsAnswered", func(t *testing.T) {
		turn := s.say("cancel", "run echo $$ > begun && mv begun pid && exec sleep 600")
		next := s.say("cancel", "hello")
		var pid int
		s.eventually(time.Minute, "the tool runs", func() bool {
			text, err := os.ReadFile(filepath.Join(s.ws.Dir(), "pid"))
			if err != nil {
				return false
			}
			_, err = fmt.Sscan(string(text), &pid)
			return err == nil
		})
		c, err := s.record.Cancel(t.Context(), turn.SessionID, "")
		require.NoError(t, err)
		require.True(t, c.Running)
		s.dispatch.CancelTurn(turn.SessionID, turn.ID)
		require.Equal(t, chat.TurnCancelled, s.await(turn).Status)
		require.Equal(t, chat.TurnCompleted, s.await(next).Status)
		s.eventually(time.Minute, "the command is dead", func() bool { return !harness.Alive(pid) })
	})
	t.Run("CancelledInTemporalsUI_IsAStop", func(t *testing.T) {
		turn := s.say("uicancel", "slow 300")
		next := s.say("uicancel", "hello")
		s.eventually(time.Minute, "it runs", func() bool { return s.turn(turn.ID).Status == chat.TurnRunning })
		require.NoError(t, s.client.CancelWorkflow(t.Context(), flow.SessionWorkflowID(turn.SessionID), ""))
		require.Equal(t, chat.TurnCancelled, s.await(turn).Status)
		require.Equal(t, chat.TurnCompleted, s.await(next).Status)
	})
	t.Run("TerminatedInTemporalsUI_GoesOn", func(t *testing.T) {
		turn := s.say("terminate", "slow 5")
		s.eventually(time.Minute, "it runs", func() bool { return s.turn(turn.ID).Status == chat.TurnRunning })
		require.NoError(t, s.client.TerminateWorkflow(t.Context(), flow.SessionWorkflowID(turn.SessionID), "", "test"))
		done := s.await(turn)
		require.Equal(t, chat.TurnCompleted, done.Status)
		require.Len(t, s.rows(done), 2, "one user row, one answer")
	})
	t.Run("LostNudge_IsSweptUp", func(t *testing.T) {
		turn := s.accept("lost", "hello") // never nudged
		require.Equal(t, chat.TurnCompleted, s.await(turn).Status)
	})
	t.Run("ChatIdOfAnyLetters_IsAnswered", func(t *testing.T) {
		turn := s.await(s.say("我 é\U0001F600", "hello"))
		require.Equal(t, chat.TurnCompleted, turn.Status)
	})
	t.Run("ModelFailsForGood_EndsWithASentence", func(t *testing.T) {
		turn := s.await(s.say("fail", "fail 401"))
		require.Equal(t, chat.TurnFailed, turn.Status)
		rows := s.rows(turn)
		require.Equal(t, chat.MarkerError, rows[len(rows)-1].Marker)
		require.NotEmpty(t, turn.Error)
		require.Equal(t, chat.TurnCompleted, s.await(s.say("fail", "still there?")).Status)
	})
}

func startOptions(sessionID string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: flow.SessionWorkflowID(sessionID), TaskQueue: "picobot"}
}

func TestRestart_TurnInFlight_GoesOnFromTheRecord(t *testing.T) {
	s := newStack(t)
	turn := s.say("a", "loop 400")
	s.eventually(time.Minute, "it is under way", func() bool { return s.turn(turn.ID).Steps > 3 })
	s.stopServing()
	require.Equal(t, chat.TurnRunning, s.turn(turn.ID).Status)
	s.serve()
	done := s.await(turn)
	require.Equal(t, chat.TurnCompleted, done.Status, done.Error)
	require.Equal(t, 401, done.Steps)
}

func TestTemporalFilesDeletedMidTurn_TurnGoesOn(t *testing.T) {
	s := newStack(t)
	turn := s.say("a", "slow 2")
	waiting := s.say("a", "hello")
	s.eventually(time.Minute, "it is under way", func() bool { return s.turn(turn.ID).Status == chat.TurnRunning })
	s.stop()
	require.NoError(t, os.RemoveAll(filepath.Join(s.dir, "temporal")))
	s.start()
	require.Equal(t, chat.TurnCompleted, s.await(turn).Status)
	require.Equal(t, chat.TurnCompleted, s.await(waiting).Status)
}

func TestOlderTemporalFilesPutBack_NothingIsDoneTwice(t *testing.T) {
	s := newStack(t)
	turn := s.say("a", "loop 200")
	s.eventually(time.Minute, "it is under way", func() bool { return s.turn(turn.ID).Steps > 2 })
	s.stop()
	old := t.TempDir()
	require.NoError(t, os.CopyFS(old, os.DirFS(filepath.Join(s.dir, "temporal"))))
	s.start()
	require.Equal(t, chat.TurnCompleted, s.await(turn).Status)
	second := s.await(s.say("a", "run echo x >> log"))
	require.Equal(t, chat.TurnCompleted, second.Status)
	s.stop()
	require.NoError(t, os.RemoveAll(filepath.Join(s.dir, "temporal")))
	require.NoError(t, os.CopyFS(filepath.Join(s.dir, "temporal"), os.DirFS(old)))
	before := len(s.rows(turn)) + len(s.rows(second))
	s.start()
	require.Equal(t, chat.TurnCompleted, s.await(s.say("a", "hello")).Status)
	require.Equal(t, before, len(s.rows(turn))+len(s.rows(second)))
	log, err := os.ReadFile(filepath.Join(s.ws.Dir(), "log"))
	require.NoError(t, err)
	require.Equal(t, "x\n", string(log))
}

func TestTemporalAway_MessagesAreKeptAndAnsweredInOrder(t *testing.T) {
	s := newStack(t)
	require.Equal(t, chat.TurnCompleted, s.await(s.say("a", "hello")).Status)
	s.stop()
	one, two := s.accept("a", "one"), s.accept("a", "two")
	s.start()
	require.Equal(t, chat.TurnCompleted, s.await(one).Status)
	require.Equal(t, chat.TurnCompleted, s.await(two).Status)
	require.Less(t, s.rows(one)[0].Seq, s.rows(two)[0].Seq)
}

// Recovery needs no timeout to pass: the dead process's runs are replaced at once.
func TestRecover_OpenRunsOfADeadProcess_AreReplaced(t *testing.T) {
	s := newStack(t)
	turn := s.say("a", "slow 5")
	s.eventually(time.Minute, "it is under way", func() bool { return s.turn(turn.ID).Status == chat.TurnRunning })
	first := s.turn(turn.ID).RunID
	s.stopServing()
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, s.status(turn.SessionID))
	s.serve()
	require.NotEqual(t, first, s.await(turn).RunID)
	s.idle(turn.SessionID)
	d, err := s.client.DescribeWorkflowExecution(context.Background(), flow.SessionWorkflowID(turn.SessionID), first)
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, d.GetWorkflowExecutionInfo().GetStatus())
}

// A process that leaves right after an answer closes the run first: nothing for the
// next start to end, and Temporal's UI shows what is true.
func TestSettle_AnsweredRuns_CloseBeforeTheWorkerStops(t *testing.T) {
	const most = time.Second // what Settle may take
	s := newStack(t)
	slow := s.say("slow", "slow 600")
	s.eventually(time.Minute, "it runs", func() bool { return s.turn(slow.ID).Status == chat.TurnRunning })
	early := 0
	for range 5 {
		turn := s.await(s.say("quick", "hello"))
		start := time.Now()
		s.dispatch.Settle(t.Context())
		if time.Since(start) >= most {
			continue // a machine this busy gets no better
		}
		early++
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, s.status(turn.SessionID))
	}
	require.Positive(t, early, "a run with work left was waited for")
}
