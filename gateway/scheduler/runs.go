package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"picobot/internal/flow"
	"picobot/store"
)

// lookAgain is how long a run's workflow is taken to be there after it was seen.
const lookAgain = 30 * time.Second

// startRuns starts a workflow for each run that has none: runs by hand, runs that
// make up for a slot, and those whose workflow was lost.
func (r *Reconciler) startRuns(ctx context.Context) error {
	runs, err := r.record.RunningJobRuns(ctx)
	if err != nil {
		return err
	}
	now := r.opts.Now()
	still := map[string]time.Time{}
	defer func() { r.started = still }()
	var failed []error // one run that cannot be started holds up no other
	for _, run := range runs {
		if seen, ok := r.started[run.ID]; ok && now.Sub(seen) < lookAgain {
			still[run.ID] = seen
			continue
		}
		if run.WorkflowID != "" {
			alive, err := r.alive(ctx, run)
			if unreachable(err) {
				return err
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("run %s of job %s: %w", run.ID, run.JobID, err))
				continue
			}
			if alive {
				still[run.ID] = now
				continue
			}
		}
		switch err := r.start(ctx, run); {
		case unreachable(err):
			return err
		case err != nil:
			failed = append(failed, fmt.Errorf("run %s of job %s: %w", run.ID, run.JobID, err))
			continue
		}
		still[run.ID] = now
	}
	return errors.Join(failed...)
}

// unreachable reports that Temporal did not answer: it need not be asked about others.
func unreachable(err error) bool {
	if _, ok := errors.AsType[*serviceerror.Unavailable](err); ok {
		return true
	}
	_, ok := errors.AsType[*serviceerror.DeadlineExceeded](err)
	return ok || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func (r *Reconciler) alive(ctx context.Context, run store.JobRun) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	desc, err := r.client.DescribeWorkflowExecution(ctx, run.WorkflowID, run.RunID)
	if gone(err) {
		return false, nil
	}
	return err == nil && desc.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, err
}

func (r *Reconciler) start(ctx context.Context, run store.JobRun) error {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	_, err := r.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       flow.JobWorkflowID(run.JobID) + "/run/" + run.ID,
		TaskQueue:                r.opts.Queues.Turns(),
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		TypedSearchAttributes:    temporal.NewSearchAttributes(flow.AttributeJob.ValueSet(run.JobID)),
		StaticSummary:            fmt.Sprintf("%s %s (%s)", run.Job.Kind, run.JobID, run.Trigger),
		Priority:                 temporal.Priority{PriorityKey: flow.ScheduledPriority},
	}, flow.JobWorkflow, flow.JobInput{JobID: run.JobID, RunID: run.ID, Queues: r.opts.Queues})
	if err != nil {
		return fmt.Errorf("start run %s of job %s: %w", run.ID, run.JobID, err)
	}
	return nil
}

const recoverReason = "picobot was restarted: the run goes on from the record in another workflow"

// Recover ends the workflows of runs that a dead process left, so that nothing waits
// for its timeouts; Run starts them anew from the record. It is for a gateway that is
// the only one to run work, before its worker does.
func (r *Reconciler) Recover(ctx context.Context) error {
	// The list may not have what was started last: the record names it.
	runs, err := r.record.RunningJobRuns(ctx)
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	for _, run := range runs {
		if run.WorkflowID != "" {
			r.terminate(ctx, run.WorkflowID, run.RunID)
		}
	}
	var page []byte
	for {
		resp, err := r.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query:         fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running' AND TaskQueue = '%s'", flow.JobWorkflow, r.opts.Queues.Turns()),
			NextPageToken: page,
		})
		if err != nil {
			return fmt.Errorf("recover: list open runs of jobs: %w", err)
		}
		for _, e := range resp.GetExecutions() {
			id := e.GetExecution().GetWorkflowId()
			if !strings.HasPrefix(id, flow.JobWorkflowID("")) {
				continue
			}
			r.terminate(ctx, id, e.GetExecution().GetRunId())
		}
		if page = resp.GetNextPageToken(); len(page) == 0 {
			return nil
		}
	}
}

func (r *Reconciler) terminate(ctx context.Context, id, runID string) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	if err := r.client.TerminateWorkflow(ctx, id, runID, recoverReason); err != nil && !gone(err) {
		r.opts.Logger.Error("recover: a run of a job could not be ended", "workflow", id, "error", err)
	}
}
