package endpoint

import (
	"context"
	"errors"
	"time"
)

// errIdle ends an attempt whose stream fell silent.
var errIdle = errors.New("the stream fell silent")

// DrainTime is how long a finished stream may take to close the connection in
// good order, so that the next call can use it again.
const DrainTime = 100 * time.Millisecond

// Attempt is the context of one call: it ends with its parent, after the timeout,
// or when a stream that has begun stays silent for too long. Its methods are
// called from the goroutine of the call.
type Attempt struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	expire context.CancelFunc
	idle   time.Duration
	timer  *time.Timer // nil until the first chunk
}

func newAttempt(parent context.Context, timeout, idle time.Duration) *Attempt {
	a := &Attempt{idle: idle}
	a.ctx, a.expire = context.WithTimeout(parent, timeout)
	a.ctx, a.cancel = context.WithCancelCause(a.ctx)
	return a
}

// Context ends when the attempt does.
func (a *Attempt) Context() context.Context { return a.ctx }

// chunk starts the idle clock, or starts it again.
func (a *Attempt) chunk() {
	if a.timer == nil {
		a.timer = time.AfterFunc(a.idle, func() { a.cancel(errIdle) })
		return
	}
	a.keepalive()
}

// keepalive restarts an idle clock that runs.
func (a *Attempt) keepalive() {
	if a.timer != nil {
		a.timer.Reset(a.idle)
	}
}

// draining gives the endpoint DrainTime to close a finished stream.
func (a *Attempt) draining() (stop func() bool) {
	return time.AfterFunc(DrainTime, func() { a.cancel(nil) }).Stop
}

// Stop lets go of everything.
func (a *Attempt) Stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.cancel(nil)
	a.expire()
}
