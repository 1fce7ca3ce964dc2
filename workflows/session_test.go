package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/workflows"
)

// script is a record made of fixed answers: what the session's activities find.
type script struct {
	mu       sync.Mutex
	begun    []flow.Begun // one per turn, then nothing
	begins   int
	model    func(ctx context.Context, in flow.ModelInput) (flow.ModelResult, error)
	tool     func(ctx context.Context, in flow.ToolInput) (flow.ToolResult, error)
	deliver  func(id string) error
	finished []flow.FinishInput
	finish   flow.FinishResult
	calls    []flow.ModelInput
	tools    []flow.ToolInput
	sent     []string
	cancels  []string
	prepare  func(in flow.PrepareInput) error
	onBegin  func(n int)
}

func (s *script) env(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	suite := &testsuite.WorkflowTestSuite{}
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(20 * time.Second)
	env.RegisterWorkflowWithOptions(workflows.Session, workflow.RegisterOptions{Name: flow.SessionWorkflow})
	reg := func(name string, fn any) { env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name}) }
	reg(flow.BeginTurn, func(context.Context, flow.SessionInput) (flow.Begun, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.begins++
		if s.onBegin != nil {
			s.onBegin(s.begins)
		}
		if len(s.begun) == 0 {
			return flow.Begun{}, nil
		}
		b := s.begun[0]
		s.begun = s.begun[1:]
		return b, nil
	})
	reg(flow.CallModel, func(ctx context.Context, in flow.ModelInput) (flow.ModelResult, error) {
		s.mu.Lock()
		s.calls = append(s.calls, in)
		s.mu.Unlock()
		return s.model(ctx, in)
	})
	reg(flow.RunTool, func(ctx context.Context, in flow.ToolInput) (flow.ToolResult, error) {
		s.mu.Lock()
		s.tools = append(s.tools, in)
		s.mu.Unlock()
		if s.tool == nil {
			return flow.ToolResult{Status: chat.ToolCompleted}, nil
		}
		return s.tool(ctx, in)
	})
	reg(flow.FinishTurn, func(_ context.Context, in flow.FinishInput) (flow.FinishResult, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.finished = append(s.finished, in)
		return s.finish, nil
	})
	reg(flow.RequestCancel, func(_ context.Context, id string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cancels = append(s.cancels, id)
		return nil
	})
	reg(flow.Prepare, func(_ context.Context, in flow.PrepareInput) error { return s.prepare(in) })
	reg(flow.Deliver, func(_ context.Context, id string) error {
		s.mu.Lock()
		s.sent = append(s.sent, id)
		s.mu.Unlock()
		if s.deliver != nil {
			return s.deliver(id)
		}
		return nil
	})
	return env
}

func run(env *testsuite.TestWorkflowEnvironment) error {
	env.ExecuteWorkflow(flow.SessionWorkflow, flow.SessionInput{SessionID: "cli:a:b", Queues: flow.Queues{Base: "picobot"}})
	return env.GetWorkflowError()
}

func turn(id string) flow.Begun {
	return flow.Begun{TurnID: id, Step: 1, Models: []string{"main"}, MaxParallel: 2}
}

func done(context.Context, flow.ModelInput) (flow.ModelResult, error) {
	return flow.ModelResult{}, nil
}

func modelError(kind string, retryable bool) error {
	return temporal.NewApplicationErrorWithOptions(kind, flow.ErrTypeModel, temporal.ApplicationErrorOptions{
		NonRetryable: !retryable, Details: []any{flow.Failure{Code: kind, Model: "main", Provider: "p"}}})
}

func TestSession_AnswersEverythingThatWaits_ThenCompletes(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1"), turn("t2")}, model: done}
	require.NoError(t, run(s.env(t)))
	require.Equal(t, []flow.ModelInput{{TurnID: "t1", Step: 1}, {TurnID: "t2", Step: 1}}, s.calls)
	require.Equal(t, 3, s.begins)
	require.Empty(t, s.finished)
}

