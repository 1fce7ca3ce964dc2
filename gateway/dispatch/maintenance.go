package dispatch

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"picobot/internal/flow"
)

// Maintain starts memory maintenance: of one scope, or of all that have changed ("").
// It returns the run's id, which the record knows it by. Unlike a nudge it waits for
// Temporal, and fails with flow.ErrMaintenanceRuns while a run is open.
func (d *Dispatcher) Maintain(ctx context.Context, scope string) (run string, err error) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	o := d.maintenanceOptions()
	o.WorkflowExecutionErrorWhenAlreadyStarted = true
	w, err := d.client.ExecuteWorkflow(ctx, o, flow.MemoryMaintenanceWorkflow, flow.MaintenanceInput{Queues: d.opts.Queues, Scope: scope, Again: true})
	if _, open := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); open {
		return "", flow.ErrMaintenanceRuns
	}
	d.result(err)
	if err != nil {
		return "", fmt.Errorf("start memory maintenance: %w", err)
	}
	return w.GetRunID(), nil
}

func (d *Dispatcher) maintenanceOptions() client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                    flow.MemoryMaintenanceID,
		TaskQueue:             d.opts.Queues.Turns(),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         "tidy what is remembered of people",
	}
}

// resumeMaintenance sets a run of maintenance going anew that a dead process left, from
// where the record stands. One that is part of a job's run is that run's to see to.
func (d *Dispatcher) resumeMaintenance(ctx context.Context) error {
	left, err := d.record.RunningMaintenance(ctx)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	open, err := d.client.DescribeWorkflowExecution(ctx, flow.MemoryMaintenanceID, "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); err != nil && !none {
		return err
	}
	info := open.GetWorkflowExecutionInfo()
	running := info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	if running && info.GetParentExecution().GetWorkflowId() != "" || !running && left == nil {
		return nil
	}
	if left == nil { // it has done its work, or has not begun
		return d.terminate(ctx, flow.MemoryMaintenanceID)
	}
	o := d.maintenanceOptions()
	o.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	_, err = d.client.ExecuteWorkflow(ctx, o, flow.MemoryMaintenanceWorkflow, flow.MaintenanceInput{Queues: d.opts.Queues, Scope: left.Scope, Run: left.ID})
	return err
}
