package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/flow"
	"picobot/internal/schedule"
	"picobot/store"
	"picobot/workflows"
)

func message(id string, seconds int) schedule.Job {
	return schedule.Job{ID: id, Kind: schedule.OutboundMessage, Enabled: true,
		Schedule: schedule.Spec{Type: schedule.Interval, Seconds: seconds, TimeZone: "UTC"},
		Target:   schedule.Target{Channel: "cli", ChatID: "me"}, Payload: schedule.Payload{Content: id}}
}

func task(id string, kind schedule.Kind, seconds int, prompt string) schedule.Job {
	j := message(id, seconds)
	j.Kind, j.Payload = kind, schedule.Payload{Prompt: prompt}
	return j
}

func (s *stack) put(j schedule.Job) store.Job {
	s.Helper()
	out, _, err := s.record.PutJob(context.Background(), store.PutJob{Job: j, Source: store.JobAPI})
	require.NoError(s, err)
	return out
}

func (s *stack) runsOf(id string) []store.JobRun {
	s.Helper()
	runs, err := s.record.JobRuns(context.Background(), id, 0, "", 100_000)
	require.NoError(s, err)
	return runs
}

func (s *stack) countRuns(id, status string) (n int) {
	s.Helper()
	for _, r := range s.runsOf(id) {
		if status == "" || r.Status == status {
			n++
		}
	}
	return n
}

func (s *stack) jobState(id string) store.Job {
	s.Helper()
	j, err := s.record.Job(context.Background(), id)
	require.NoError(s, err)
	return j
}

// once checks that no slot ran twice and none from the first to the last is without a row.
func (s *stack) once(job store.Job) {
	s.Helper()
	runs := s.runsOf(job.ID)
	seen := map[int64]bool{}
	var first, last int64
	for _, r := range runs {
		if r.Trigger == store.TriggerManual {
			continue
		}
		require.False(s, seen[r.ScheduledFor], "slot %d has two rows", r.ScheduledFor)
		seen[r.ScheduledFor] = true
		if first == 0 || r.ScheduledFor < first {
			first = r.ScheduledFor
		}
		last = max(last, r.ScheduledFor)
	}
	every := int64(job.Schedule.Seconds) * 1000
	for slot := first; slot <= last; slot += every {
		require.True(s, seen[slot], "slot %d was missed in silence", slot)
	}
	sent := map[string]int{}
	pending, err := s.record.PendingOutbound(context.Background(), "cli", job.Target.ChatID)
	require.NoError(s, err)
	for _, o := range pending {
		sent[o.Origin]++
		require.Equal(s, 1, sent[o.Origin])
	}
}

func (s *stack) scheduleIDs() (ids []string) {
	s.Helper()
	list, err := s.client.ScheduleClient().List(context.Background(), client.ScheduleListOptions{})
	require.NoError(s, err)
	for list.HasNext() {
		e, err := list.Next()
		require.NoError(s, err)
		ids = append(ids, e.ID)
	}
	return ids
}

func TestSchedules_AnInterval_RunsOnceASlotAndIsFoundInTemporal(t *testing.T) {
	s := newStack(t)
	job := s.put(message("Ünïcode.tick", 1))
	s.eventually(time.Minute, "three slots ran", func() bool { return s.countRuns(job.ID, store.RunCompleted) >= 3 })
	s.once(job)
	s.eventually(time.Minute, "its runs are found", func() bool { return s.count("PicobotJob = 'Ünïcode.tick'") >= 3 })
	s.eventually(time.Minute, "its schedule is listed", func() bool {
		ids := s.scheduleIDs()
		return len(ids) == 1 && ids[0] == flow.JobWorkflowID(job.ID)
	})
	require.NoError(t, s.record.DeleteJob(t.Context(), job.ID))
	n := s.countRuns(job.ID, "")
	s.eventually(time.Minute, "its schedule is gone", func() bool { return len(s.scheduleIDs()) == 0 })
	require.Equal(t, n, s.countRuns(job.ID, ""), "deleted, it is due no more")
}

func TestSchedules_ManyJobsAtOnce_AllAreScheduled(t *testing.T) {
	s := newStack(t)
	var configured []store.PutJob
	for i := range 60 {
		configured = append(configured, store.PutJob{Job: message(fmt.Sprint("many.", i), 3600), Text: "1"})
	}
	require.NoError(t, s.record.ReplaceOwned(t.Context(), store.JobConfig, configured))
	s.eventually(2*time.Minute, "all are scheduled", func() bool { return len(s.scheduleIDs()) == 60 })
	require.NoError(t, s.record.ReplaceOwned(t.Context(), store.JobConfig, configured[:3]))
	s.eventually(2*time.Minute, "those that are gone are not", func() bool { return len(s.scheduleIDs()) == 3 })
}