func TestSession_NudgeAfterTheLastBegin_LooksAgain(t *testing.T) {
	s := &script{model: done}
	env := s.env(t)
	s.onBegin = func(n int) {
		if n == 1 { // the begin that finds nothing: something arrives right now
			s.begun = nil
			env.SignalWorkflow(flow.SignalNudge, nil)
		}
		if n == 2 {
			s.begun = []flow.Begun{turn("t1")}
		}
	}
	require.NoError(t, run(env))
	require.Len(t, s.calls, 1)
}

func TestSession_ToolStep_RunsEveryOpenCallThenAsksAgain(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1")}}
	s.model = func(_ context.Context, in flow.ModelInput) (flow.ModelResult, error) {
		if in.Step == 1 {
			return flow.ModelResult{Calls: []flow.Call{{Position: 0, Name: "a"}, {Position: 1, Name: "b"}, {Position: 2, Name: "c"}}}, nil
		}
		return flow.ModelResult{}, nil
	}
	require.NoError(t, run(s.env(t)))
	require.Len(t, s.tools, 3)
	require.Equal(t, 2, s.calls[1].Step)
}

func TestSession_CallsThatAct_RunAloneAndInTheOrderGiven(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1")}}
	var mu sync.Mutex
	running := map[int]bool{}
	var order []int
	acts := []bool{false, false, true, true, false, true, false}
	s.tool = func(_ context.Context, in flow.ToolInput) (flow.ToolResult, error) {
		mu.Lock()
		for other := range running {
			if acts[in.Position] || acts[other] {
				t.Errorf("%d runs beside %d", in.Position, other)
			}
		}
		running[in.Position] = true
		order = append(order, in.Position)
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		delete(running, in.Position)
		mu.Unlock()
		return flow.ToolResult{Status: chat.ToolCompleted}, nil
	}
	s.model = func(_ context.Context, in flow.ModelInput) (flow.ModelResult, error) {
		if in.Step > 1 {
			return flow.ModelResult{}, nil
		}
		var r flow.ModelResult
		for i, a := range acts {
			r.Calls = append(r.Calls, flow.Call{Position: i, Name: "x", Acts: a})
		}
		return r, nil
	}
	require.NoError(t, run(s.env(t)))
	require.ElementsMatch(t, []int{0, 1}, order[:2])
	require.Equal(t, []int{2, 3, 4, 5, 6}, order[2:])
}

func TestSession_ACallThatFailsForGood_RunsNoneAfterIt(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1")}}
	s.tool = func(context.Context, flow.ToolInput) (flow.ToolResult, error) {
		return flow.ToolResult{}, temporal.NewApplicationErrorWithOptions("x", flow.ErrTypeCancelled, temporal.ApplicationErrorOptions{NonRetryable: true})
	}
	s.model = func(context.Context, flow.ModelInput) (flow.ModelResult, error) {
		return flow.ModelResult{Calls: []flow.Call{{Position: 0, Acts: true}, {Position: 1, Acts: true}}}, nil
	}
	require.NoError(t, run(s.env(t)))
	require.Len(t, s.tools, 1)
}

func TestSession_ParallelTools_NeverMoreThanTheAgentAllows(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1")}}
	var mu sync.Mutex
	now, most := 0, 0
	s.tool = func(context.Context, flow.ToolInput) (flow.ToolResult, error) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		mu.Lock()
		now--
		mu.Unlock()
		return flow.ToolResult{Status: chat.ToolCompleted}, nil
	}
	s.model = func(_ context.Context, in flow.ModelInput) (flow.ModelResult, error) {
		if in.Step > 1 {
			return flow.ModelResult{}, nil
		}
		var r flow.ModelResult
		for i := range 6 {
			r.Calls = append(r.Calls, flow.Call{Position: i, Name: "x"})
		}
		return r, nil
	}
	require.NoError(t, run(s.env(t)))
	require.Len(t, s.tools, 6)
	require.Equal(t, 2, most)
}

func TestSession_BeginsMidStep_RunsOnlyWhatIsOpen(t *testing.T) {
	b := turn("t1")
	b.Step, b.Calls = 7, []flow.Call{{Position: 2, Name: "x"}}
	s := &script{begun: []flow.Begun{b}, model: done}
	require.NoError(t, run(s.env(t)))
	require.Equal(t, []flow.ToolInput{{TurnID: "t1", Step: 7, Position: 2}}, s.tools)
	require.Equal(t, 8, s.calls[0].Step)
}

