package store_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
	"picobot/internal/schedule"
	"picobot/internal/text"
	"picobot/store"
)

// jobs is a record with a clock and a job in it.
type jobs struct {
	*testing.T
	*store.Store
	clock *clock
	path  string
}

func newJobs(t *testing.T) jobs {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, c := openAt(t, path)
	return jobs{t, s, c, path}
}

func aJob(id string, kind schedule.Kind, spec schedule.Spec) schedule.Job {
	j := schedule.Job{ID: id, Kind: kind, Schedule: spec, Enabled: true, Target: schedule.Target{Channel: "cli", ChatID: "c1"}}
	if kind == schedule.OutboundMessage {
		j.Payload.Content = "hello"
	} else {
		j.Payload.Prompt = "do it"
	}
	return j
}

func every(seconds int) schedule.Spec {
	return schedule.Spec{Type: schedule.Interval, Seconds: seconds, TimeZone: "UTC"}
}

func once(seconds int) schedule.Spec {
	return schedule.Spec{Type: schedule.Delay, Seconds: seconds, TimeZone: "UTC"}
}

func (j jobs) put(job schedule.Job) store.Job {
	j.Helper()
	out, _, err := j.PutJob(j.Context(), store.PutJob{Job: job, Source: store.JobAPI})
	require.NoError(j, err)
	return out
}

func (j jobs) job(id string) store.Job {
	j.Helper()
	out, err := j.Job(j.Context(), id)
	require.NoError(j, err)
	return out
}

// begin is what Temporal does at a slot.
func (j jobs) begin(id string, slot int64) (store.JobRun, bool) {
	j.Helper()
	run, ok, err := j.BeginJobRun(j.Context(), store.BeginJob{JobID: id, Slot: slot, WorkflowID: "w", TemporalID: "r"})
	require.NoError(j, err)
	return run, ok
}

// statuses lists a job's runs, the oldest first, as trigger:status.
func (j jobs) statuses(id string) (out []string) {
	j.Helper()
	runs, err := j.JobRuns(j.Context(), id, 0, "", 10_000)
	require.NoError(j, err)
	for i := len(runs) - 1; i >= 0; i-- {
		out = append(out, runs[i].Trigger+":"+runs[i].Status)
	}
	return out
}

func (j jobs) account(id string) *store.JobRun {
	j.Helper()
	run, err := j.AccountJob(j.Context(), id, j.clock.now())
	require.NoError(j, err)
	return run
}

