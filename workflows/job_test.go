package workflows_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/flow"
	"picobot/workflows"
)

// jobRecord is a record as a job's workflow finds it.
type jobRecord struct {
	mu      sync.Mutex
	begun   flow.JobBegun
	look    func(n int) flow.RunState // nil = it never ends; n counts from 1
	deliver func(id string) error
	inputs  []flow.JobInput
	looks   int
	stops   []flow.StopRun
	ends    []flow.EndRun
	sent    []string
	nudged  int // runs of the session's workflow
}

func (r *jobRecord) env() *testsuite.TestWorkflowEnvironment {
	env := (&testsuite.WorkflowTestSuite{}).NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflowWithOptions(workflows.Job, workflow.RegisterOptions{Name: flow.JobWorkflow})
	env.RegisterWorkflowWithOptions(func(_ workflow.Context, in flow.SessionInput) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.nudged++
		return nil
	}, workflow.RegisterOptions{Name: flow.SessionWorkflow})
	env.RegisterWorkflowWithOptions(func(workflow.Context) error { return nil }, workflow.RegisterOptions{Name: flow.CleanupWorkflow})
	env.RegisterWorkflowWithOptions(func(workflow.Context, flow.MaintenanceInput) error { return nil }, workflow.RegisterOptions{Name: flow.MemoryMaintenanceWorkflow})
	reg := func(name string, fn any) { env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name}) }
	reg(flow.BeginJobRun, func(_ context.Context, in flow.JobInput) (flow.JobBegun, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.inputs = append(r.inputs, in)
		return r.begun, nil
	})
	reg(flow.LookAtRun, func(_ context.Context, id string) (flow.RunState, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.looks++
		if id != r.begun.RunID {
			return flow.RunState{}, errors.New("this run is not the job's: " + id)
		}
		if r.look == nil {
			return flow.RunState{}, nil
		}
		return r.look(r.looks), nil
	})
	reg(flow.StopJobRun, func(_ context.Context, in flow.StopRun) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stops = append(r.stops, in)
		return nil
	})
	reg(flow.EndJobRun, func(_ context.Context, in flow.EndRun) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ends = append(r.ends, in)
		return nil
	})
	reg(flow.Deliver, func(_ context.Context, id string) error {
		r.mu.Lock()
		r.sent = append(r.sent, id)
		r.mu.Unlock()
		if r.deliver != nil {
			return r.deliver(id)
		}
		return nil
	})
	return env
}

func runJob(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
	t.Helper()
	env.ExecuteWorkflow(flow.JobWorkflow, flow.JobInput{JobID: "a", RunID: "r1", Queues: flow.Queues{Base: "picobot"}})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
}

func aTurn(left time.Duration) flow.JobBegun {
	return flow.JobBegun{RunID: "r1", SessionID: "cli:a:b", TurnID: "t1", LeftMS: left.Milliseconds()}
}

func TestJob_ASlotThatIsEndedAlready_DoesNothing(t *testing.T) {
	r := &jobRecord{}
	env := r.env()
	slot := time.UnixMilli(1_700_000_000_000).UTC()
	require.NoError(t, env.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(
		temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime").ValueSet(slot))))
	env.ExecuteWorkflow(flow.JobWorkflow, flow.JobInput{JobID: "a", Queues: flow.Queues{Base: "picobot"}})
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, r.inputs, 1)
	require.Equal(t, slot.UnixMilli(), r.inputs[0].Slot, "which slot it is its schedule says")
	require.Zero(t, r.nudged)
	require.Zero(t, r.looks)
	require.Empty(t, r.stops)
	require.Empty(t, r.ends)
	require.Empty(t, r.sent)
}

func TestJob_AMessage_IsDeliveredAndEndsAsItsOutboxSays(t *testing.T) {
	r := &jobRecord{begun: flow.JobBegun{RunID: "r1", Outbound: []string{"o1", "o2"}, LeftMS: 1000}}
	r.deliver = func(id string) error {
		if id == "o1" {
			return temporal.NewNonRetryableApplicationError("refused", "refused", nil)
		}
		return nil
	}
	runJob(t, r.env())
	require.Equal(t, []string{"o1", "o2"}, r.sent, "one that is refused holds up no other")
	require.Equal(t, []flow.EndRun{{RunID: "r1", Outbox: true}}, r.ends)
}

func TestJob_ATurnEnds_TheSignalWakesItAndWhatIsLeftIsDelivered(t *testing.T) {
	r := &jobRecord{begun: aTurn(time.Hour)}
	r.look = func(int) flow.RunState { return flow.RunState{Ended: true, Outbound: []string{"notice"}} }
	env := r.env()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(flow.SignalJobEnded, nil) }, 5*time.Second)
	start := env.Now()
	runJob(t, env)
	require.Equal(t, 1, r.nudged)
	require.Equal(t, 1, r.looks)
	require.Less(t, env.Now().Sub(start), 30*time.Second, "it did not wait for its timer")
	require.Equal(t, []string{"notice"}, r.sent)
	require.Empty(t, r.stops)
	require.Empty(t, r.ends, "a turn's end is its run's")
}

func TestJob_TheWakeUpSignalIsLost_TheTimerMakesGood(t *testing.T) {
	r := &jobRecord{begun: aTurn(time.Hour)}
	r.look = func(n int) flow.RunState { return flow.RunState{Ended: n == 3} }
	env := r.env()
	start := env.Now()
	runJob(t, env)
	require.Equal(t, 3, r.looks)
	require.Equal(t, (30+60+120)*time.Second, env.Now().Sub(start).Round(time.Second), "the longer it takes the rarer it looks")
	require.Empty(t, r.stops)
}

