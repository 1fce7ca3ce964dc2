package workflows_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/flow"
	"picobot/workflows"
)

func cleanupEnv(fn func(context.Context) error) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: flow.CleanUp})
	env.RegisterWorkflowWithOptions(workflows.Cleanup, workflow.RegisterOptions{Name: flow.CleanupWorkflow})
	return env
}

func TestCleanup_FailsAFewTimes_IsTriedAgainAndThenGivenUp(t *testing.T) {
	tries := 0
	env := cleanupEnv(func(context.Context) error {
		if tries++; tries < 3 {
			return errors.New("the record cannot be written")
		}
		return nil
	})
	env.ExecuteWorkflow(flow.CleanupWorkflow)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 3, tries)

	tries = 0
	env = cleanupEnv(func(context.Context) error { tries++; return errors.New("the record cannot be written") })
	env.ExecuteWorkflow(flow.CleanupWorkflow)
	require.ErrorContains(t, env.GetWorkflowError(), "the record cannot be written")
	require.Equal(t, 5, tries)
}

// A job for the event session_cleanup runs it as a child.
func TestCleanup_AsAChild_TellsItsParent(t *testing.T) {
	ran := false
	env := cleanupEnv(func(context.Context) error { ran = true; return nil })
	parent := func(ctx workflow.Context) error {
		return workflow.ExecuteChildWorkflow(ctx, flow.CleanupWorkflow).Get(ctx, nil)
	}
	env.RegisterWorkflow(parent)
	env.ExecuteWorkflow(parent)
	require.NoError(t, env.GetWorkflowError())
	require.True(t, ran)
}
