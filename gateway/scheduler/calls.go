package scheduler

import (
	"context"
	"errors"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"picobot/internal/flow"
)

// ours reports whether a schedule is one of this installation's.
func (r *Reconciler) ours(id, note string) bool {
	return strings.HasPrefix(id, flow.JobWorkflowID("")) && strings.HasPrefix(note, r.mark())
}

func (r *Reconciler) create(ctx context.Context, w wanted) error {
	_, err := r.client.ScheduleClient().Create(ctx, w.options())
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return r.update(ctx, w) // the list did not have it yet
	}
	return err
}

func (r *Reconciler) update(ctx context.Context, w wanted) error {
	err := r.client.ScheduleClient().GetHandle(ctx, w.id).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			return &client.ScheduleUpdate{Schedule: w.schedule()}, nil
		},
	})
	if gone(err) {
		_, err = r.client.ScheduleClient().Create(ctx, w.options())
	}
	return err
}

func (r *Reconciler) delete(ctx context.Context, id string) error {
	if err := r.client.ScheduleClient().GetHandle(ctx, id).Delete(ctx); !gone(err) {
		return err
	}
	return nil
}

func gone(err error) bool {
	_, ok := errors.AsType[*serviceerror.NotFound](err)
	return ok
}

func invalid(err error) bool {
	_, ok := errors.AsType[*serviceerror.InvalidArgument](err)
	return ok
}
