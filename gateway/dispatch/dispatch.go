package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/store"
)

// Options of a Dispatcher.
type Options struct {
	Queues flow.Queues
	// SweepEvery is how often stuck sessions are looked for, StuckAfter how long one
	// must be without progress to be looked at.
	SweepEvery time.Duration
	StuckAfter time.Duration
	// CleanEvery is how often the record is cleaned up, from the start on; 0 = never.
	CleanEvery time.Duration
	// CancelHere stops what this process does for a turn, at once; nil when no worker
	// runs in this process.
	CancelHere func(turnID string)
	Now        func() time.Time
	Logger     *slog.Logger
}

// Dispatcher starts and nudges session workflows. Safe for concurrent use.
type Dispatcher struct {
	client client.Client
	record *store.Store
	opts   Options

	mu      sync.Mutex
	queued  map[string]struct{} // sessions waiting for a nudge
	order   []string
	failed  []string // nudges that did not get through: tried again at the next retry
	cancels []cancel
	compact []string // sessions whose compaction is to be started
	wake    chan struct{}
	lastErr error // of the last call to Temporal; nil = it answered
}

type cancel struct{ sessionID, turnID string }

// New returns a dispatcher that works once it runs; what it is asked for before
// is kept.
func New(c client.Client, record *store.Store, o Options) *Dispatcher {
	return &Dispatcher{client: c, record: record, opts: o, queued: map[string]struct{}{}, wake: make(chan struct{}, 1)}
}

// Nudge asks for the session's workflow to look at the record. It never waits.
func (d *Dispatcher) Nudge(sessionID string) {
	d.mu.Lock()
	d.enqueue(sessionID)
	d.mu.Unlock()
	d.signal()
}

// enqueue queues a nudge; several for one session merge. d.mu is held.
func (d *Dispatcher) enqueue(sessionID string) {
	if _, ok := d.queued[sessionID]; !ok {
		d.queued[sessionID] = struct{}{}
		d.order = append(d.order, sessionID)
	}
}

// retryFailed queues again what did not get through.
func (d *Dispatcher) retryFailed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range d.failed {
		d.enqueue(id)
	}
	d.failed = nil
}

// CancelTurn passes on a cancel that the record has already: at once to work in
// this process, by signal to the workflow. It never waits.
func (d *Dispatcher) CancelTurn(sessionID, turnID string) {
	if d.opts.CancelHere != nil {
		d.opts.CancelHere(turnID)
	}
	d.mu.Lock()
	d.cancels = append(d.cancels, cancel{sessionID, turnID})
	d.mu.Unlock()
	d.signal()
}

// Compact starts the compaction of a session that the record says is due. It never
// waits; a start that fails is made up for by the sweep.
func (d *Dispatcher) Compact(sessionID string) {
	d.mu.Lock()
	d.compact = append(d.compact, sessionID)
	d.mu.Unlock()
	d.signal()
}

func (d *Dispatcher) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Err returns why Temporal could not be told something lately, or nil.
func (d *Dispatcher) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lastErr
}

const (
	maxInFlight = 16
	callTimeout = 10 * time.Second
	retryAfter  = time.Second
)

// Run dispatches until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) error {
	g := &errgroup.Group{}
	g.SetLimit(maxInFlight)
	var periodic sync.WaitGroup
	periodic.Go(func() { d.sweepUntil(ctx) })
	periodic.Go(func() { d.cleanUntil(ctx) })
	defer periodic.Wait()
	retry := time.NewTicker(retryAfter)
	defer retry.Stop()
	for {
		for ctx.Err() == nil {
			work := d.next(ctx)
			if work == nil {
				break
			}
			g.Go(func() error { work(); return nil })
		}
		select {
		case <-ctx.Done():
			return g.Wait()
		case <-d.wake:
		case <-retry.C:
			d.retryFailed()
		}
	}
}

// next takes one piece of work off the queue, nil when there is none.
func (d *Dispatcher) next(ctx context.Context) func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.cancels) > 0 {
		c := d.cancels[0]
		d.cancels = d.cancels[1:]
		return func() { d.sendCancel(ctx, c) }
	}
	if len(d.compact) > 0 {
		id := d.compact[0]
		d.compact = d.compact[1:]
		return func() { d.startCompaction(ctx, id, enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING) }
	}
	if len(d.order) > 0 {
		id := d.order[0]
		d.order = d.order[1:]
		delete(d.queued, id)
		return func() { d.sendNudge(ctx, id) }
	}
	return nil
}

// result remembers whether Temporal answers, and says so once per change.
func (d *Dispatcher) result(err error) {
	d.mu.Lock()
	before := d.lastErr
	d.lastErr = err
	d.mu.Unlock()
	switch {
	case err != nil && before == nil:
		d.opts.Logger.Warn("temporal cannot be reached: messages are kept and answered once it is back", "error", err)
	case err == nil && before != nil:
		d.opts.Logger.Info("temporal answers again")
	}
}

func (d *Dispatcher) sendNudge(ctx context.Context, sessionID string) {
	call, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	err := d.startOrSignal(call, sessionID)
	d.result(err)
	if err != nil && ctx.Err() == nil {
		d.mu.Lock()
		d.failed = append(d.failed, sessionID)
		d.mu.Unlock()
	}
}

// startOrSignal makes the session's run look at the record. Most sessions have no
// run when a message comes: starting one alone, a worker of this process gets its
// first task with the answer ("eager start"), which a signal with start cannot do.
func (d *Dispatcher) startOrSignal(ctx context.Context, sessionID string) error {
	o := d.startOptions(sessionID)
	o.EnableEagerStart = true
	o.WorkflowExecutionErrorWhenAlreadyStarted = true
	_, err := d.client.ExecuteWorkflow(ctx, o, flow.SessionWorkflow, d.input(sessionID))
	if _, open := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); !open {
		return err
	}
	o.EnableEagerStart, o.WorkflowExecutionErrorWhenAlreadyStarted = false, false
	_, err = d.client.SignalWithStartWorkflow(ctx, o.ID, flow.SignalNudge, nil, o, flow.SessionWorkflow, d.input(sessionID))
	return err
}

func (d *Dispatcher) sendCancel(ctx context.Context, c cancel) {
	call, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	err := d.client.SignalWorkflow(call, flow.SessionWorkflowID(c.sessionID), "", flow.SignalCancel, c.turnID)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		err = nil // no run is there to be told; the record has the request
	}
	d.result(err)
	if err != nil {
		// Not repeated: work in this process has stopped, and work elsewhere reads the
		// record with each of its heartbeats.
		d.opts.Logger.Warn("cancel could not be passed on to temporal", "turn", c.turnID, "error", err)
	}
}

func (d *Dispatcher) input(sessionID string) flow.SessionInput {
	return flow.SessionInput{SessionID: sessionID, Queues: d.opts.Queues}
}

func (d *Dispatcher) startOptions(sessionID string) client.StartWorkflowOptions {
	attributes := []temporal.SearchAttributeUpdate{flow.AttributeSession.ValueSet(sessionID)}
	summary := sessionID
	if key, err := chat.ParseSessionID(sessionID); err == nil {
		attributes = append(attributes, flow.AttributeChannel.ValueSet(key.Channel))
		summary = fmt.Sprintf("%s chat %s", key.Channel, key.ChatID)
	}
	return client.StartWorkflowOptions{
		ID:                    flow.SessionWorkflowID(sessionID),
		TaskQueue:             d.opts.Queues.Turns(),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: temporal.NewSearchAttributes(attributes...),
		StaticSummary:         summary,
	}
}
