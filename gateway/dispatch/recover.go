package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"picobot/internal/flow"
)

const recoverReason = "picobot was restarted: the turn goes on from the record in the next run"

// Recover sets every session going that has something unfinished, and ends the
// runs a dead process left open. It is for a gateway that is the only one to run
// work (embedded Temporal): the process lock proves that whoever held those runs'
// tasks is dead, so nothing waits for a timeout, and a run that the record knows
// better than its own history starts from the record. It must be called before
// the worker runs.
func (d *Dispatcher) Recover(ctx context.Context) error {
	unfinished, err := d.record.Unfinished(ctx, 0)
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	// One session that cannot be restarted must not keep the others from going on: it
	// is nudged like any other that got stuck.
	var g errgroup.Group
	g.SetLimit(maxInFlight)
	restarted := map[string]bool{}
	for _, id := range unfinished {
		restarted[flow.SessionWorkflowID(id)] = true
		g.Go(func() error {
			if err := d.restart(ctx, id); err != nil {
				d.opts.Logger.Error("recover: a session could not be restarted", "session", id, "error", err)
				d.Nudge(id)
			}
			return nil
		})
	}
	due, err := d.record.CompactionsDue(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("recover: %w", err), g.Wait())
	}
	for _, id := range due {
		restarted[flow.CompactionWorkflowID(id)] = true
		g.Go(func() error {
			d.startCompaction(ctx, id, enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING)
			return nil
		})
	}
	g.Go(func() error {
		if err := d.resumeMaintenance(ctx); err != nil {
			d.opts.Logger.Error("recover: memory maintenance does not go on; the next run does what is left", "error", err)
		}
		return nil
	})
	open, err := d.openRuns(ctx, flow.SessionWorkflow, flow.CompactionWorkflow, flow.TitleWorkflow)
	if err != nil {
		return errors.Join(fmt.Errorf("recover: list open runs: %w", err), g.Wait())
	}
	for _, id := range open {
		if restarted[id] {
			continue
		}
		g.Go(func() error {
			if err := d.terminate(ctx, id); err != nil {
				d.opts.Logger.Error("recover: an idle run could not be ended", "workflow", id, "error", err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if len(unfinished) > 0 {
		d.opts.Logger.Info("unfinished sessions go on", "sessions", len(unfinished))
	}
	return nil
}

// restart starts a fresh run of the session in place of any open one.
func (d *Dispatcher) restart(ctx context.Context, sessionID string) error {
	o := d.startOptions(sessionID)
	o.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	_, err := d.client.ExecuteWorkflow(ctx, o, flow.SessionWorkflow, d.input(sessionID))
	if err != nil {
		return fmt.Errorf("restart session %s: %w", sessionID, err)
	}
	return nil
}

func (d *Dispatcher) terminate(ctx context.Context, workflowID string) error {
	err := d.client.TerminateWorkflow(ctx, workflowID, "", recoverReason)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil
	}
	return err
}

// openRuns lists the ids of open workflows of these types.
func (d *Dispatcher) openRuns(ctx context.Context, types ...string) ([]string, error) {
	var ids []string
	var page []byte
	for {
		resp, err := d.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query:         fmt.Sprintf("WorkflowType IN ('%s') AND ExecutionStatus = 'Running' AND TaskQueue = '%s'", strings.Join(types, "', '"), d.opts.Queues.Turns()),
			NextPageToken: page,
		})
		if err != nil {
			return nil, err
		}
		for _, e := range resp.GetExecutions() {
			ids = append(ids, e.GetExecution().GetWorkflowId())
		}
		if page = resp.GetNextPageToken(); len(page) == 0 {
			return ids, nil
		}
	}
}
