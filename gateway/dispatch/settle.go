package dispatch

import (
	"context"
	"time"

	"picobot/internal/flow"
)

const (
	settleEvery = 20 * time.Millisecond
	settleFor   = time.Second
)

// Settle waits, a second at most, until the runs whose work is done have closed: a
// process that leaves right after an answer would leave a run open that has nothing
// left to do but end, and the next start would show it as terminated. Runs with
// something unfinished are not waited for.
func (d *Dispatcher) Settle(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, settleFor)
	defer stop()
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for d.closing(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// closing reports whether a run is open that has nothing left to do.
func (d *Dispatcher) closing(ctx context.Context) bool {
	unfinished, err := d.record.Unfinished(ctx, 0)
	if err != nil {
		return false
	}
	busy := map[string]bool{}
	for _, id := range unfinished {
		busy[flow.SessionWorkflowID(id)] = true
	}
	open, err := d.openRuns(ctx, flow.SessionWorkflow)
	if err != nil {
		return false
	}
	for _, id := range open {
		if !busy[id] {
			return true
		}
	}
	return false
}
