package dispatch

import (
	"context"
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"picobot/internal/flow"
)

// sweep nudges sessions that have something waiting, made no progress for a
// while, and that no run is at: a nudge that got lost costs at most one sweep.
func (d *Dispatcher) sweep(ctx context.Context) {
	stuck, err := d.record.Waiting(ctx, d.opts.Now().Add(-d.opts.StuckAfter))
	if err != nil {
		d.opts.Logger.Error("sweep: the record cannot be read", "error", err)
		return
	}
	for _, id := range stuck {
		running, err := d.running(ctx, id)
		d.result(err)
		if err != nil {
			return
		}
		if !running {
			d.opts.Logger.Warn("sweep: a session has something waiting and no run", "session", id)
			d.Nudge(id)
		}
	}
}

// running reports whether the session's workflow is open. A long model call or
// tool makes no progress in the record either; nudging its run again and again
// would only fill its history.
func (d *Dispatcher) running(ctx context.Context, sessionID string) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	desc, err := d.client.DescribeWorkflowExecution(ctx, flow.SessionWorkflowID(sessionID), "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return desc.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}