func TestPutJob_Again_IsTheSameJobAndAnIntervalKeepsItsAnchor(t *testing.T) {
	j := newJobs(t)
	first := j.put(aJob("a", schedule.OutboundMessage, every(60)))
	require.Equal(t, store.JobActive, first.State)
	require.Equal(t, schedule.Skip, first.MisfirePolicy)
	j.clock.move(90 * time.Second)
	again := j.put(aJob("a", schedule.OutboundMessage, every(60)))
	require.Equal(t, first.AnchoredAt, again.AnchoredAt)
	require.Equal(t, first.NextRunAt, again.NextRunAt, "its slot is still to be accounted for")
	require.Equal(t, first.CreatedAt, again.CreatedAt)
	changed := j.put(aJob("a", schedule.OutboundMessage, every(61)))
	require.Greater(t, changed.AnchoredAt, first.AnchoredAt, "another schedule counts anew")
	all, err := j.Jobs(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
}

func TestJobsVersion_AJobInPlaceOfTheNewest_IsAChange(t *testing.T) {
	j := newJobs(t)
	j.put(aJob("old", schedule.OutboundMessage, every(60)))
	for range 3 {
		j.put(aJob("a", schedule.OutboundMessage, every(60)))
		before, err := j.JobsVersion(t.Context())
		require.NoError(t, err)
		j.clock.move(time.Millisecond)
		require.NoError(t, j.DeleteJob(t.Context(), "a"))
		j.put(aJob("a", schedule.OutboundMessage, every(30)))
		after, err := j.JobsVersion(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, before, after)
		require.NoError(t, j.DeleteJob(t.Context(), "a"))
	}
}

func TestPutJob_OfTheConfiguration_UnchangedStaysPausedAndGoneIsDeleted(t *testing.T) {
	j := newJobs(t)
	take := func(jobs ...store.PutJob) {
		require.NoError(t, j.ReplaceOwned(t.Context(), store.JobConfig, jobs))
	}
	one := store.PutJob{Job: aJob("a", schedule.OutboundMessage, every(60)), Text: "1"}
	two := store.PutJob{Job: aJob("b", schedule.OutboundMessage, once(5)), Text: "1"}
	take(one, two)
	anchored := j.job("a").AnchoredAt
	_, err := j.PauseJob(t.Context(), "a")
	require.NoError(t, err)
	run, ok := j.begin("b", j.job("b").NextRunAt)
	require.False(t, ok, "it is not due yet: %v", run)
	j.clock.move(10 * time.Second)
	_, ok = j.begin("b", j.job("b").NextRunAt)
	require.True(t, ok)
	require.Equal(t, store.JobCompleted, j.job("b").State)

	j.clock.move(time.Hour)
	take(one, two) // a restart
	require.Equal(t, store.JobPaused, j.job("a").State)
	require.Equal(t, anchored, j.job("a").AnchoredAt)
	require.Equal(t, store.JobCompleted, j.job("b").State, "what was due once is not due again with each start")

	_, _, err = j.PutJob(t.Context(), store.PutJob{Job: one.Job, Source: store.JobAPI})
	require.ErrorIs(t, err, store.ErrJobOwned)
	require.ErrorIs(t, j.DeleteJob(t.Context(), "a"), store.ErrJobOwned)

	one.Text = "2"
	take(one)
	require.Equal(t, store.JobActive, j.job("a").State, "changed there, it is taken anew")
	_, err = j.Job(t.Context(), "b")
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestBeginJobRun_ASlot_RunsOnceWhoeverAsks(t *testing.T) {
	j := newJobs(t)
	job := j.put(aJob("a", schedule.OutboundMessage, every(60)))
	slot := job.NextRunAt
	for _, no := range []int64{slot, slot + 1, slot - 60_000} {
		_, ok := j.begin("a", no)
		require.False(t, ok, "it is too early, or no slot")
	}
	j.clock.move(61 * time.Second)
	_, ok := j.begin("a", slot+1000)
	require.False(t, ok, "no slot of this schedule")
	run, ok := j.begin("a", slot)
	require.True(t, ok)
	require.Equal(t, store.RunCompleted, run.Status, "the message is in the outbox")
	_, ok = j.begin("a", slot)
	require.False(t, ok)
	require.Nil(t, j.account("a"))
	pending, err := j.PendingOutbound(t.Context(), "cli", "c1")
	require.NoError(t, err)
	require.Len(t, pending, 1)
	require.Equal(t, run.ID, pending[0].Origin)
	require.Equal(t, "a", pending[0].JobID)
	require.True(t, pending[0].Unnoted, "the model hears of it with the chat's next turn")
	require.Equal(t, slot+60_000, j.job("a").NextRunAt)
	require.Equal(t, store.RunCompleted, j.job("a").LastStatus)
}

// Temporal starts what it missed by a little, too, and may be faster than the reconciler.
func TestBeginJobRun_ASlotFromBeforeTheStart_IsMadeUpFor(t *testing.T) {
	j := newJobs(t)
	slot := j.put(aJob("a", schedule.OutboundMessage, every(60))).NextRunAt
	j.clock.move(125 * time.Second)
	for n, since := range []int64{slot + 1, slot + 60_000} {
		_, ok, err := j.BeginJobRun(t.Context(), store.BeginJob{JobID: "a", Slot: slot + int64(n)*60_000, Since: since, WorkflowID: "w"})
		require.NoError(t, err)
		require.Equal(t, n == 1, ok, "the first is past its grace")
	}
	require.Equal(t, []string{"schedule:missed", "schedule:completed"}, j.statuses("a"))

	job := aJob("b", schedule.OutboundMessage, once(10))
	slot = j.put(job).NextRunAt
	j.clock.move(12 * time.Second)
	_, ok, err := j.BeginJobRun(t.Context(), store.BeginJob{JobID: "b", Slot: slot, Since: slot + 1000, WorkflowID: "w"})
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"catch_up:completed"}, j.statuses("b"))
}

