package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"picobot/internal/tools"
	"picobot/store"
)

// Cleanup says what is cleaned up besides expired dialogs, which the record knows of.
type Cleanup struct {
	// Retention is how long deleted sessions and files that nothing names are kept; 0 =
	// for ever.
	Retention time.Duration
	MediaDir  string
}

// cleanupPage is how many sessions are looked up at once.
const cleanupPage = 100

// CleanUp takes expired dialogs out of use and erases what was deleted, or is named by
// nothing, for longer than it is kept. It does so in many small steps, each of which may
// be the last: what is left is found the next time.
func (a *Activities) CleanUp(ctx context.Context) error {
	c := cleaning{Activities: a, ctx: ctx}
	err := errors.Join(c.expire(), c.erase())
	if c.retired+c.erased+c.files > 0 {
		a.Logger.Info("cleaned up", "expired_dialogs", c.retired, "erased_sessions", c.erased, "erased_files", c.files)
	}
	if err == nil {
		return nil
	}
	return a.failure(ctx, err)
}

// cleaning is one run of CleanUp.
type cleaning struct {
	*Activities
	ctx                    context.Context
	beat                   time.Time
	retired, erased, files int
}

// goOn reports why no other step may be begun, and tells the server that this one lives.
func (c *cleaning) goOn() error {
	if !activity.IsActivity(c.ctx) {
		return c.ctx.Err()
	}
	select {
	case <-activity.GetWorkerStopChannel(c.ctx):
		return tools.ErrShutdown
	default:
	}
	if now := c.Now(); now.Sub(c.beat) >= heartbeatEvery || now.Before(c.beat) {
		c.beat = now
		activity.RecordHeartbeat(c.ctx)
	}
	return c.ctx.Err()
}

func (c *cleaning) expire() error {
	for {
		if err := c.goOn(); err != nil {
			return err
		}
		n, err := c.Record.RetireExpired(c.ctx, cleanupPage)
		c.retired += int(n)
		if err != nil || n == 0 {
			return err
		}
	}
}

func (c *cleaning) erase() error {
	if c.Cleanup.Retention <= 0 {
		return nil
	}
	before := c.Now().Add(-c.Cleanup.Retention)
	for {
		ids, err := c.Record.Erasable(c.ctx, before, cleanupPage)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		for _, id := range ids {
			if err := c.eraseSession(id, before); err != nil {
				return err
			}
		}
	}
	return c.eraseFiles(before)
}

func (c *cleaning) eraseSession(id string, before time.Time) error {
	for {
		if err := c.goOn(); err != nil {
			return err
		}
		gone, err := c.Record.EraseStep(c.ctx, id, before)
		if errors.Is(err, store.ErrReadOnlySession) {
			return nil // something of it is to be sent since it was listed
		}
		if err != nil {
			return err
		}
		if gone {
			c.erased++
			return nil
		}
	}
}
