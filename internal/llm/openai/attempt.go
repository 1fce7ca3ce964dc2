package openai

import (
	"context"
	"errors"
	"time"
)

// errIdle ends an attempt whose stream fell silent.
var errIdle = errors.New("the stream fell silent")

// drainTime is how long a finished stream may take to close the connection in
// good order, so that the next call can use it again.
const drainTime = 100 * time.Millisecond

// attempt is the context of one call: it ends with its parent, after the timeout,
// or when a stream that has begun stays silent for too long. Its methods are
// called from the goroutine of the call.
type attempt struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	expire context.CancelFunc
	idle   time.Duration
	timer  *time.Timer // nil until the first chunk
}

func newAttempt(parent context.Context, timeout, idle time.Duration) *attempt {
	a := &attempt{idle: idle}
	a.ctx, a.expire = context.WithTimeout(parent, timeout)
	a.ctx, a.cancel = context.WithCancelCause(a.ctx)
	return a
}

// chunk starts the idle clock, or starts it again.
func (a *attempt) chunk() {
	if a.timer == nil {
		a.timer = time.AfterFunc(a.idle, func() { a.cancel(errIdle) })
		return
	}
	a.keepalive()
}

// keepalive restarts an idle clock that runs.
func (a *attempt) keepalive() {
	if a.timer != nil {
		a.timer.Reset(a.idle)
	}
}

// draining gives the endpoint drainTime to close a finished stream.
func (a *attempt) draining() (stop func() bool) {
	return time.AfterFunc(drainTime, func() { a.cancel(nil) }).Stop
}

func (a *attempt) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.cancel(nil)
	a.expire()
}
