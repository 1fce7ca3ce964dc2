package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"

	"picobot/internal/flow"
	"picobot/store"
)

// Prepare fetches what a waiting turn's message only points at and writes it down, so
// that the turn can begin.
func (a *Activities) Prepare(ctx context.Context, in flow.PrepareInput) error {
	m, err := a.Record.Unprepared(ctx, in.TurnID)
	if errors.Is(err, store.ErrNotFound) {
		return nil // done before, or the turn was cancelled
	}
	if err != nil {
		return err
	}
	p, ok := a.Preparers[m.Channel]
	if !ok {
		return a.unprepared(ctx, in.TurnID)
	}
	content, media, err := p.Prepare(ctx, m, int(activity.GetInfo(ctx).Attempt) >= in.Attempts)
	if err != nil {
		return fmt.Errorf("fetch what belongs to the message: %s", a.Mask(err.Error()))
	}
	return a.Record.Prepared(context.WithoutCancel(ctx), in.TurnID, content, media)
}

// unprepared lets a turn begin without what could not be fetched.
func (a *Activities) unprepared(ctx context.Context, turnID string) error {
	m, err := a.Record.Unprepared(ctx, turnID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return a.Record.Prepared(ctx, turnID, joinText(m.Content, "[something that belongs to this message could not be fetched]"), m.Media)
}
