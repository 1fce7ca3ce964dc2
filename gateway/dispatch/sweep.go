package dispatch

import (
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"picobot/internal/flow"
)

// nudgeAgain is how long an open run that makes no progress is left alone between
// two nudges: long work makes none either, and each nudge grows its history.
const nudgeAgain = 10 * time.Minute

// sweepUntil sweeps at once and then periodically, until ctx ends.
func (d *Dispatcher) sweepUntil(ctx context.Context) {
	nudged := map[string]time.Time{}
	d.sweep(ctx, 0, nudged)
	d.sweepCompactions(ctx)
	tick := time.NewTicker(d.opts.SweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.sweep(ctx, d.opts.StuckAfter, nudged)
			d.sweepCompactions(ctx)
		}
	}
}

// sweep nudges sessions that have something unfinished, made no progress for a
// while, and that no run is at: a nudge that got lost costs at most one sweep.
func (d *Dispatcher) sweep(ctx context.Context, quietFor time.Duration, nudged map[string]time.Time) {
	stuck, err := d.record.Unfinished(ctx, quietFor)
	if err != nil {
		if ctx.Err() == nil {
			d.opts.Logger.Error("sweep: the record cannot be read", "error", err)
		}
		return
	}
	still := map[string]bool{}
	for _, id := range stuck {
		still[id] = true
		running, err := d.running(ctx, id)
		if ctx.Err() != nil {
			return
		}
		d.result(err)
		if err != nil {
			return
		}
		// A first look (quietFor 0) is for what has no run; an open one may just be at work.
		if running && (quietFor == 0 || d.opts.Now().Sub(nudged[id]) < nudgeAgain) {
			continue
		}
		nudged[id] = d.opts.Now()
		if !running {
			d.opts.Logger.Info("sweep: a session has something unfinished and no run", "session", id)
		}
		d.Nudge(id)
	}
	for id := range nudged {
		if !still[id] {
			delete(nudged, id)
		}
	}
}

// running reports whether the session's workflow is open.
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
