package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"picobot/activities"
	"picobot/internal/flow"
	"picobot/internal/tracing"
	"picobot/workflows"
)

// Options say how much one worker does at once and how it stops.
type Options struct {
	Queues        flow.Queues
	MaxModelCalls int
	MaxToolCalls  int
	MaxDeliveries int
	// StopTimeout is how long running activities may take to write down what they
	// have once the worker stops.
	StopTimeout time.Duration
	// StickyTimeout is how long a workflow task waits for the worker that has its
	// run in memory, before any other takes it.
	StickyTimeout time.Duration
	Logger        *slog.Logger
	// Traces are told of what the activities do; nil = nobody is.
	Traces *tracing.Tracing
	// Turns looks up what is told of turns in the log and the traces; nil = nothing is told.
	Turns Turns
}

// Worker serves the task queues of one installation.
type Worker struct {
	opts    Options
	client  client.Client
	acts    *activities.Activities
	serving atomic.Bool
}

// New returns a worker that serves once it runs.
func New(c client.Client, a *activities.Activities, o Options) *Worker {
	return &Worker{opts: o, client: c, acts: a}
}

// Serving reports whether the worker is connected and takes tasks.
func (w *Worker) Serving() bool { return w.serving.Load() }

// retryStart is how long the worker waits before it tries again to reach Temporal.
const retryStart = 2 * time.Second

// Run serves until ctx ends, then stops within StopTimeout. While Temporal cannot
// be reached it keeps trying. It returns an error only when the worker fails for
// good while serving.
func (w *Worker) Run(ctx context.Context) error {
	for {
		set, fatal := w.build()
		// The SDK's calls take no context: whoever waits for them waits for Temporal.
		started := make(chan error, 1)
		go func() { started <- set.start() }()
		var err error
		select {
		case <-ctx.Done():
			return nil // the process leaves, and whatever has started with it
		case err = <-started:
		}
		if err == nil {
			w.serving.Store(true)
			select {
			case <-ctx.Done():
			case err = <-fatal:
			}
			w.serving.Store(false)
			w.stop(set)
			if err != nil {
				return fmt.Errorf("worker: %w", err)
			}
			return nil
		}
		go set.stop()
		w.opts.Logger.Warn("temporal cannot be reached, trying again", "error", err)
		t := time.NewTimer(retryStart)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
	}
}

// stop stops the set, but waits no longer than it may: a Temporal that does not
// answer would hold the SDK up. Leaving early is a crash, which the record survives.
func (w *Worker) stop(s set) {
	w.acts.Shutdown()
	stopped := make(chan struct{})
	go func() {
		s.stop()
		close(stopped)
	}()
	limit := time.NewTimer(w.opts.StopTimeout + time.Second)
	defer limit.Stop()
	select {
	case <-stopped:
	case <-limit.C:
		w.opts.Logger.Warn("the worker did not stop in time and is left behind")
	}
}

// set is one SDK worker per task queue.
type set []worker.Worker

// build makes fresh SDK workers: one that failed to start cannot be started again.
func (w *Worker) build() (set, <-chan error) {
	fatal := make(chan error, 3)
	base := worker.Options{
		WorkerStopTimeout:                w.opts.StopTimeout,
		StickyScheduleToStartTimeout:     w.opts.StickyTimeout,
		MaxHeartbeatThrottleInterval:     2 * time.Second,
		DefaultHeartbeatThrottleInterval: 2 * time.Second,
		OnFatalError: func(err error) {
			select {
			case fatal <- err:
			default:
			}
		},
	}
	if w.opts.Turns != nil {
		base.Interceptors = []interceptor.WorkerInterceptor{&observer{traces: w.opts.Traces, turns: w.opts.Turns, log: w.opts.Logger, now: time.Now}}
	}
	only := base
	only.DisableWorkflowWorker = true
	limit := func(o worker.Options, n int) worker.Options {
		o.MaxConcurrentActivityExecutionSize = n
		return o
	}
	q := w.opts.Queues
	quick := base
	quick.WorkerStopTimeout = min(time.Second, base.WorkerStopTimeout) // a call that is cut off has nothing to write, and the SDK adds up three of them
	turns := worker.New(w.client, q.Turns(), limit(quick, w.opts.MaxModelCalls))
	tools := worker.New(w.client, q.Tools(), limit(only, w.opts.MaxToolCalls))
	deliveries := worker.New(w.client, q.Deliveries(), limit(only, w.opts.MaxDeliveries))
	turns.RegisterWorkflowWithOptions(workflows.Session, workflow.RegisterOptions{Name: flow.SessionWorkflow})
	turns.RegisterWorkflowWithOptions(workflows.Compaction, workflow.RegisterOptions{Name: flow.CompactionWorkflow})
	turns.RegisterWorkflowWithOptions(workflows.Title, workflow.RegisterOptions{Name: flow.TitleWorkflow})
	turns.RegisterWorkflowWithOptions(workflows.Job, workflow.RegisterOptions{Name: flow.JobWorkflow})
	turns.RegisterWorkflowWithOptions(workflows.Cleanup, workflow.RegisterOptions{Name: flow.CleanupWorkflow})
	turns.RegisterWorkflowWithOptions(workflows.MemoryMaintenance, workflow.RegisterOptions{Name: flow.MemoryMaintenanceWorkflow})
	w.acts.Register(activities.Registries{Turns: turns, Tools: tools, Deliveries: deliveries})
	return set{turns, tools, deliveries}, fatal
}

func (s set) start() error {
	for _, w := range s {
		if err := w.Start(); err != nil {
			return err
		}
	}
	return nil
}

// stop stops all queues at once, so that their stop timeouts do not add up.
func (s set) stop() {
	done := make(chan struct{}, len(s))
	for _, w := range s {
		go func() { w.Stop(); done <- struct{}{} }()
	}
	for range s {
		<-done
	}
}
