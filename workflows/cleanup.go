package workflows

import (
	"go.temporal.io/sdk/workflow"

	"picobot/internal/flow"
)

// Cleanup takes expired dialogs out of use and erases what is kept no longer. Everything
// it needs to know is in the record and the configuration. It runs on its own, and as a
// child of a job that asks for session_cleanup.
func Cleanup(ctx workflow.Context) error {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, cleanupOptions), flow.CleanUp).Get(ctx, nil)
}
