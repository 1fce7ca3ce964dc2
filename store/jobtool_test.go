package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/schedule"
	"picobot/store"
)

// working begins a run of a job by hand and its turn, whose first step calls tools.
func (j jobs) working(id string, calls ...string) store.Turn {
	j.Helper()
	run, err := j.RequestJobRun(j.Context(), id)
	require.NoError(j, err)
	run, ok, err := j.BeginJobRun(j.Context(), store.BeginJob{JobID: id, RunID: run.ID, WorkflowID: "w"})
	require.NoError(j, err)
	require.True(j, ok)
	p := begin(j.T, j.Store, run.SessionID)
	require.Equal(j, run.TurnID, p.Turn.ID)
	answer(j.T, j.Store, run.TurnID, 1, call(calls...))
	return p.Turn
}

// said lists what a dialog has but for its system rows, as role, marker and content.
func (j jobs) said(sessionID string) (out []string) {
	j.Helper()
	for _, r := range rows(j.T, j.Store, sessionID) {
		if r.Role != chat.RoleSystem {
			out = append(out, string(r.Role)+" "+string(r.Marker)+" "+r.Content)
		}
	}
	return out
}

func TestSend_WithoutAChat_InASilentJobsRun_GoesToItsTargetAndIsARowOfItsNextTurn(t *testing.T) {
	j := newJobs(t)
	home := accept(t, j.Store, message("1", "hi"))
	begin(t, j.Store, home.SessionID)
	answer(t, j.Store, home.ID, 1, say("hello"))
	j.put(aJob("a", schedule.SilentAgentTask, every(3600)))

	turn := j.working("a", "w", "x", "y", "z")
	require.Contains(t, turn.SessionID, "cli:scheduler/a:")
	for i, c := range []struct {
		channel, chat, content string
		allowed                bool
	}{{"", "c1", "first news", true}, {"cli", "", "second news", true}, {"feishu", "", "no chat of the job's", false}, {"", "c2", "nobody's chat", false}} {
		got, err := j.RunRecordTool(t.Context(), toolRun(turn.ID, 1, i, string(rune('w'+i))), sends(c.channel, c.chat, c.content))
		require.NoError(t, err)
		require.Equal(t, c.allowed, got.Status == chat.ToolCompleted, "%v: %s", c, got.Result)
	}
	answer(t, j.Store, turn.ID, 2, say("done"))

	pending, err := j.PendingOutbound(t.Context(), "cli", "c1")
	require.NoError(t, err)
	require.Len(t, pending, 2, "the last words of a silent job go to nobody")
	for i, want := range []string{"first news", "second news"} {
		require.Equal(t, want, pending[i].Content)
		require.Equal(t, turn.ID, pending[i].TurnID)
	}
	require.Equal(t, 2, query[int](t, j.path, `SELECT count(*) FROM outbound_messages`))

	require.NotContains(t, j.said(j.working("a", "x").SessionID), "assistant outbound first news", "a job's own dialog is not the chat's")
	for _, id := range []string{"2", "3"} {
		next := accept(t, j.Store, message(id, "and?"))
		begin(t, j.Store, next.SessionID)
		answer(t, j.Store, next.ID, 1, say("well"))
	}
	require.Equal(t, []string{"user  hi", "assistant  hello", "assistant outbound first news", "assistant outbound second news",
		"user  and?", "assistant  well", "user  and?", "assistant  well"}, j.said(home.SessionID))
}