func TestBeginJobRun_PausedOrDeleted_DoesNothing(t *testing.T) {
	j := newJobs(t)
	slot := j.put(aJob("a", schedule.OutboundMessage, every(60))).NextRunAt
	_, err := j.PauseJob(t.Context(), "a")
	require.NoError(t, err)
	j.clock.move(61 * time.Second)
	_, ok := j.begin("a", slot)
	require.False(t, ok)
	resumed, err := j.ResumeJob(t.Context(), "a")
	require.NoError(t, err)
	require.Greater(t, resumed.NextRunAt, slot)
	_, ok = j.begin("a", slot)
	require.False(t, ok, "what came while it was paused is not made up for")
	require.NoError(t, j.DeleteJob(t.Context(), "a"))
	j.clock.move(61 * time.Second)
	_, ok = j.begin("a", resumed.NextRunAt)
	require.False(t, ok)
	require.Empty(t, j.statuses("a"))
}

// After an outage each slot is accounted for, as the job's policy says.
func TestAccountJob_AfterAnOutage_FollowsTheMisfirePolicy(t *testing.T) {
	for policy, want := range map[string][]string{
		schedule.Skip:    {"schedule:missed", "schedule:missed", "schedule:missed", "schedule:missed", "schedule:missed"},
		schedule.RunOnce: {"schedule:missed", "schedule:missed", "schedule:missed", "schedule:missed", "catch_up:completed"},
		schedule.RunAll:  {"catch_up:completed", "catch_up:completed", "catch_up:completed", "catch_up:completed", "catch_up:completed"},
	} {
		t.Run(policy, func(t *testing.T) {
			j := newJobs(t)
			job := aJob("a", schedule.OutboundMessage, every(60))
			job.MisfirePolicy = policy
			j.put(job)
			j.clock.move(5*time.Minute + 45*time.Second) // the last slot is 45 s old, half a period is 30
			for range 10 {
				run := j.account("a")
				if run == nil {
					break
				}
				_, ok, err := j.BeginJobRun(t.Context(), store.BeginJob{JobID: "a", RunID: run.ID, WorkflowID: "w"})
				require.NoError(t, err)
				require.True(t, ok)
			}
			require.Equal(t, want, j.statuses("a"))
			require.Greater(t, j.job("a").NextRunAt, j.clock.now().UnixMilli(), "all of them are accounted for")
		})
	}
}

func TestAccountJob_WithinTheGrace_StartsALateSlot(t *testing.T) {
	j := newJobs(t)
	job := aJob("a", schedule.OutboundMessage, every(60))
	job.MisfireGraceSeconds = 50
	j.put(job)
	j.clock.move(105 * time.Second)
	require.NotNil(t, j.account("a"))
	require.Equal(t, []string{"catch_up:running"}, j.statuses("a"))
}

func TestAccountJob_AReminderDueDuringARestart_StillComes(t *testing.T) {
	j := newJobs(t)
	j.put(aJob("a", schedule.OutboundMessage, once(10)))
	j.clock.move(24 * time.Hour)
	run := j.account("a")
	require.NotNil(t, run, "what is due once runs once, however late")
	_, ok, err := j.BeginJobRun(t.Context(), store.BeginJob{JobID: "a", RunID: run.ID})
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, store.JobCompleted, j.job("a").State)
	require.Zero(t, j.job("a").NextRunAt)
}

