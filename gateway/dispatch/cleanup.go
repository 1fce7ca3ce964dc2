package dispatch

import (
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"picobot/internal/flow"
)

// cleanRetry is how soon a cleanup that could not be started is started again.
const cleanRetry = 30 * time.Second

// cleanUntil starts a cleanup at once and then periodically, until ctx ends.
func (d *Dispatcher) cleanUntil(ctx context.Context) {
	if d.opts.CleanEvery <= 0 {
		return
	}
	for {
		wait := d.opts.CleanEvery
		if err := d.startCleanup(ctx); err != nil {
			wait = min(wait, cleanRetry)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// startCleanup starts the cleanup unless it is running.
func (d *Dispatcher) startCleanup(ctx context.Context) error {
	call, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	_, err := d.client.ExecuteWorkflow(call, client.StartWorkflowOptions{
		ID:                                       flow.CleanupWorkflowID,
		TaskQueue:                                d.opts.Queues.Turns(),
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            "cleanup",
	}, flow.CleanupWorkflow)
	if _, running := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); running {
		err = nil
	}
	if ctx.Err() == nil {
		d.result(err)
	}
	return err
}
