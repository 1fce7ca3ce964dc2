package workflows_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/flow"
	"picobot/workflows"
)

// upkeep is a record of so many people whose memories have changed, as the maintenance
// workflow finds it.
type upkeep struct {
	people  int
	parts   int // of each person's memories
	plan    func(in flow.MaintenancePart) (flow.MaintenancePlanned, error)
	onApply func()
	trace   []string
	result  flow.MaintenanceResult
	ended   []flow.MaintenanceEnd
}

func (u *upkeep) env(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(20 * time.Second)
	env.RegisterWorkflowWithOptions(workflows.MemoryMaintenance, workflow.RegisterOptions{Name: flow.MemoryMaintenanceWorkflow})
	reg := func(name string, fn any) { env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name}) }
	reg(flow.NextMaintenance, func(_ context.Context, in flow.MaintenanceInput) (flow.MaintenanceNext, error) {
		n := 0
		if in.After != "" {
			_, err := fmt.Sscanf(in.After, "cli:%d", &n)
			require.NoError(t, err)
			n++
		}
		if n >= u.people {
			return flow.MaintenanceNext{}, nil
		}
		return flow.MaintenanceNext{Scope: fmt.Sprint("cli:", n), Rev: 1, Models: []string{"main", "spare"}}, nil
	})
	reg(flow.PlanMaintenance, func(_ context.Context, in flow.MaintenancePart) (flow.MaintenancePlanned, error) {
		u.trace = append(u.trace, fmt.Sprintf("plan %s@%d part %d model %d", in.Scope, in.Rev, in.Part, in.Model))
		if u.plan != nil {
			return u.plan(in)
		}
		return flow.MaintenancePlanned{Rev: in.Rev, More: in.Part+1 < u.parts, Asked: true}, nil
	})
	reg(flow.ApplyMaintenance, func(_ context.Context, in flow.MaintenanceScope) (flow.MaintenanceApplied, error) {
		u.trace = append(u.trace, fmt.Sprintf("apply %s@%d", in.Scope, in.Rev))
		if u.onApply != nil {
			u.onApply()
		}
		return flow.MaintenanceApplied{Done: true}, nil
	})
	reg(flow.FailMaintenance, func(_ context.Context, in flow.MaintenanceScope) error {
		u.trace = append(u.trace, fmt.Sprintf("fail %s: %v", in.Scope, in.Failure))
		return nil
	})
	reg(flow.FinishMaintenance, func(_ context.Context, in flow.MaintenanceEnd) (flow.MaintenanceResult, error) {
		u.ended = append(u.ended, in)
		return u.result, nil
	})
	return env
}

func TestMemoryMaintenance_PlansAllPartsBeforeItApplies_OneScopeAfterTheOther(t *testing.T) {
	u := &upkeep{people: 2, parts: 2}
	env := u.env(t)
	env.ExecuteWorkflow(flow.MemoryMaintenanceWorkflow, flow.MaintenanceInput{})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{
		"plan cli:0@1 part 0 model 0", "plan cli:0@1 part 1 model 0", "apply cli:0@1",
		"plan cli:1@1 part 0 model 0", "plan cli:1@1 part 1 model 0", "apply cli:1@1",
	}, u.trace)
	require.Equal(t, []flow.MaintenanceEnd{{Run: "default-test-run-id"}}, u.ended)
}

func TestMemoryMaintenance_ModelFailsForGood_TheNextIsAsked_ThenTheScopeFails(t *testing.T) {
	u := &upkeep{people: 2, plan: func(in flow.MaintenancePart) (flow.MaintenancePlanned, error) {
		if in.Scope == "cli:0" {
			return flow.MaintenancePlanned{}, temporal.NewApplicationErrorWithOptions("", flow.ErrTypeModel, temporal.ApplicationErrorOptions{
				NonRetryable: true, Details: []any{flow.Failure{Code: "auth", Model: fmt.Sprint(in.Model)}}})
		}
		return flow.MaintenancePlanned{Rev: 1, Asked: true}, nil
	}, result: flow.MaintenanceResult{Failed: 1, Error: "cli:0: no model answered"}}
	env := u.env(t)
	env.ExecuteWorkflow(flow.MemoryMaintenanceWorkflow, flow.MaintenanceInput{})
	require.ErrorContains(t, env.GetWorkflowError(), "cli:0: no model answered")
	require.Equal(t, []string{
		"plan cli:0@1 part 0 model 0", "plan cli:0@1 part 0 model 1", "fail cli:0: [{auth 0  0 } {auth 1  0 }]",
		"plan cli:1@1 part 0 model 0", "apply cli:1@1",
	}, u.trace)
}

func TestMemoryMaintenance_ManyScopes_ContinuesAsNewWhereItIs(t *testing.T) {
	u := &upkeep{people: 70, parts: 1}
	env := u.env(t)
	env.ExecuteWorkflow(flow.MemoryMaintenanceWorkflow, flow.MaintenanceInput{Scope: "", Again: true})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	var in flow.MaintenanceInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &in))
	require.Equal(t, flow.MaintenanceInput{Queues: flow.Queues{Base: "default-test-taskqueue"}, Again: true, Run: "default-test-run-id", After: "cli:49", Calls: 50}, in)
	require.Empty(t, u.ended)
	env = u.env(t)
	env.ExecuteWorkflow(flow.MemoryMaintenanceWorkflow, in)
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, u.trace, 140)
	require.Len(t, u.ended, 1)
}

func TestMemoryMaintenance_CallsAreCapped(t *testing.T) {
	u := &upkeep{people: 300, parts: 1000}
	in := flow.MaintenanceInput{}
	for range 10 {
		env := u.env(t)
		env.ExecuteWorkflow(flow.MemoryMaintenanceWorkflow, in)
		var again *workflow.ContinueAsNewError
		if env.GetWorkflowError() == nil {
			break
		}
		require.ErrorAs(t, env.GetWorkflowError(), &again)
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &in))
	}
	plans := 0
	for _, line := range u.trace {
		if line[:4] == "plan" {
			plans++
		}
	}
	require.Equal(t, 200, plans)
	require.Len(t, u.ended, 1)
}

func TestMemoryMaintenance_Cancelled_EndsTheRunAndSaysSo(t *testing.T) {
	u := &upkeep{people: 3, parts: 1}
	env := u.env(t)
	u.onApply = env.CancelWorkflow
	env.ExecuteWorkflow(flow.MemoryMaintenanceWorkflow, flow.MaintenanceInput{})
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()))
	require.Equal(t, "it was cancelled", u.ended[0].Why)
	require.Equal(t, []string{"plan cli:0@1 part 0 model 0", "apply cli:0@1"}, u.trace)
}