func TestSession_ModelRecovers_IsRetriedByTemporal(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1")}}
	s.model = func(context.Context, flow.ModelInput) (flow.ModelResult, error) {
		if len(s.calls) < 3 {
			return flow.ModelResult{}, modelError("overloaded", true)
		}
		return flow.ModelResult{}, nil
	}
	require.NoError(t, run(s.env(t)))
	require.Len(t, s.calls, 3)
	require.Empty(t, s.finished)
}

func TestSession_CancelSignal_EndsTheTurnAsCancelledAndGoesOn(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1"), turn("t2")}}
	env := s.env(t)
	s.model = func(ctx context.Context, in flow.ModelInput) (flow.ModelResult, error) {
		if in.TurnID == "t2" {
			return flow.ModelResult{}, nil
		}
		env.SignalWorkflow(flow.SignalCancel, "another turn")
		env.SignalWorkflow(flow.SignalCancel, "t1")
		<-ctx.Done()
		return flow.ModelResult{}, temporal.NewNonRetryableApplicationError("", flow.ErrTypeCancelled, nil)
	}
	require.NoError(t, run(env))
	require.Equal(t, []flow.FinishInput{{TurnID: "t1", Status: chat.TurnCancelled}}, s.finished)
	require.Equal(t, "t2", s.calls[1].TurnID)
	require.Empty(t, s.cancels, "the record has it already")
}

func TestSession_CancelledFromOutside_IsAStopAndTheRestIsAnswered(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1"), turn("t2")}}
	env := s.env(t)
	s.model = func(ctx context.Context, in flow.ModelInput) (flow.ModelResult, error) {
		if in.TurnID == "t2" {
			return flow.ModelResult{}, nil
		}
		env.CancelWorkflow()
		<-ctx.Done()
		return flow.ModelResult{}, temporal.NewNonRetryableApplicationError("", flow.ErrTypeCancelled, nil)
	}
	// The turn behind it is left to a new run, which can be cancelled again.
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, run(env), &next)
	require.Equal(t, []string{"t1"}, s.cancels)
	require.Equal(t, []flow.FinishInput{{TurnID: "t1", Status: chat.TurnCancelled}}, s.finished)
	require.Len(t, s.calls, 1)
}

func TestSession_CancelledFromOutside_NothingElseWaits_EndsAsCancelled(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1")}}
	env := s.env(t)
	s.model = func(ctx context.Context, _ flow.ModelInput) (flow.ModelResult, error) {
		env.CancelWorkflow()
		<-ctx.Done()
		return flow.ModelResult{}, temporal.NewNonRetryableApplicationError("", flow.ErrTypeCancelled, nil)
	}
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, run(env), &cancelled)
	require.Len(t, s.finished, 1)
}

func TestSession_CancelledFromOutsideDuringABegin_StopsTheTurnThatBegins(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1")}, model: done}
	env := s.env(t)
	s.onBegin = func(n int) {
		if n == 1 {
			env.CancelWorkflow()
		}
	}
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, run(env), &cancelled)
	require.Equal(t, []string{"t1"}, s.cancels)
	require.Equal(t, []flow.FinishInput{{TurnID: "t1", Status: chat.TurnCancelled}}, s.finished)
	require.Empty(t, s.calls)
}

func TestSession_WorkersStopAgainAndAgain_ANewRunGoesOn(t *testing.T) {
	for _, kind := range []string{flow.ErrTypeShutdown, flow.ErrTypeLost, flow.ErrTypeRecord} {
		b := turn("t1")
		b.Models = []string{"main", "spare"}
		s := &script{begun: []flow.Begun{b}, model: func(context.Context, flow.ModelInput) (flow.ModelResult, error) {
			return flow.ModelResult{}, temporal.NewApplicationError("", kind)
		}}
		var next *workflow.ContinueAsNewError
		require.ErrorAs(t, run(s.env(t)), &next)
		require.Empty(t, s.finished, "it is no fault of the turn's")
		for _, c := range s.calls {
			require.Zero(t, c.Model, "nor of the model's")
		}
	}
}