// The last slot runs however long ago it was, and the reason of a run is not that others
// are not listed.
func TestAccountJob_RunOnce_ALastSlotOfMonthsAgo_StillRuns(t *testing.T) {
	for name, spec := range map[string]schedule.Spec{
		"due once":      once(10),
		"an interval":   every(80 * 24 * 3600),
		"once a year":   {Type: schedule.CronType, Expression: "0 0 29 2 *", TimeZone: "UTC"},
		"twice a month": {Type: schedule.CronType, Expression: "0 0 1,2 * *", TimeZone: "UTC"},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJobs(t)
			job := aJob("a", schedule.OutboundMessage, spec)
			job.MisfirePolicy = schedule.RunOnce
			next := time.UnixMilli(j.put(job).NextRunAt)
			j.clock.move(next.Sub(j.clock.now()) + 70*24*time.Hour)
			run := j.account("a")
			require.NotNil(t, run)
			require.Empty(t, run.Error)
			require.Equal(t, store.TriggerCatchUp, run.Trigger)
		})
	}
}

func TestAccountJob_RunAll_RunsAHundredAtMostAndListsTheOthersAsMissed(t *testing.T) {
	j := newJobs(t)
	job := aJob("a", schedule.OutboundMessage, every(1))
	job.MisfirePolicy = schedule.RunAll
	j.put(job)
	j.clock.move(300 * time.Second)
	until := j.clock.now()
	ran := 0
	for {
		run, err := j.AccountJob(t.Context(), "a", until)
		require.NoError(t, err)
		if run == nil {
			break
		}
		_, _, err = j.BeginJobRun(t.Context(), store.BeginJob{JobID: "a", RunID: run.ID})
		require.NoError(t, err)
		ran++
	}
	require.Equal(t, 100, ran)
	require.Len(t, j.statuses("a"), 299, "the first slot is a second after the first whole second")
}

func TestAccountJob_AnOutageOfAYear_IsBounded(t *testing.T) {
	j := newJobs(t)
	j.put(aJob("a", schedule.OutboundMessage, every(60)))
	j.clock.move(365*24*time.Hour + 45*time.Second)
	require.Nil(t, j.account("a"))
	require.Len(t, j.statuses("a"), 1000, "the newest are listed")
	require.Nil(t, j.account("a"))
	require.Len(t, j.statuses("a"), 1000, "once")
}

func TestJob_NeverOverlapsItself_WhatComesMeanwhileIsSkipped(t *testing.T) {
	j := newJobs(t)
	job := j.put(aJob("a", schedule.AgentTask, every(60)))
	j.clock.move(61 * time.Second)
	run, ok := j.begin("a", job.NextRunAt)
	require.True(t, ok)
	_, err := j.RequestJobRun(t.Context(), "a")
	require.ErrorIs(t, err, store.ErrJobRunning)
	j.clock.move(60 * time.Second)
	_, ok = j.begin("a", job.NextRunAt+60_000)
	require.False(t, ok)
	j.clock.move(60 * time.Second) // this one Temporal did not even start
	require.Nil(t, j.account("a"))
	require.Equal(t, []string{"schedule:running", "schedule:skipped", "schedule:skipped"}, j.statuses("a"))
	finish(t, j.Store, run)
	require.Equal(t, []string{"schedule:completed", "schedule:skipped", "schedule:skipped"}, j.statuses("a"))
}

// After an outage the reconciler and Temporal find a job's slots at the same time. One that
// came before the run that is under way began did not come while it ran.
func TestBeginJobRun_ASlotFromBeforeTheRunBegan_RunsWhenThatHasEnded(t *testing.T) {
	j := newJobs(t)
	job := aJob("a", schedule.AgentTask, every(60))
	job.MisfirePolicy = schedule.RunAll
	first := j.put(job).NextRunAt
	j.clock.move(3*time.Minute + 5*time.Second)
	for want := range 3 {
		run := j.account("a")
		require.NotNil(t, run)
		require.Equal(t, first+int64(want)*60_000, run.ScheduledFor)
		begun, ok, err := j.BeginJobRun(t.Context(), store.BeginJob{JobID: "a", RunID: run.ID})
		require.NoError(t, err)
		require.True(t, ok)
		for n := want + 1; n < 3; n++ {
			_, ok = j.begin("a", first+int64(n)*60_000)
			require.False(t, ok, "the job never overlaps itself")
		}
		require.Nil(t, j.account("a"))
		j.clock.move(time.Second)
		finish(t, j.Store, begun)
		j.clock.move(time.Second)
	}
	require.Equal(t, []string{"catch_up:completed", "catch_up:completed", "catch_up:completed"}, j.statuses("a"))
}