// The chat's own dialog has the call among its rows; another dialog's does not.
func TestSend_WithoutAChat_InATasksRun_IsNotedUnlessTheRunIsOfTheChatsDialog(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*schedule.Job)
		noted  bool
	}{
		"in the chat":       {func(*schedule.Job) {}, false},
		"in a fresh dialog": {func(j *schedule.Job) { j.Payload.FreshSession = true }, true},
		"in another chat":   {func(j *schedule.Job) { j.Target.SessionChatID = "workshop" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJobs(t)
			home := accept(t, j.Store, message("1", "hi"))
			begin(t, j.Store, home.SessionID)
			answer(t, j.Store, home.ID, 1, say("hello"))
			job := aJob("a", schedule.AgentTask, every(3600))
			c.change(&job)
			j.put(job)

			turn := j.working("a", "x")
			got, err := j.RunRecordTool(t.Context(), toolRun(turn.ID, 1, 0, "x"), sends("", "", "news"))
			require.NoError(t, err)
			require.Equal(t, chat.ToolCompleted, got.Status, got.Result)
			ids, err := j.OutboundOf(t.Context(), got.ID)
			require.NoError(t, err)
			require.Len(t, ids, 1)
			o, err := j.Outbound(t.Context(), ids[0])
			require.NoError(t, err)
			require.Equal(t, []string{"cli", "c1", "news"}, []string{o.Channel, o.ChatID, o.Content})
			answer(t, j.Store, turn.ID, 2, say("done"))

			next := accept(t, j.Store, message("2", "and?"))
			begin(t, j.Store, next.SessionID)
			require.Equal(t, home.SessionID, next.SessionID)
			if c.noted {
				require.Contains(t, j.said(next.SessionID), "assistant outbound news")
			} else {
				require.NotContains(t, j.said(next.SessionID), "assistant outbound news")
			}
		})
	}
}

func TestToolTx_PutJob_AHundredInAChat_TheNextIsRefusedUntilOneIsGone(t *testing.T) {
	j := newJobs(t)
	j.put(aJob("operators", schedule.OutboundMessage, every(60)))
	n := 0
	in := func(chatID string, do func(*store.ToolTx) error) (got error) {
		t.Helper()
		n++
		m := message(fmt.Sprint("m", n), "hi")
		m.ChatID = chatID
		turn := accept(t, j.Store, m)
		begin(t, j.Store, turn.SessionID)
		answer(t, j.Store, turn.ID, 1, call("c"))
		_, err := j.RunRecordTool(t.Context(), toolRun(turn.ID, 1, 0, "c"), func(tx *store.ToolTx) (chat.ToolStatus, string, error) {
			if got = do(tx); got != nil {
				return chat.ToolFailed, "Error", got
			}
			return chat.ToolCompleted, "ok", nil
		})
		require.NoError(t, err)
		answer(t, j.Store, turn.ID, 2, say("done"))
		return got
	}
	puts := func(job schedule.Job) func(*store.ToolTx) error {
		return func(tx *store.ToolTx) error {
			_, _, err := tx.PutJob(job)
			return err
		}
	}
	require.NoError(t, in("c1", func(tx *store.ToolTx) error {
		for i := range 100 {
			spec := every(3600)
			if i == 7 {
				spec = once(10)
			}
			if err := puts(aJob(fmt.Sprint("job", i), schedule.OutboundMessage, spec))(tx); err != nil {
				return err
			}
		}
		return nil
	}), "an operator's do not count")
	more := aJob("one.more", schedule.OutboundMessage, every(3600))
	require.ErrorContains(t, in("c1", puts(more)), "this chat has 100 jobs, the most there may be: delete some first")
	_, err := j.Job(t.Context(), more.ID)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.NoError(t, in("c1", puts(aJob("job3", schedule.OutboundMessage, every(1800)))), "one of them is changed")
	require.NoError(t, in("c2", puts(aJob("elsewhere", schedule.OutboundMessage, every(3600)))), "another chat has its own hundred")

	require.NoError(t, in("c1", func(tx *store.ToolTx) error { return tx.DeleteJob("job0") }))
	require.NoError(t, in("c1", puts(more)))
	another := aJob("and.another", schedule.OutboundMessage, every(3600))
	require.Error(t, in("c1", puts(another)))
	slot := j.job("job7").NextRunAt
	j.clock.move(11 * time.Second)
	_, ok := j.begin("job7", slot)
	require.True(t, ok)
	require.Equal(t, store.JobCompleted, j.job("job7").State)
	require.NoError(t, in("c1", puts(another)), "what is over does not count")
}
