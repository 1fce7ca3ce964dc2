package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"picobot/gateway/dispatch"
	"picobot/internal/flow"
)

const (
	noRun      = enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED
	running    = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	terminated = enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
)

// faulty is a connection to Temporal that refuses to start some workflows.
type faulty struct {
	client.Client
	mu      sync.Mutex
	refuses map[string]bool // workflow ids
	refused int
}

func (f *faulty) start(workflowID string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.refuses[workflowID] {
		return nil
	}
	f.refused++
	return errors.New("temporal is away")
}

func (f *faulty) SignalWithStartWorkflow(ctx context.Context, id, signal string, arg any, o client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	if err := f.start(id); err != nil {
		return nil, err
	}
	return f.Client.SignalWithStartWorkflow(ctx, id, signal, arg, o, workflow, args...)
}

func (f *faulty) ExecuteWorkflow(ctx context.Context, o client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	if err := f.start(o.ID); err != nil {
		return nil, err
	}
	return f.Client.ExecuteWorkflow(ctx, o, workflow, args...)
}

func (f *faulty) refusals() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}

func (f *faulty) mend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuses = nil
}

// faulty refuses to start the workflows of some sessions.
func (s *stack) faulty(sessionIDs ...string) *faulty {
	f := &faulty{Client: s.client, refuses: map[string]bool{}}
	for _, id := range sessionIDs {
		f.refuses[flow.SessionWorkflowID(id)] = true
	}
	return f
}

// dispatcher works through c and never sweeps again.
func (s *stack) dispatcher(c client.Client) *dispatch.Dispatcher {
	return dispatch.New(c, s.record, dispatch.Options{Queues: flow.Queues{Base: "picobot"}, SweepEvery: time.Hour, StuckAfter: time.Hour, Now: time.Now, Logger: log()})
}

// run runs a dispatcher until the test ends.
func run(t *testing.T, d *dispatch.Dispatcher) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
}

// openRun starts a run of the session that nobody works at, and returns its id.
func (s *stack) openRun(sessionID string) string {
	s.Helper()
	run, err := s.client.ExecuteWorkflow(context.Background(), startOptions(sessionID), flow.SessionWorkflow,
		flow.SessionInput{SessionID: sessionID, Queues: flow.Queues{Base: "picobot"}})
	require.NoError(s, err)
	return run.GetRunID()
}

func (s *stack) runID(sessionID string) string {
	s.Helper()
	d, err := s.client.DescribeWorkflowExecution(context.Background(), flow.SessionWorkflowID(sessionID), "")
	require.NoError(s, err)
	return d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

// A dispatcher and Temporal, without a worker: what it starts stays open.
func TestDispatch(t *testing.T) {
	s := &stack{TB: t, dir: t.TempDir()}
	s.openRecord()
	s.startEngine()
	t.Cleanup(func() {
		s.stopEngine()
		require.NoError(t, s.record.Close())
	})
	t.Run("Nudge_TemporalIsAway_IsSentOnceItIsBack", func(t *testing.T) {
		// Sessions the record does not know: no sweep finds them.
		one, two := "cli:away:one", "cli:away:two"
		c := s.faulty(one, two)
		d := s.dispatcher(c)
		run(t, d)
		d.Nudge(one)
		d.Nudge(two)
		s.eventually(time.Minute, "both are refused", func() bool { return c.refusals() >= 2 })
		s.eventually(time.Minute, "it knows that Temporal is away", func() bool { return d.Err() != nil })
		require.Equal(t, noRun, s.status(one))
		c.mend()
		for _, id := range []string{one, two} {
			s.eventually(time.Minute, "it is nudged", func() bool { return s.status(id) == running })
		}
		s.eventually(time.Minute, "it knows that Temporal is back", func() bool { return d.Err() == nil })
	})
	t.Run("Recover_IdleOpenRun_IsEnded", func(t *testing.T) {
		idle := "cli:idle:one"
		s.openRun(idle)
		s.eventually(time.Minute, "the run is listed", func() bool {
			return s.count("WorkflowId = '"+flow.SessionWorkflowID(idle)+"' AND ExecutionStatus = 'Running'") == 1
		})
		require.NoError(t, s.dispatcher(s.client).Recover(t.Context()))
		require.Equal(t, terminated, s.status(idle))
	})
	t.Run("Recover_OneSessionCannotBeRestarted_TheOthersGoOnAndItIsNudged", func(t *testing.T) {
		bad := s.accept("bad", "hello").SessionID
		old := s.openRun(bad)
		var others []string
		for i := range 20 {
			others = append(others, s.accept(fmt.Sprint("other", i), "hello").SessionID)
		}
		replaced := s.openRun(others[0])
		c := s.faulty(bad)
		d := s.dispatcher(c)
		require.NoError(t, d.Recover(t.Context()))
		for _, id := range others {
			require.Equal(t, running, s.status(id), id)
		}
		require.NotEqual(t, replaced, s.runID(others[0]))
		require.Equal(t, 1, c.refusals())
		require.Equal(t, old, s.runID(bad), "its own run is left as it is")
		require.Equal(t, running, s.status(bad))

		c.mend()
		run(t, d)
		s.eventually(time.Minute, "it is nudged", func() bool {
			for _, e := range s.history(bad, old).Events {
				if e.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == flow.SignalNudge {
					return true
				}
			}
			return false
		})
	})
}
