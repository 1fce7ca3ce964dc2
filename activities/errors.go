package activities

import (
	"context"
	"errors"
	"time"

	"picobot/internal/chat"
	"picobot/internal/tools"
	"picobot/store"
)

var (
	// ErrRefused: a channel will never take this message.
	ErrRefused = errors.New("refused for good")
	// ErrNobodyThere: the message waits in the outbox until somebody of the chat connects.
	ErrNobodyThere = errors.New("nobody of the chat is connected")

	errCancelled = errors.New("a cancel was asked for")
	errEnded     = errors.New("the turn has ended")
	errRecord    = errors.New("the record does not answer")
)

// LaterError says that a channel takes the message, but not yet.
type LaterError struct {
	After time.Duration
	Why   string
}

// Error implements error.
func (e *LaterError) Error() string { return e.Why }

// recorded marks an error of the record, other than its rules, as one that passes.
func recorded(err error) error {
	if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrTurnEnded) {
		return err
	}
	return errors.Join(errRecord, err)
}

// open says whether work may still be done for a turn.
func open(t store.Turn) error {
	switch {
	case t.Status != chat.TurnRunning:
		return errEnded
	case t.CancelRequestedAt != 0:
		return errCancelled
	}
	return nil
}

// fenced turns the record's refusal into what it means for the activity.
func (a *Activities) fenced(ctx context.Context, turnID string, err error) error {
	if !errors.Is(err, store.ErrTurnEnded) {
		return err
	}
	turn, terr := a.Record.Turn(ctx, turnID)
	if terr != nil {
		return terr
	}
	if err := open(turn); err != nil {
		return err
	}
	return err
}

// stopped says why work was stopped: errCancelled, tools.ErrShutdown, or nil when
// ctx has not ended.
func stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, tools.ErrShutdown) {
		return cause
	}
	return errCancelled
}