// finish answers a run's turn.
func finish(t *testing.T, s *store.Store, run store.JobRun) {
	t.Helper()
	p, err := s.BeginTurn(t.Context(), store.Begin{SessionID: run.SessionID, WorkflowID: "w"})
	require.NoError(t, err)
	require.Equal(t, run.TurnID, p.Turn.ID)
	_, err = s.CommitAnswer(t.Context(), run.TurnID, 1, store.Answer{Message: chat.Message{Role: chat.RoleAssistant, Content: "done"}})
	require.NoError(t, err)
}

func TestJobRun_AgentTask_IsATurnOfTheChatAndItsReplyGoesToTheTarget(t *testing.T) {
	j := newJobs(t)
	job := aJob("a", schedule.AgentTask, every(60))
	job.Payload.SystemPrompt, job.Payload.Agent, job.Payload.SenderID = "be brief", "coder", "somebody"
	job.Payload.Metadata = []byte(`{"ticket":"42"}`)
	slot := j.put(job).NextRunAt
	j.clock.move(61 * time.Second)
	run, ok := j.begin("a", slot)
	require.True(t, ok)
	again, ok := j.begin("a", slot)
	require.True(t, ok, "begun again after a crash it goes on")
	require.Equal(t, run.TurnID, again.TurnID)
	finish(t, j.Store, run)
	require.Equal(t, "somebody|job/a/"+fmt.Sprint(slot)+`|{"ticket":"42"}`,
		query[string](t, j.path, `SELECT sender_id || '|' || external_id || '|' || metadata FROM inbound_messages`))
	require.Equal(t, "be brief", query[string](t, j.path, `SELECT content FROM messages WHERE marker = 'scheduled_system_prompt'`))
	require.Equal(t, "coder", query[string](t, j.path, `SELECT agent FROM turns`))
	pending, err := j.PendingOutbound(t.Context(), "cli", "c1")
	require.NoError(t, err)
	require.Len(t, pending, 1, "for clients of the chat that look elsewhere")
	require.Equal(t, "done", pending[0].Content)
	require.Equal(t, run.TurnID, pending[0].Origin)
	require.False(t, pending[0].Unnoted, "the chat's own dialog has it")

	slot = j.job("a").NextRunAt
	j.clock.move(61 * time.Second)
	run, _ = j.begin("a", slot)
	finish(t, j.Store, run)
	require.Equal(t, 1, query[int](t, j.path, `SELECT count(*) FROM messages WHERE marker = 'scheduled_system_prompt'`), "the same is not written again")
	require.Equal(t, 1, query[int](t, j.path, `SELECT count(*) FROM sessions`))
}

func TestJobRun_FreshSession_NeverBecomesTheChatsDialog(t *testing.T) {
	j := newJobs(t)
	home := accept(t, j.Store, message("1", "hi")).SessionID
	job := aJob("a", schedule.AgentTask, every(60))
	job.Payload.FreshSession = true
	j.put(job)
	seen := map[string]bool{home: true}
	for range 2 {
		slot := j.job("a").NextRunAt
		j.clock.move(61 * time.Second)
		run, ok := j.begin("a", slot)
		require.True(t, ok)
		require.False(t, seen[run.SessionID])
		seen[run.SessionID] = true
		finish(t, j.Store, run)
		sess, err := j.Session(t.Context(), run.SessionID)
		require.NoError(t, err)
		require.False(t, sess.Active)
		require.Equal(t, "c1", sess.ChatID)
	}
	sess, _, err := j.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "c1"})
	require.NoError(t, err)
	require.Equal(t, home, sess.ID)
	require.Equal(t, 2, query[int](t, j.path, `SELECT count(*) FROM outbound_messages WHERE unnoted = 1`), "the chat's dialog hears what its people read")
}

