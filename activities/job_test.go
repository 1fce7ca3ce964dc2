package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"picobot/internal/flow"
	"picobot/internal/schedule"
	"picobot/store"
)

func TestBeginJobRun_TheSchedulerIsOff_ASlotIsNotBegunAndARunByHandIs(t *testing.T) {
	f := newFixture(t)
	f.env.RegisterActivityWithOptions(f.acts.BeginJobRun, activity.RegisterOptions{Name: flow.BeginJobRun})
	put := func(id string) store.Job {
		t.Helper()
		j, _, err := f.record.PutJob(t.Context(), store.PutJob{Source: store.JobAPI, Job: schedule.Job{ID: id, Kind: schedule.OutboundMessage, Enabled: true,
			Schedule: schedule.Spec{Type: schedule.Delay, Seconds: 1, TimeZone: "UTC"},
			Target:   schedule.Target{Channel: "cli", ChatID: "me"}, Payload: schedule.Payload{Content: "hello"}}})
		require.NoError(t, err)
		return j
	}
	slot := flow.JobInput{JobID: "a", Slot: put("a").NextRunAt}
	put("b")
	f.acts.Scheduler.Enabled = false
	got, err := do[flow.JobBegun](f, f.env, flow.BeginJobRun, slot)
	require.NoError(t, err)
	require.Zero(t, got)
	runs, err := f.record.JobRuns(t.Context(), "a", 0, "", 10)
	require.NoError(t, err)
	require.Empty(t, runs, "nor is it written down")
	run, err := f.record.RequestJobRun(t.Context(), "b")
	require.NoError(t, err)
	got, err = do[flow.JobBegun](f, f.env, flow.BeginJobRun, flow.JobInput{JobID: "b", RunID: run.ID})
	require.NoError(t, err)
	require.Equal(t, run.ID, got.RunID)
	require.Len(t, got.Outbound, 1)

	f.acts.Scheduler.Enabled = true
	got, err = do[flow.JobBegun](f, f.env, flow.BeginJobRun, slot)
	require.NoError(t, err)
	require.NotEmpty(t, got.RunID, "on again, the slot is begun")
}

func TestBeginJobRun_AnInternalEvent_SaysWhetherSomebodyAskedForIt(t *testing.T) {
	f := newFixture(t)
	f.env.RegisterActivityWithOptions(f.acts.BeginJobRun, activity.RegisterOptions{Name: flow.BeginJobRun})
	f.acts.Scheduler.Enabled = true
	j, _, err := f.record.PutJob(t.Context(), store.PutJob{Source: store.JobBuiltin, Job: schedule.Job{ID: "a", Kind: schedule.InternalEvent, Enabled: true,
		Schedule: schedule.Spec{Type: schedule.Delay, Seconds: 1, TimeZone: "UTC"}, Payload: schedule.Payload{Event: schedule.MemoryMaintenance}}})
	require.NoError(t, err)
	run, err := f.record.RequestJobRun(t.Context(), "a")
	require.NoError(t, err)
	got, err := do[flow.JobBegun](f, f.env, flow.BeginJobRun, flow.JobInput{JobID: "a", RunID: run.ID})
	require.NoError(t, err)
	require.Equal(t, flow.EventMemoryMaintenance, got.Event)
	require.True(t, got.Asked)
	_, err = f.record.EndJobRun(t.Context(), run.ID, store.RunCompleted, "")
	require.NoError(t, err)
	got, err = do[flow.JobBegun](f, f.env, flow.BeginJobRun, flow.JobInput{JobID: "a", Slot: j.NextRunAt})
	require.NoError(t, err)
	require.Equal(t, flow.EventMemoryMaintenance, got.Event)
	require.False(t, got.Asked)
}
