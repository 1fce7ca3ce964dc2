package activities

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"picobot/internal/flow"
	"picobot/internal/llm"
	"picobot/internal/tools"
	"picobot/internal/tracing"
	"picobot/store"
)

// heartbeatEvery is how often a running activity tells the server it lives; a
// cancel travels back with it.
const heartbeatEvery = 3 * time.Second

// flights is the work in flight in this process. The work of an activity does not
// run in the attempt's own context but beside it: an attempt that the server gave
// up (a laptop that slept, a heartbeat that got lost) leaves it running, and the
// next attempt in the same process joins it instead of doing it a second time.
type flights struct {
	mu sync.Mutex
	m  map[flightKey]*flight
}

type flightKey struct {
	turn     string // "" = it is no turn's
	session  string // of background work, which is no turn's
	what     string // name of the activity of background work
	step     int
	position int // -1 = the model call of the step
	attempt  int // which model of the agent; 0 for tools
}

type flight struct {
	done   chan struct{}
	cancel context.CancelCauseFunc
	result any
	err    error
}

func newFlights() *flights { return &flights{m: map[flightKey]*flight{}} }

// cancel stops all work of a turn.
func (f *flights) cancel(turnID string, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, fl := range f.m {
		if k.turn == turnID {
			fl.cancel(cause)
		}
	}
}

// turns lists the turns that there is work of.
func (f *flights) turns() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	some := map[string]bool{}
	for k := range f.m {
		if k.turn != "" {
			some[k.turn] = true
		}
	}
	return slices.Collect(maps.Keys(some))
}

// cancelAll stops the work of every turn.
func (f *flights) cancelAll(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fl := range f.m {
		fl.cancel(cause)
	}
}

// start begins fn, or finds it running.
func (f *flights) start(k flightKey, fn func(context.Context) (any, error)) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl, ok := f.m[k]; ok {
		return fl
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	fl := &flight{done: make(chan struct{}), cancel: cancel}
	f.m[k] = fl
	go func() {
		defer func() {
			if p := recover(); p != nil {
				fl.err = &panicError{value: p, stack: debug.Stack()}
			}
			f.mu.Lock()
			delete(f.m, k)
			f.mu.Unlock()
			cancel(nil)
			close(fl.done)
		}()
		fl.result, fl.err = fn(ctx)
	}()
	return fl
}

// panicError is a fault of ours. Its stack is for the log: Temporal's history keeps
// the value only.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("the activity panicked: %v", e.value) }

// fly runs fn as the work of k and waits for it as one attempt of an activity
// does: it beats from a timer, and passes on why the work must stop. Only a
// cancel that the record knows of stops the work as cancelled; a context that
// ends for any other reason (a lost heartbeat, a timeout) ends the attempt only.
func fly[T any](ctx context.Context, a *Activities, k flightKey, fn func(context.Context) (T, error)) (T, error) {
	var zero T
	stop, ended := activity.GetWorkerStopChannel(ctx), ctx.Done()
	select {
	case <-stop:
		a.forgive(ctx, k.turn)
		return zero, a.failure(ctx, tools.ErrShutdown) // too late to begin anything
	default:
	}
	fl := a.flights.start(k, func(beside context.Context) (any, error) { return fn(tracing.Beside(beside, ctx)) })
	past := earlier(ctx)
	alive := time.NewTicker(heartbeatEvery)
	defer alive.Stop()
	for {
		select {
		case <-fl.done:
			if errors.Is(fl.err, tools.ErrShutdown) {
				a.forgive(ctx, k.turn)
			}
			if fl.err != nil {
				return zero, a.failure(ctx, fl.err)
			}
			return fl.result.(T), nil
		case <-alive.C:
			beat(ctx, past)
			// A cancel reaches work here at once and elsewhere by signal. The record is what
			// it is read from when neither got through.
			if asked, err := a.cancelRequested(ctx, k); err == nil && asked {
				fl.cancel(tools.ErrCancelled)
			}
		case <-stop:
			fl.cancel(tools.ErrShutdown)
			stop = nil
		case <-ended:
			ended = nil
			if errors.Is(context.Cause(ctx), worker.ErrWorkerShutdown) {
				fl.cancel(tools.ErrShutdown)
				continue
			}
			asked, err := a.cancelRequested(ctx, k)
			if err != nil || !asked {
				return zero, temporal.NewApplicationErrorWithCause("the attempt was given up, its work goes on", flow.ErrTypeLost, errors.Join(context.Cause(ctx), err))
			}
			fl.cancel(tools.ErrCancelled)
		}
	}
}

// cancelRequested asks the record. Nobody cancels what is no turn's.
func (a *Activities) cancelRequested(ctx context.Context, k flightKey) (bool, error) {
	if k.turn == "" {
		return false, nil
	}
	return a.Record.CancelRequested(context.WithoutCancel(ctx), k.turn)
}

// forgive records that the worker stopped of its own will, which counts as no claim.
func (a *Activities) forgive(ctx context.Context, turnID string) {
	if turnID == "" {
		return
	}
	if err := a.Record.Forgive(context.WithoutCancel(ctx), turnID); err != nil {
		a.Logger.Warn("a clean stop could not be recorded", "turn", turnID, "error", err)
	}
}

// wanted is an error that ends an activity as somebody wished: nothing to retry, and
// nothing to log as an error.
func wanted(message, errType string) error {
	return temporal.NewApplicationErrorWithOptions(message, errType,
		temporal.ApplicationErrorOptions{NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign})
}

// failure gives an error of the work the type that workflows tell apart.
func (a *Activities) failure(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errCancelled):
		return wanted("a cancel was asked for", flow.ErrTypeCancelled)
	case errors.Is(err, errEnded), errors.Is(err, store.ErrNotFound):
		// A turn that is not in the record (a backup was put back) is nobody's to run.
		return wanted("the turn has ended", flow.ErrTypeEnded)
	case errors.Is(err, tools.ErrShutdown):
		return temporal.NewApplicationErrorWithOptions("the worker stops", flow.ErrTypeShutdown,
			temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond, Category: temporal.ApplicationErrorCategoryBenign})
	}
	if _, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*llm.Error](err); ok {
		return err // the model call says itself what it means
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		a.Logger.Error("an activity panicked", "panic", p.value, "stack", string(p.stack))
	}
	if errors.Is(err, errRecord) {
		return temporal.NewApplicationError(a.Mask(err.Error()), flow.ErrTypeRecord)
	}
	return errors.New(a.Mask(err.Error()))
}