func TestDelete_TheOnlyOtherDialogIsAJobsOwn_TheChatGetsANewOne(t *testing.T) {
	j := newJobs(t)
	home := accept(t, j.Store, message("1", "hi")).SessionID
	job := aJob("a", schedule.AgentTask, every(60))
	job.Payload.FreshSession = true
	j.put(job)
	j.clock.move(61 * time.Second)
	run, ok := j.begin("a", j.job("a").NextRunAt)
	require.True(t, ok)
	finish(t, j.Store, run)

	var next store.Session
	commandRun(t, j.Store, message("d", "/delete"), "delete", func(tx *store.CommandTx) (store.CommandAnswer, error) {
		var err error
		next, _, err = tx.Delete(store.Finish{})
		return store.CommandAnswer{SessionID: next.ID}, err
	})
	require.NotContains(t, []string{home, run.SessionID}, next.ID)
	require.True(t, next.Active)
}

func TestJobRun_Silent_SaysNothingUnlessItFailsAndThenOnce(t *testing.T) {
	j := newJobs(t)
	j.put(aJob("a", schedule.SilentAgentTask, every(60)))
	slot := j.job("a").NextRunAt
	j.clock.move(61 * time.Second)
	run, _ := j.begin("a", slot)
	require.Contains(t, run.SessionID, "cli:scheduler/a:")
	finish(t, j.Store, run)
	require.Zero(t, query[int](t, j.path, `SELECT count(*) FROM outbound_messages`))

	slot = j.job("a").NextRunAt
	j.clock.move(61 * time.Second)
	run, _ = j.begin("a", slot)
	_, err := j.BeginTurn(t.Context(), store.Begin{SessionID: run.SessionID})
	require.NoError(t, err)
	_, err = j.BeginProgress(t.Context(), run.TurnID)
	require.ErrorIs(t, err, store.ErrTurnEnded, "nor is it seen at work")
	for range 2 { // an activity runs twice
		_, err = j.FinishTurn(t.Context(), store.Finish{TurnID: run.TurnID, Status: chat.TurnFailed, Text: "no model", Deliver: true})
		require.NoError(t, err)
	}
	pending, err := j.PendingOutbound(t.Context(), "cli", "c1")
	require.NoError(t, err)
	require.Len(t, pending, 1)
	require.Equal(t, run.ID, pending[0].Origin)
	require.Contains(t, pending[0].Content, "no model")
	require.Equal(t, store.RunFailed, j.job("a").LastStatus)
	ended, err := j.JobRun(t.Context(), run.ID)
	require.NoError(t, err)
	require.Equal(t, "no model", ended.Error)
}

func TestStopJobRun_EndsAsFailedWithTheReason(t *testing.T) {
	j := newJobs(t)
	j.put(aJob("a", schedule.SilentAgentTask, every(60)))
	run, err := j.RequestJobRun(t.Context(), "a")
	require.NoError(t, err)
	run, ok, err := j.BeginJobRun(t.Context(), store.BeginJob{JobID: "a", RunID: run.ID})
	require.NoError(t, err)
	require.True(t, ok)
	turn, err := j.StopJobRun(t.Context(), run.ID, "it took longer than it may")
	require.NoError(t, err)
	require.Empty(t, turn, "a waiting turn ends at once")
	run, err = j.JobRun(t.Context(), run.ID)
	require.NoError(t, err)
	require.Equal(t, store.RunFailed, run.Status)
	require.Equal(t, "it took longer than it may", run.Error)
}

func TestBeginJobRun_ACrashLoop_IsCapped(t *testing.T) {
	j := newJobs(t)
	job := aJob("a", schedule.InternalEvent, every(60))
	job.Payload = schedule.Payload{Event: schedule.SessionCleanup}
	j.put(job)
	run, err := j.RequestJobRun(t.Context(), "a")
	require.NoError(t, err)
	begun := 0
	for range 10 {
		if _, ok, err := j.BeginJobRun(t.Context(), store.BeginJob{JobID: "a", RunID: run.ID}); err == nil && ok {
			begun++
		}
	}
	require.Equal(t, 5, begun)
	run, err = j.JobRun(t.Context(), run.ID)
	require.NoError(t, err)
	require.Equal(t, store.RunFailed, run.Status)
	require.Contains(t, run.Error, "5 times")
}

