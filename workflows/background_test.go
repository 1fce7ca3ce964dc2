package workflows_test

import (
	"context"
	"errors"
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

// background is a record as workflows beside the turns find it.
type background struct {
	summarise func(in flow.SummariseInput) (flow.Summarised, error)
	asked     []flow.SummariseInput
	committed []string
	end       flow.Compacted
	delivered []string
	titled    []string
}

func (b *background) register(env *testsuite.TestWorkflowEnvironment) {
	env.RegisterWorkflowWithOptions(workflows.Compaction, workflow.RegisterOptions{Name: flow.CompactionWorkflow})
	env.RegisterWorkflowWithOptions(workflows.Title, workflow.RegisterOptions{Name: flow.TitleWorkflow})
	reg := func(name string, fn any) { env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name}) }
	reg(flow.Summarise, func(_ context.Context, in flow.SummariseInput) (flow.Summarised, error) {
		b.asked = append(b.asked, in)
		return b.summarise(in)
	})
	reg(flow.CommitCompaction, func(_ context.Context, id string) (flow.Compacted, error) {
		b.committed = append(b.committed, id)
		return b.end, nil
	})
	reg(flow.Deliver, func(_ context.Context, id string) error {
		b.delivered = append(b.delivered, id)
		if id == "refused" {
			return temporal.NewNonRetryableApplicationError("no", flow.ErrTypeDelivery, nil)
		}
		return nil
	})
	reg(flow.MakeTitle, func(_ context.Context, id string) error {
		b.titled = append(b.titled, id)
		return nil
	})
}

func (b *background) compact(t *testing.T) error {
	env := (&testsuite.WorkflowTestSuite{}).NewTestWorkflowEnvironment()
	b.register(env)
	env.ExecuteWorkflow(flow.CompactionWorkflow, flow.BackgroundInput{SessionID: "cli:a:b", Queues: flow.Queues{Base: "picobot"}})
	require.True(t, env.IsWorkflowCompleted())
	return env.GetWorkflowError()
}

func TestCompaction_SummaryThenCommit(t *testing.T) {
	b := &background{summarise: func(flow.SummariseInput) (flow.Summarised, error) { return flow.Summarised{CompactionID: "c1"}, nil }}
	require.NoError(t, b.compact(t))
	require.Equal(t, []flow.SummariseInput{{SessionID: "cli:a:b"}}, b.asked)
	require.Equal(t, []string{"c1"}, b.committed)
}

// Whoever asked is told; that they cannot be is no failure of the compaction.
func TestCompaction_WhoeverAskedIsToldOfItsEnd(t *testing.T) {
	b := &background{end: flow.Compacted{Outbound: []string{"refused", "o1"}}}
	b.summarise = func(flow.SummariseInput) (flow.Summarised, error) { return flow.Summarised{CompactionID: "c1"}, nil }
	require.NoError(t, b.compact(t))
	require.Equal(t, []string{"refused", "o1"}, b.delivered)

	b = &background{summarise: func(flow.SummariseInput) (flow.Summarised, error) {
		return flow.Summarised{Outbound: []string{"o2"}}, nil
	}}
	require.NoError(t, b.compact(t))
	require.Empty(t, b.committed)
	require.Equal(t, []string{"o2"}, b.delivered)
}

func TestCompaction_NothingToDo_CommitsNothing(t *testing.T) {
	b := &background{summarise: func(flow.SummariseInput) (flow.Summarised, error) { return flow.Summarised{}, nil }}
	require.NoError(t, b.compact(t))
	require.Empty(t, b.committed)
}

func TestCompaction_ModelFailsForGood_TheTranscriptIsUsed(t *testing.T) {
	for _, retryable := range []bool{true, false} {
		b := &background{}
		b.summarise = func(in flow.SummariseInput) (flow.Summarised, error) {
			if in.NoModel {
				return flow.Summarised{CompactionID: "c1"}, nil
			}
			return flow.Summarised{}, modelError("overloaded", retryable)
		}
		require.NoError(t, b.compact(t))
		require.Equal(t, []string{"c1"}, b.committed)
		require.Len(t, b.asked, map[bool]int{true: 6, false: 2}[retryable], "what may pass is tried again")
	}
}

func TestCompaction_OtherFailure_IsNoReasonForATranscript(t *testing.T) {
	b := &background{summarise: func(flow.SummariseInput) (flow.Summarised, error) { return flow.Summarised{}, errors.New("no record") }}
	require.Error(t, b.compact(t))
	require.Empty(t, b.committed)
	for _, in := range b.asked {
		require.False(t, in.NoModel)
	}
}

func TestSession_TurnMakesWorkDue_ItIsStartedAndTheNextTurnDoesNotWait(t *testing.T) {
	b := &background{}
	s := &script{begun: []flow.Begun{turn("t1"), turn("t2")}}
	s.model = func(_ context.Context, in flow.ModelInput) (flow.ModelResult, error) {
		return flow.ModelResult{Then: flow.Then{Compact: in.TurnID == "t1", Title: in.TurnID == "t1"}}, nil
	}
	env := s.env(t)
	b.register(env)
	b.summarise = func(flow.SummariseInput) (flow.Summarised, error) { return flow.Summarised{CompactionID: "c1"}, nil }
	started := map[string]int{}
	env.OnWorkflow(flow.CompactionWorkflow, mock.Anything, mock.Anything).Return(func(ctx workflow.Context, in flow.BackgroundInput) error {
		started[workflow.GetInfo(ctx).WorkflowExecution.ID]++
		require.NoError(t, workflow.Sleep(ctx, time.Hour)) // the next turn is answered meanwhile
		require.Len(t, s.calls, 2)
		return nil
	})
	env.OnWorkflow(flow.TitleWorkflow, mock.Anything, mock.Anything).Return(func(ctx workflow.Context, in flow.BackgroundInput) error {
		require.Equal(t, "cli:a:b", in.SessionID)
		started[workflow.GetInfo(ctx).WorkflowExecution.ID]++
		return nil
	})
	require.NoError(t, run(env))
	require.Len(t, s.calls, 2)
	require.Equal(t, map[string]int{"compaction/cli:a:b": 1, "title/cli:a:b": 1}, started)
}

func TestSession_FailedTurnMakesWorkDue_ItIsStarted(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1")}, finish: flow.FinishResult{Then: flow.Then{Compact: true}}}
	s.model = func(context.Context, flow.ModelInput) (flow.ModelResult, error) {
		return flow.ModelResult{}, modelError("auth", false)
	}
	env := s.env(t)
	(&background{}).register(env)
	started := 0
	env.OnWorkflow(flow.CompactionWorkflow, mock.Anything, mock.Anything).Return(func(workflow.Context, flow.BackgroundInput) error {
		started++
		return nil
	})
	require.NoError(t, run(env))
	require.Equal(t, 1, started)
}