func TestSession_FenceRefused_LeavesTheTurnAsItIs(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1")}, model: func(context.Context, flow.ModelInput) (flow.ModelResult, error) {
		return flow.ModelResult{}, temporal.NewNonRetryableApplicationError("", flow.ErrTypeEnded, nil)
	}}
	require.NoError(t, run(s.env(t)))
	require.Empty(t, s.finished)
}

func TestSession_PoisonedOrCancelledBefore_IsEndedWithoutWork(t *testing.T) {
	p, c := turn("t1"), turn("t2")
	p.Failure, c.Cancelled = flow.Failure{Code: flow.CodePoisoned}, true
	s := &script{begun: []flow.Begun{p, c}, model: done}
	require.NoError(t, run(s.env(t)))
	require.Empty(t, s.calls)
	require.Equal(t, []flow.FinishInput{
		{TurnID: "t1", Status: chat.TurnFailed, Failure: flow.Failure{Code: flow.CodePoisoned}},
		{TurnID: "t2", Status: chat.TurnCancelled},
	}, s.finished)
}

func TestSession_UnknownError_FailsTheTurnAsInternal(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1")}, model: func(context.Context, flow.ModelInput) (flow.ModelResult, error) {
		return flow.ModelResult{}, errors.New("bug")
	}}
	require.NoError(t, run(s.env(t)))
	require.Equal(t, flow.CodeInternal, s.finished[0].Failure.Code)
}

func TestSession_LongTurn_ContinuesAsNewBetweenStepsWithItsDeliveries(t *testing.T) {
	b := turn("t1")
	b.Outbound = []string{"o1", "o2"}
	s := &script{begun: []flow.Begun{b}, model: func(_ context.Context, in flow.ModelInput) (flow.ModelResult, error) {
		return flow.ModelResult{Calls: []flow.Call{{Name: "x"}}}, nil
	}}
	s.deliver = func(string) error { return errors.New("the channel is away") }
	env := s.env(t)
	env.ExecuteWorkflow(flow.SessionWorkflow, flow.SessionInput{SessionID: "cli:a:b", MaxSteps: 3})
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	require.Len(t, s.calls, 3)
	require.Len(t, s.tools, 3)
	var in flow.SessionInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	require.Equal(t, []string{"o1", "o2"}, in.Undelivered)
}

func TestSession_ServerSuggestsContinueAsNew_DoesSoBetweenSteps(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1")}}
	env := s.env(t)
	s.model = func(context.Context, flow.ModelInput) (flow.ModelResult, error) {
		env.SetContinueAsNewSuggested(true)
		return flow.ModelResult{Calls: []flow.Call{{Name: "x"}}}, nil
	}
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, run(env), &next)
	require.Len(t, s.calls, 1)
	require.Len(t, s.tools, 1, "the step is finished first")
}

func TestSession_NudgedWhileADeliveryHangs_AnswersAtOnce(t *testing.T) {
	b := turn("t1")
	b.Outbound = []string{"o1"}
	s := &script{begun: []flow.Begun{b}, model: done}
	env := s.env(t)
	tries := 0
	s.deliver = func(string) error {
		if tries++; tries == 3 {
			s.mu.Lock()
			s.begun = []flow.Begun{turn("t2")}
			s.mu.Unlock()
			env.SignalWorkflow(flow.SignalNudge, nil)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.calls) < 2 {
			return errors.New("busy")
		}
		return nil
	}
	require.NoError(t, run(env))
	require.Len(t, s.calls, 2, "a channel that is away keeps no message waiting")
}

func TestSession_Deliveries_AreSentInOrderBesideTheNextTurn(t *testing.T) {
	s := &script{begun: []flow.Begun{turn("t1"), turn("t2")}}
	s.model = func(_ context.Context, in flow.ModelInput) (flow.ModelResult, error) {
		return flow.ModelResult{Outbound: []string{in.TurnID + "/0", in.TurnID + "/1"}}, nil
	}
	failures := 0
	s.deliver = func(id string) error {
		if id == "t1/0" && failures < 2 {
			failures++
			return fmt.Errorf("busy")
		}
		return nil
	}
	require.NoError(t, run(s.env(t)))
	require.Equal(t, []string{"t1/0", "t1/0", "t1/0", "t1/1", "t2/0", "t2/1"}, s.sent)
}