func TestToolTx_Jobs_OnlyThoseOfItsOwnChat(t *testing.T) {
	j := newJobs(t)
	j.put(aJob("operators", schedule.OutboundMessage, every(60)))
	tool := func(chatID string, do func(*store.ToolTx) error) error {
		a := accept(t, j.Store, store.Inbound{Channel: "cli", ChatID: chatID, ExternalID: "x" + chatID + fmt.Sprint(j.clock.now().UnixNano()), SenderID: "me", Content: "x"})
		_, err := j.BeginTurn(t.Context(), store.Begin{SessionID: a.SessionID})
		require.NoError(t, err)
		answer(t, j.Store, a.ID, 1, call("c"))
		var got error
		_, err = j.RunRecordTool(t.Context(), toolRun(a.ID, 1, 0, "c"), func(tx *store.ToolTx) (chat.ToolStatus, string, error) {
			if got = do(tx); got != nil {
				return chat.ToolFailed, "Error", got
			}
			return chat.ToolCompleted, "ok", nil
		})
		require.NoError(t, err)
		_, err = j.FinishTurn(t.Context(), store.Finish{TurnID: a.ID, Status: chat.TurnFailed, Text: "over"})
		require.NoError(t, err)
		return got
	}
	require.NoError(t, tool("c1", func(tx *store.ToolTx) error {
		_, _, err := tx.PutJob(aJob("mine", schedule.OutboundMessage, every(60)))
		return err
	}))
	require.Equal(t, store.JobOrigin{Channel: "cli", ChatID: "c1", SenderID: "me"}, j.job("mine").Origin)
	for name, err := range map[string]error{
		"see another chat's": tool("c2", func(tx *store.ToolTx) error { _, err := tx.GetJob("mine"); return err }),
		"change another chat's": tool("c2", func(tx *store.ToolTx) error {
			_, _, err := tx.PutJob(aJob("mine", schedule.OutboundMessage, every(9)))
			return err
		}),
		"delete another chat's": tool("c2", func(tx *store.ToolTx) error { return tx.DeleteJob("mine") }),
		"pause an operator's":   tool("c1", func(tx *store.ToolTx) error { _, err := tx.PauseJob("operators"); return err }),
		"replace an operator's": tool("c1", func(tx *store.ToolTx) error {
			_, _, err := tx.PutJob(aJob("operators", schedule.OutboundMessage, every(9)))
			return err
		}),
	} {
		require.Error(t, err, name)
	}
	require.NoError(t, tool("c2", func(tx *store.ToolTx) error {
		list, err := tx.ListJobs()
		require.Empty(t, list)
		return err
	}))
	require.NoError(t, tool("c1", func(tx *store.ToolTx) error {
		list, err := tx.ListJobs()
		require.Len(t, list, 1)
		return err
	}))
	require.Equal(t, every(60), j.job("operators").Schedule)
}