func TestSchedules_OnceAfterAWhile_EndsAsCompleted(t *testing.T) {
	s := newStack(t)
	j := message("soon", 2)
	j.Schedule.Type = schedule.Delay
	s.put(j)
	s.eventually(time.Minute, "it is completed", func() bool { return s.jobState("soon").State == store.JobCompleted })
	require.Equal(t, store.RunCompleted, s.jobState("soon").LastStatus)
	require.Equal(t, 1, s.countRuns("soon", store.RunCompleted))
	s.eventually(time.Minute, "its schedule is gone", func() bool { return len(s.scheduleIDs()) == 0 })
}

func TestSchedules_PauseResumeAndRunByHand_AlsoWhenTemporalIsRestartedInBetween(t *testing.T) {
	s := newStack(t)
	job := s.put(message("tick", 1))
	s.eventually(time.Minute, "it runs", func() bool { return s.countRuns("tick", "") > 0 })
	_, err := s.record.PauseJob(t.Context(), "tick")
	require.NoError(t, err)
	n := s.countRuns("tick", "")
	s.stop()
	s.start()
	run, err := s.record.RequestJobRun(t.Context(), "tick")
	require.NoError(t, err)
	s.eventually(time.Minute, "the run by hand ends", func() bool {
		r, err := s.record.JobRun(t.Context(), run.ID)
		require.NoError(t, err)
		return r.Status == store.RunCompleted
	})
	require.Equal(t, n+1, s.countRuns("tick", ""), "paused, it is not due")
	_, err = s.record.ResumeJob(t.Context(), "tick")
	require.NoError(t, err)
	s.eventually(time.Minute, "it is due again", func() bool { return s.countRuns("tick", "") > n+1 })
	require.NotEmpty(t, job.ID)
}

func TestSchedules_TemporalsFilesAreLost_NothingIsMissedInSilence(t *testing.T) {
	s := newStack(t)
	job := message("tick", 1)
	job.MisfirePolicy = schedule.RunAll
	put := s.put(job)
	s.eventually(time.Minute, "it runs", func() bool { return s.countRuns("tick", store.RunCompleted) > 1 })
	s.stop()
	require.NoError(t, os.RemoveAll(filepath.Join(s.dir, "temporal")))
	n := s.countRuns("tick", "")
	s.start()
	s.eventually(time.Minute, "it runs on", func() bool { return s.countRuns("tick", store.RunCompleted) > n+3 })
	s.eventually(time.Minute, "no slot waits", func() bool {
		return s.jobState("tick").NextRunAt > time.Now().Add(-time.Second).UnixMilli()
	})
	s.once(put)
}

func TestSchedules_OlderTemporalFilesUnderANewerRecord_NoSlotRunsTwice(t *testing.T) {
	s := newStack(t)
	put := s.put(message("tick", 1))
	s.eventually(time.Minute, "it runs", func() bool { return s.countRuns("tick", "") > 0 })
	s.stop()
	old := filepath.Join(s.dir, "old")
	require.NoError(t, os.CopyFS(old, os.DirFS(filepath.Join(s.dir, "temporal"))))
	s.start()
	n := s.countRuns("tick", "")
	s.eventually(time.Minute, "it goes on", func() bool { return s.countRuns("tick", "") > n+3 })
	s.stop()
	require.NoError(t, os.RemoveAll(filepath.Join(s.dir, "temporal")))
	require.NoError(t, os.Rename(old, filepath.Join(s.dir, "temporal")))
	s.start()
	n = s.countRuns("tick", store.RunCompleted)
	s.eventually(time.Minute, "it goes on", func() bool { return s.countRuns("tick", store.RunCompleted) > n+3 })
	s.eventually(time.Minute, "no slot waits", func() bool {
		return s.jobState("tick").NextRunAt > time.Now().Add(-time.Second).UnixMilli()
	})
	s.once(put)
}