func TestJob_ASignalBeforeTheEnd_IsNoEnd(t *testing.T) {
	r := &jobRecord{begun: aTurn(time.Hour)}
	r.look = func(n int) flow.RunState { return flow.RunState{Ended: n == 2} }
	env := r.env()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(flow.SignalJobEnded, nil) }, time.Second)
	runJob(t, env)
	require.Equal(t, 2, r.looks)
}

func TestJob_TheRunLimitIsReached_ItsTurnIsStoppedOnceAndItsEndAwaited(t *testing.T) {
	r := &jobRecord{begun: aTurn(10 * time.Second)}
	r.look = func(n int) flow.RunState { return flow.RunState{Ended: n == 3} }
	env := r.env()
	start := env.Now()
	runJob(t, env)
	require.Equal(t, []flow.StopRun{{RunID: "r1", LimitMS: 10_000}}, r.stops)
	require.Equal(t, 3, r.looks)
	require.GreaterOrEqual(t, env.Now().Sub(start), 10*time.Second)
	require.Less(t, env.Now().Sub(start), 30*time.Second, "the limit comes before the first look")
	require.Equal(t, 2, r.nudged, "the session is told to look for the stop")
}

func TestJob_CancelledFromOutside_ItsTurnIsStoppedAndItsEndAwaited(t *testing.T) {
	r := &jobRecord{begun: aTurn(time.Hour)}
	env := r.env()
	r.look = func(n int) flow.RunState { return flow.RunState{Ended: n == 3, Outbound: []string{"notice"}} }
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Second)
	runJob(t, env)
	require.Equal(t, []flow.StopRun{{RunID: "r1"}}, r.stops, "not because of its limit")
	require.Equal(t, 3, r.looks)
	require.Equal(t, []string{"notice"}, r.sent)
}

func TestJob_InternalEvents_RunTheirChildWorkflow(t *testing.T) {
	for event, want := range map[string]struct{ name, id string }{
		"session_cleanup":    {flow.CleanupWorkflow, flow.CleanupWorkflowID},
		"memory_maintenance": {flow.MemoryMaintenanceWorkflow, flow.MemoryMaintenanceID},
	} {
		for outcome, c := range map[string]struct {
			child func(workflow.Context) error
			end   flow.EndRun
		}{
			"it works": {func(workflow.Context) error { return nil }, flow.EndRun{RunID: "r1"}},
			"it fails": {func(workflow.Context) error {
				return temporal.NewNonRetryableApplicationError("the record cannot be written", "x", nil)
			}, flow.EndRun{RunID: "r1", Error: "the record cannot be written"}},
			"it takes too long": {func(ctx workflow.Context) error { return workflow.Sleep(ctx, time.Hour) },
				flow.EndRun{RunID: "r1", Why: flow.EndTooLong}},
		} {
			t.Run(event+", "+outcome, func(t *testing.T) {
				r := &jobRecord{begun: flow.JobBegun{RunID: "r1", Event: event, LeftMS: 60_000}}
				env := r.env()
				var ran []string
				run := func(ctx workflow.Context) error {
					ran = append(ran, workflow.GetInfo(ctx).WorkflowExecution.ID)
					return c.child(ctx)
				}
				if event == "memory_maintenance" {
					env.OnWorkflow(want.name, mock.Anything, mock.Anything).Return(func(ctx workflow.Context, _ flow.MaintenanceInput) error { return run(ctx) })
				} else {
					env.OnWorkflow(want.name, mock.Anything).Return(run)
				}
				runJob(t, env)
				require.Equal(t, []string{want.id}, ran)
				require.Equal(t, []flow.EndRun{c.end}, r.ends)
			})
		}
	}
}

// Whoever runs the job by hand asks for it, as whoever runs maintenance itself does.
func TestJob_MemoryMaintenanceByHand_TriesWhatWasRefusedBefore(t *testing.T) {
	for _, asked := range []bool{false, true} {
		r := &jobRecord{begun: flow.JobBegun{RunID: "r1", Event: "memory_maintenance", Asked: asked, LeftMS: 60_000}}
		env := r.env()
		var got []flow.MaintenanceInput
		env.OnWorkflow(flow.MemoryMaintenanceWorkflow, mock.Anything, mock.Anything).Return(func(_ workflow.Context, in flow.MaintenanceInput) error {
			got = append(got, in)
			return nil
		})
		runJob(t, env)
		require.Equal(t, []flow.MaintenanceInput{{Again: asked}}, got)
	}
}

func TestJob_AnInternalEventIsUnderWayAlready_IsSkipped(t *testing.T) {
	r := &jobRecord{begun: flow.JobBegun{RunID: "r1", Event: "session_cleanup", LeftMS: 60_000}}
	env := r.env()
	env.OnWorkflow(flow.CleanupWorkflow, mock.Anything).Return(&temporal.ChildWorkflowExecutionAlreadyStartedError{})
	runJob(t, env)
	require.Equal(t, []flow.EndRun{{RunID: "r1", Why: flow.EndUnderWay}}, r.ends)
}

func TestJob_AnInternalEventCancelledFromOutside_IsEndedAsStopped(t *testing.T) {
	r := &jobRecord{begun: flow.JobBegun{RunID: "r1", Event: "session_cleanup", LeftMS: time.Hour.Milliseconds()}}
	env := r.env()
	env.OnWorkflow(flow.CleanupWorkflow, mock.Anything).Return(func(ctx workflow.Context) error { return workflow.Sleep(ctx, time.Hour) })
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Second)
	runJob(t, env)
	require.Equal(t, []flow.EndRun{{RunID: "r1", Why: flow.EndStopped}}, r.ends)
}