// Whatever Temporal starts and the reconciler accounts for, in whatever order: each
// slot has one row, none is left out, and the job never overlaps itself.
func TestJobs_AnyOrderOfEvents_EverySlotHasOneRow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.db", time.Now().UnixNano()))
		c := &clock{t: time.Unix(1_700_000_000, 0)}
		s, err := store.Open(t.Context(), store.Options{Path: path, Now: c.now})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		job := aJob("a", schedule.AgentTask, every(60))
		job.MisfirePolicy = rapid.SampledFrom([]string{schedule.Skip, schedule.RunOnce, schedule.RunAll}).Draw(rt, "policy")
		put, _, err := s.PutJob(t.Context(), store.PutJob{Job: job, Source: store.JobAPI})
		if err != nil {
			rt.Fatal(err)
		}
		first := put.NextRunAt
		var running *store.JobRun
		for range rapid.IntRange(1, 25).Draw(rt, "events") {
			switch rapid.IntRange(0, 3).Draw(rt, "event") {
			case 0:
				c.move(time.Duration(rapid.IntRange(1, 200).Draw(rt, "seconds")) * time.Second)
			case 1: // Temporal starts some slot that was due
				n := (c.now().UnixMilli() - first) / 60_000
				if n < 0 {
					continue
				}
				slot := first + 60_000*rapid.Int64Range(max(0, n-2), n).Draw(rt, "slot")
				run, ok, err := s.BeginJobRun(t.Context(), store.BeginJob{JobID: "a", Slot: slot, WorkflowID: "w"})
				if err != nil {
					rt.Fatal(err)
				}
				if ok {
					running = &run
				}
			case 2:
				run, err := s.AccountJob(t.Context(), "a", c.now())
				if err != nil {
					rt.Fatal(err)
				}
				if run != nil {
					begun, ok, err := s.BeginJobRun(t.Context(), store.BeginJob{JobID: "a", RunID: run.ID})
					if err != nil || !ok {
						rt.Fatal(ok, err)
					}
					running = &begun
				}
			case 3:
				if running != nil {
					if _, err := s.EndJobRun(t.Context(), running.ID, store.RunCompleted, ""); err != nil {
						rt.Fatal(err)
					}
					running = nil
				}
			}
			open, err := s.RunningJobRuns(t.Context())
			if err != nil || len(open) > 1 {
				rt.Fatalf("the job overlaps itself: %v %v", open, err)
			}
		}
		for range 200 {
			if running != nil {
				if _, err := s.EndJobRun(t.Context(), running.ID, store.RunCompleted, ""); err != nil {
					rt.Fatal(err)
				}
			}
			if running, err = s.AccountJob(t.Context(), "a", c.now()); err != nil {
				rt.Fatal(err)
			}
			if running == nil {
				break
			}
		}
		runs, err := s.JobRuns(t.Context(), "a", 0, "", 100_000)
		if err != nil {
			rt.Fatal(err)
		}
		have := map[int64]int{}
		for _, r := range runs {
			have[r.ScheduledFor]++
		}
		for slot := first; slot <= c.now().UnixMilli()-1000; slot += 60_000 {
			if have[slot] != 1 {
				rt.Fatalf("slot %d has %d rows", slot, have[slot])
			}
			delete(have, slot)
		}
		if len(have) > 1 {
			rt.Fatalf("rows of no slot: %v", have)
		}
	})
}

// How a run ended is said in the language of the record's owner: to whoever lists runs
// and to the chat that is told of a failure.
func TestJobRuns_HowTheyEnded_IsSaidInTheLanguage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	c := &clock{t: time.Unix(1_700_000_000, 0)}
	s, err := store.Open(t.Context(), store.Options{Path: path, Now: c.now, Scheduler: store.Scheduler{Texts: text.For(text.Chinese)}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	j := jobs{t, s, c, path}
	j.put(aJob("a", schedule.SilentAgentTask, every(60)))
	slot := j.job("a").NextRunAt
	c.move(61 * time.Second)
	run, _ := j.begin("a", slot)
	_, err = s.BeginTurn(t.Context(), store.Begin{SessionID: run.SessionID})
	require.NoError(t, err)
	_, err = s.FinishTurn(t.Context(), store.Finish{TurnID: run.TurnID, Status: chat.TurnCancelled})
	require.NoError(t, err)
	ended, err := s.JobRun(t.Context(), run.ID)
	require.NoError(t, err)
	require.Equal(t, "已被停止", ended.Error)
	pending, err := s.PendingOutbound(t.Context(), "cli", "c1")
	require.NoError(t, err)
	require.Len(t, pending, 1)
	require.Equal(t, "定时任务 a 失败：已被停止\n详情：picobot jobs runs a，以及 picobot turns show "+run.TurnID, pending[0].Content)

	slot = j.job("a").NextRunAt
	c.move(time.Hour)
	late, ok := j.begin("a", slot)
	require.False(t, ok)
	missed, err := s.JobRuns(t.Context(), "a", 0, "", 1)
	require.NoError(t, err)
	require.Equal(t, store.RunMissed, missed[0].Status, late)
	require.Regexp(t, `^未能按时开始：晚了 .*s$`, missed[0].Error)
}
