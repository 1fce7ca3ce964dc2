package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"picobot/internal/flow"
)

// deliveries sends a session's outbox rows, in order, beside the turns: a slow
// channel delays no answer being made.
type deliveries struct {
	queues  flow.Queues
	pending []string
	sending string // id of the row an activity is at
}

func startDeliveries(ctx workflow.Context, q flow.Queues) *deliveries {
	d := &deliveries{queues: q}
	workflow.Go(ctx, d.run)
	return d
}

// add queues rows; one that is queued or being sent already is not queued again.
func (d *deliveries) add(ids []string) {
	for _, id := range ids {
		if id != d.sending && !slices.Contains(d.pending, id) {
			d.pending = append(d.pending, id)
		}
	}
}

func (d *deliveries) idle() bool { return len(d.pending) == 0 && d.sending == "" }

// unsent lists what a following run has to deliver, the row at work included:
// sending it again is harmless.
func (d *deliveries) unsent() []string {
	if d.sending == "" {
		return d.pending
	}
	return append([]string{d.sending}, d.pending...)
}

func (d *deliveries) run(ctx workflow.Context) {
	for {
		// Await fails only when ctx is cancelled, which a detached one never is.
		_ = workflow.Await(ctx, func() bool { return len(d.pending) > 0 })
		id := d.pending[0]
		d.pending, d.sending = d.pending[1:], id
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, deliveryOptions(d.queues)), flow.Deliver, id).Get(ctx, nil)
		if err != nil {
			// The row says what happened; a pending one is swept up later.
			workflow.GetLogger(ctx).Warn("message was not delivered", "outbound", id, "error", err)
		}
		d.sending = ""
	}
}
