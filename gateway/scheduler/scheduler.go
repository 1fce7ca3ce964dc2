package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"picobot/internal/flow"
	"picobot/store"
)

// Options of a Reconciler. Zero times get the defaults.
type Options struct {
	Queues flow.Queues
	// Enabled: jobs are due. Where they are not, only runs by hand are started.
	Enabled bool
	Tick    time.Duration // between two looks at what is due: 1 s
	Settle  time.Duration // after which a slot that nobody started is made up for: 15 s
	Full    time.Duration // between two comparisons with all that Temporal has: 10 min
	Now     func() time.Time
	Logger  *slog.Logger
}

// Reconciler keeps Temporal's schedules as the record wants them. Wake may be called
// from everywhere; the rest is for one goroutine.
type Reconciler struct {
	client client.Client
	record *store.Store
	opts   Options
	wake   chan struct{}
	began  time.Time

	version string            // of the jobs, as they are in Temporal
	known   map[string]string // notes of the schedules that Temporal has, by id; nil = not yet looked
	fullAt  time.Time
	notes   map[string]noted     // of schedules that need no second look, by job
	started map[string]time.Time // when a run was last seen to have its workflow
	failing bool                 // the last pass did not get through
}

// noted is what a job's schedule should be, worked out once for a version of the job and
// a day.
type noted struct {
	rev      int64
	day      time.Time
	id, note string
}

// New returns a reconciler that works once it runs.
func New(c client.Client, record *store.Store, o Options) *Reconciler {
	for d, def := range map[*time.Duration]time.Duration{&o.Tick: time.Second, &o.Settle: 15 * time.Second, &o.Full: 10 * time.Minute} {
		if *d <= 0 {
			*d = def
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Reconciler{client: c, record: record, opts: o, wake: make(chan struct{}, 1), started: map[string]time.Time{}}
}

// Wake says that jobs or their runs changed. It never blocks.
func (r *Reconciler) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

const (
	callTimeout = 10 * time.Second
	maxInFlight = 8
)

// Run works until ctx ends. What fails is tried again with the next tick.
func (r *Reconciler) Run(ctx context.Context) error {
	r.began = r.opts.Now()
	tick := time.NewTicker(r.opts.Tick)
	defer tick.Stop()
	for {
		r.result(ctx, r.pass(ctx))
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		case <-tick.C:
		}
	}
}

// result says once that something fails, and once that it works again.
func (r *Reconciler) result(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	before := r.failing
	r.failing = err != nil
	switch {
	case err != nil:
		r.known, r.version = nil, "" // who knows what got through
		if !before {
			r.opts.Logger.Warn("schedules cannot be kept up now: what is missed meanwhile is made up for as each job says", "error", err)
		}
	case before:
		r.opts.Logger.Info("schedules are kept up again")
	}
}

// pass brings Temporal up to what the record says.
func (r *Reconciler) pass(ctx context.Context) error {
	if r.known == nil || r.opts.Now().Sub(r.fullAt) >= r.opts.Full {
		if err := r.look(ctx); err != nil {
			return err
		}
		r.version = ""
	}
	version, err := r.record.JobsVersion(ctx)
	if err != nil {
		return err
	}
	if version != r.version {
		if err := r.reconcile(ctx); err != nil {
			return err
		}
		r.version = version
	}
	return errors.Join(r.account(ctx), r.startRuns(ctx))
}

// look lists the schedules that Temporal has.
func (r *Reconciler) look(ctx context.Context) error {
	known := map[string]string{}
	list, err := r.client.ScheduleClient().List(ctx, client.ScheduleListOptions{PageSize: 500})
	if err != nil {
		return err
	}
	for list.HasNext() {
		e, err := list.Next()
		if err != nil {
			return err
		}
		known[e.ID] = e.Note
	}
	r.known, r.fullAt = known, r.opts.Now()
	return nil
}

// reconcile makes, changes and deletes schedules until Temporal has those that the
// record's jobs need. Each job alone: one that cannot be scheduled stops no other.
func (r *Reconciler) reconcile(ctx context.Context) error {
	jobs, err := r.record.Jobs(ctx)
	if err != nil {
		return err
	}
	now := r.opts.Now()
	need := map[string]bool{}
	var work []change
	today := now.UTC().Truncate(24 * time.Hour)
	before := r.notes
	r.notes = make(map[string]noted, len(jobs))
	for _, j := range jobs {
		if n, ok := before[j.ID]; ok && r.opts.Enabled && n.rev == j.Rev && n.day.Equal(today) && r.known[n.id] == n.note {
			r.notes[j.ID], need[n.id] = n, true
			continue
		}
		w, ok, err := r.want(j, now)
		if err != nil {
			r.opts.Logger.Error("a job cannot be scheduled", "job", j.ID, "error", err)
			continue
		}
		if !ok || !r.opts.Enabled {
			continue
		}
		need[w.id] = true
		if !w.once { // whether that is still needed is a question of time
			r.notes[j.ID] = noted{rev: j.Rev, day: today, id: w.id, note: w.note}
		}
		switch note, have := r.known[w.id]; {
		case !have && w.once && j.NextRunAt != 0 && j.NextRunAt <= now.UnixMilli():
			// Temporal would never start it; account does.
		case !have:
			work = append(work, change{w.id, w.note, func(ctx context.Context) error { return r.create(ctx, w) }})
		case note != w.note:
			work = append(work, change{w.id, w.note, func(ctx context.Context) error { return r.update(ctx, w) }})
		}
	}
	for id, note := range r.known {
		if r.ours(id, note) && !need[id] {
			work = append(work, change{id, "", func(ctx context.Context) error { return r.delete(ctx, id) }})
		}
	}
	return r.apply(ctx, work)
}

// change is a call that changes a schedule; note "" = it is gone afterwards.
type change struct {
	id, note string
	call     func(context.Context) error
}

// apply makes changes, some at a time.
func (r *Reconciler) apply(ctx context.Context, work []change) error {
	var mu sync.Mutex // guards known and errs
	var errs []error
	var g errgroup.Group
	g.SetLimit(maxInFlight)
	for _, c := range work {
		g.Go(func() error {
			ctx, stop := context.WithTimeout(ctx, callTimeout)
			defer stop()
			err := c.call(ctx)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case invalid(err):
				r.opts.Logger.Error("temporal does not take a job's schedule: this is a fault of PicoBot's, report it", "schedule", c.id, "error", err)
			case err != nil:
				errs = append(errs, err)
			case c.note == "":
				delete(r.known, c.id)
			default:
				r.known[c.id] = c.note
			}
			return nil
		})
	}
	return errors.Join(g.Wait(), errors.Join(errs...))
}

// account has the record decide on slots that were due and not started. What Temporal
// has a schedule for gets time to start.
func (r *Reconciler) account(ctx context.Context) error {
	if !r.opts.Enabled {
		return nil
	}
	now := r.opts.Now()
	settled := now.Add(-r.opts.Settle)
	if r.began.After(settled) {
		settled = r.began // what was due before this process is nobody's
	}
	due, err := r.record.DueJobs(ctx, now)
	if err != nil {
		return err
	}
	var failed []error // one job that cannot be decided on holds up no other
	for _, id := range due {
		until := settled
		if _, scheduled := r.known[flow.JobWorkflowID(id)]; !scheduled {
			until = now
		}
		if _, err := r.record.AccountJob(ctx, id, until); err != nil {
			failed = append(failed, fmt.Errorf("job %s: %w", id, err))
		}
	}
	return errors.Join(failed...)
}
