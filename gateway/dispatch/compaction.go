package dispatch

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"picobot/internal/flow"
)

// startCompaction starts the workflow that compacts a session. policy says what is to
// become of one that runs already.
func (d *Dispatcher) startCompaction(ctx context.Context, sessionID string, policy enumspb.WorkflowIdConflictPolicy) {
	call, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	_, err := d.client.ExecuteWorkflow(call, client.StartWorkflowOptions{
		ID:                       flow.CompactionWorkflowID(sessionID),
		TaskQueue:                d.opts.Queues.Turns(),
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: policy,
		TypedSearchAttributes:    temporal.NewSearchAttributes(flow.AttributeSession.ValueSet(sessionID)),
		StaticSummary:            sessionID,
	}, flow.CompactionWorkflow, flow.BackgroundInput{SessionID: sessionID, Queues: d.opts.Queues})
	d.result(err)
	if err != nil && ctx.Err() == nil {
		d.opts.Logger.Warn("a compaction could not be started; the next sweep tries again", "session", sessionID, "error", err)
	}
}

// sweepCompactions starts what is due and does not run: its start was lost, or its run.
func (d *Dispatcher) sweepCompactions(ctx context.Context) {
	due, err := d.record.CompactionsDue(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.opts.Logger.Error("sweep: the record cannot be read", "error", err)
		}
		return
	}
	for _, id := range due {
		if ctx.Err() != nil {
			return
		}
		d.startCompaction(ctx, id, enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING)
	}
}
