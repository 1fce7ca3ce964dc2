package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"picobot/gateway"
	"picobot/gateway/dispatch"
	"picobot/gateway/scheduler"
	"picobot/internal/config"
	"picobot/internal/flow"
	"picobot/internal/home"
	"picobot/internal/live"
	"picobot/internal/metrics"
	"picobot/internal/metrics/temporalmetrics"
	"picobot/internal/port"
	"picobot/internal/schedule"
)

// Stopping takes these at most, one after the other: together less than the 10 s
// within which PicoBot promises to be gone.
const (
	stopServer = 2 * time.Second
	stopWorker = 4 * time.Second
	stopEngine = 3 * time.Second
)

// Runtime runs PicoBot, or a part of it. It is a cli.Runtime.
type Runtime struct{ StartEngine StartEngine }

// Gateway runs everything on this machine until ctx ends. A message's way through
// it: server → record → dispatcher → Temporal → worker → activities → record →
// hub → server.
func (r Runtime) Gateway(ctx context.Context, o Options, ready func(Addresses)) (err error) {
	var open closers
	ctx, stop := context.WithCancelCause(ctx)
	defer func() {
		err = errors.Join(err, open.close())
		if err == nil && errors.Is(context.Cause(ctx), ErrYielded) {
			err = ErrYielded
		}
		stop(nil)
	}()
	cfg, embedded := o.Config, o.Config.Temporal.Mode == config.TemporalEmbedded

	// The home is this process's own from here on, so whatever it finds unfinished
	// was left by one that is dead.
	owner := home.Owner{Command: o.Command, StartedAt: o.Now().UnixMilli(), Version: o.Version}
	lock, err := takeHome(ctx, o, owner)
	if err != nil {
		return err
	}
	open.add("the home's lock", lock.Unlock)
	token, err := o.token()
	if err != nil {
		return err
	}
	listener, err := port.Listen(ctx, cfg.Gateway.Addr)
	if err != nil {
		return fmt.Errorf("gateway.addr: %w", err)
	}
	open.add("the gateway's port", ignoreClosed(listener.Close))

	// The record is the truth, and whoever watches a session hears of its changes.
	hub := live.NewHub()
	jobs := &jobsChanged{}
	measured := metrics.New(metrics.Options{Version: o.Version, Logger: o.Log})
	record, err := openRecord(ctx, o, hub, measured.Write, jobs.tell)
	if err != nil {
		return err
	}
	open.add("the record", record.Close)

	traces, err := openTraces(ctx, o, &open)
	if err != nil {
		return err
	}

	// Temporal moves what the record says must move.
	sdk, err := temporalmetrics.New(measured.Registerer())
	if err != nil {
		return err
	}
	temporal, err := r.openTemporal(ctx, o, sdk, &open)
	if err != nil {
		return err
	}
	queues := flow.Queues{Base: cfg.Temporal.TaskQueue}
	parts, err := newParts(o, record, hub, temporal.client, queues, traces, &open)
	if err != nil {
		return err
	}
	dispatcher := dispatch.New(temporal.client, record, dispatch.Options{
		Queues:     queues,
		SweepEvery: 10 * time.Second,
		StuckAfter: 30 * time.Second,
		CleanEvery: cfg.Session.CleanupInterval(),
		CancelHere: parts.activities.CancelTurn,
		Now:        o.Now,
		Logger:     o.Log,
	})
	reconciler := scheduler.New(temporal.client, record, scheduler.Options{
		Queues:  queues,
		Enabled: cfg.Scheduler.Enabled,
		Now:     o.Now,
		Logger:  o.Log,
	})
	jobs.to.Store(reconciler)
	if err := takeJobs(ctx, o, record); err != nil {
		return err
	}
	zone, err := cfg.Location()
	if err != nil {
		return fmt.Errorf("time_zone: %w", err)
	}
	var channels func() map[string]string // set once there is a server to receive for
	server, err := gateway.New(gateway.Options{
		Listener:            listener,
		Addr:                cfg.Gateway.Addr,
		Token:               token,
		TokenGenerated:      cfg.Gateway.Token == "",
		AllowedOrigins:      cfg.Gateway.AllowedOrigins,
		MaxMessageBytes:     int64(cfg.Gateway.MaxMessageBytes),
		Version:             o.Version,
		Workspace:           parts.workspace.Dir(),
		MediaDir:            o.Home.MediaDir(),
		UI:                  o.UI(temporal.ui),
		Agents:              agentNames(cfg),
		Locale:              cfg.Locale,
		Zone:                zone,
		CompactionKeepTurns: cfg.Session.CompactionKeepTurns,
		WatchRecord:         !embedded, // other processes' workers write to the same record
		ActiveWithin:        cfg.Session.TTL(),
		Timing:              gateway.Timing{Drain: stopServer},
	}, gateway.Deps{
		Record:     record,
		Hub:        hub,
		Dispatcher: dispatcher,
		Maintain:   maintain(cfg, dispatcher),
		Health:     temporal.health(parts.worker, lag(cfg, record), func() map[string]string { return channels() }),
		Model:      parts.model,
		Summarize:  parts.summarize,
		KnowsTool:  parts.knowsTool(),
		Skills:     parts.skills,
		JobRules:   func() schedule.Rules { return cfg.JobRules(o.Now()) },
		Metrics:    measured,
		Traces:     traces,
		Yield:      yielding(o, stop),
		Now:        o.Now,
		Logger:     o.Log,
	})
	if err != nil {
		return err
	}
	parts.terminal.use(server.Delivery())
	receive, states := parts.channel(server)
	channels = states

	// Where the engine is our own, nobody else can be at work: what was going on goes
	// on at once. Elsewhere Temporal's timeouts and the sweep see to it.
	if embedded {
		if err := restart(ctx, temporal.engine, dispatcher.Recover, reconciler.Recover); err != nil {
			return err
		}
	}
	addresses := Addresses{Gateway: home.URL(server.Addr()), Temporal: temporal.address, UI: temporal.ui}
	owner.Address, owner.TemporalAddress, owner.UIURL = server.Addr(), temporal.address, temporal.ui
	if err := lock.Update(owner); err != nil {
		return err
	}
	ready(addresses)
	front := together(server.Run, receive)
	if embedded {
		front = func(ctx context.Context) error {
			err := together(server.Run, receive)(ctx)
			dispatcher.Settle(context.WithoutCancel(ctx))
			return err
		}
	}
	return run(ctx, front, []part{dispatcher.Run, reconciler.Run, parts.worker.Run, temporal.watch, temporal.registerAttributes(o)})
}

// yielding returns how the gateway gives the home up: only one inside another command
// does.
func yielding(o Options, stop context.CancelCauseFunc) func() {
	if o.Command != commandAgent {
		return nil
	}
	return func() { stop(ErrYielded) }
}

// part is something that runs until its context ends.
type part func(ctx context.Context) error

// together runs both until ctx ends or one of them fails.
func together(a, b part) part {
	return func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return a(ctx) })
		g.Go(func() error { return b(ctx) })
		return g.Wait()
	}
}

// run runs front and back until ctx ends or one of them fails. Front stops first: it
// brings the work that back does.
func run(ctx context.Context, front part, back []part) error {
	g, ctx := errgroup.WithContext(ctx)
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	g.Go(func() error {
		defer stopWork()
		return front(ctx)
	})
	for _, p := range back {
		g.Go(func() error { return p(work) })
	}
	return g.Wait()
}