func TestSchedules_ARunLongerThanItsLimit_IsStoppedAndTold(t *testing.T) {
	s := newStack(t)
	j := task("slow", schedule.SilentAgentTask, 3600, "slow 600")
	j.Payload.TimeoutSeconds = 1
	s.put(j)
	run, err := s.record.RequestJobRun(t.Context(), "slow")
	require.NoError(t, err)
	s.eventually(time.Minute, "it is stopped", func() bool { return s.countRuns("slow", store.RunFailed) == 1 })
	run, err = s.record.JobRun(t.Context(), run.ID)
	require.NoError(t, err)
	require.Contains(t, run.Error, "longer than 1s")
	pending, err := s.record.PendingOutbound(t.Context(), "cli", "me")
	require.NoError(t, err)
	require.Len(t, pending, 1, "one notice")
	require.Equal(t, run.ID, pending[0].Origin)
	s.replayed(run)
}

func TestSchedules_ASlowJob_SkipsWhatComesMeanwhileAndDelaysNoOther(t *testing.T) {
	s := newStack(t)
	slow := s.put(task("slow", schedule.SilentAgentTask, 1, "slow 4"))
	quick := s.put(message("quick", 1))
	s.eventually(time.Minute, "it ran twice, and some were skipped", func() bool {
		return s.countRuns("slow", store.RunCompleted) >= 2 && s.countRuns("slow", store.RunSkipped) >= 2
	})
	require.Greater(t, s.countRuns("quick", store.RunCompleted), s.countRuns("slow", store.RunCompleted))
	for _, id := range []string{"slow", "quick"} {
		s.eventually(time.Minute, "no slot waits", func() bool {
			return s.jobState(id).NextRunAt > time.Now().Add(-time.Second).UnixMilli()
		})
	}
	s.once(slow)
	s.once(quick)
}

func TestSchedules_AnAgentTask_IsAnsweredInTheChatWhileItsPeopleTalk(t *testing.T) {
	s := newStack(t)
	job := s.put(task("sum", schedule.AgentTask, 1, "calc 6*7"))
	turn := s.await(s.say("me", "hello"))
	s.eventually(time.Minute, "it ran", func() bool { return s.countRuns("sum", store.RunCompleted) >= 2 })
	run := s.runsOf("sum")[len(s.runsOf("sum"))-1]
	require.Equal(t, turn.SessionID, run.SessionID, "the chat's own dialog")
	require.Equal(t, "calculator: 42", s.reply(s.turn(run.TurnID)))
	require.Equal(t, "echo: hello", s.reply(turn))
	s.once(job)
	s.replayed(run)
}

// replayed checks that a run's workflow survives a replay of its history, and returns it.
func (s *stack) replayed(run store.JobRun) *historypb.History {
	s.Helper()
	s.eventually(time.Minute, "its workflow closes", func() bool {
		d, err := s.client.DescribeWorkflowExecution(context.Background(), run.WorkflowID, run.RunID)
		require.NoError(s, err)
		return d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	})
	h := &historypb.History{}
	it := s.client.GetWorkflowHistory(context.Background(), run.WorkflowID, run.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		require.NoError(s, err)
		h.Events = append(h.Events, e)
	}
	r := sdkworker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(workflows.Job, workflow.RegisterOptions{Name: flow.JobWorkflow})
	require.NoError(s, r.ReplayWorkflowHistory(quiet{}, h))
	return h
}

// Cron in a zone: Temporal comes to the slots that the plan has.
func TestSchedules_Cron_TemporalNamesTheSlotsOfThePlan(t *testing.T) {
	s := newStack(t)
	for i, c := range []struct{ expression, zone string }{
		{"30 2 * * *", "Europe/Berlin"}, {"0 9 1 * MON", "Asia/Shanghai"}, {"*/20 8-18/2 * * 1-5", "America/New_York"},
		{"15 6 */2 JAN,jul FRI", "UTC"}, {"59 23 28-31 * *", "Pacific/Auckland"}, {"0 0 * * 7", "Asia/Kolkata"},
	} {
		j := message(fmt.Sprint("cron", i), 0)
		j.Schedule = schedule.Spec{Type: schedule.CronType, Expression: c.expression, TimeZone: c.zone}
		job := s.put(j)
		plan, err := job.Plan()
		require.NoError(t, err)
		var next []time.Time
		s.eventually(time.Minute, "its schedule is there", func() bool {
			d, err := s.client.ScheduleClient().GetHandle(t.Context(), flow.JobWorkflowID(j.ID)).Describe(t.Context())
			if err != nil {
				return false
			}
			next = d.Info.NextActionTimes
			return len(next) > 0
		})
		want := plan.Upcoming(time.Now(), len(next))
		for n := range next {
			require.Equal(t, want[n].Unix(), next[n].Unix(), "%s %s", c.expression, c.zone)
		}
	}
}
