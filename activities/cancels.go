package activities

import (
	"context"
	"time"
)

// How often a worker without a gateway in its process looks whether somebody wrote to
// the record, and after which time it looks again when it cannot.
const (
	cancelPoll  = 50 * time.Millisecond
	cancelRetry = time.Second
)

// FollowCancels stops, until ctx ends, what this process does for turns that another one
// has cancelled, as CancelTurn does for this one. Without it they would hear of
// it with the next heartbeat.
func (a *Activities) FollowCancels(ctx context.Context) error {
	for {
		err := a.Record.Follow(ctx, cancelPoll, func(elsewhere bool) {
			if elsewhere {
				a.stopAsked(ctx)
			}
		})
		if ctx.Err() != nil {
			return nil
		}
		a.Logger.Warn("cancels cannot be followed now: they are heard of later", "error", err)
		select {
		case <-time.After(cancelRetry):
		case <-ctx.Done():
			return nil
		}
	}
}

func (a *Activities) stopAsked(ctx context.Context) {
	here := a.flights.turns()
	if len(here) == 0 {
		return
	}
	asked, err := a.Record.CancelledAmong(ctx, here)
	if err != nil {
		if ctx.Err() == nil {
			a.Logger.Warn("the record could not be asked which turns were cancelled", "error", err) // heartbeats ask again
		}
		return
	}
	for _, turnID := range asked {
		a.CancelTurn(turnID)
	}
}
