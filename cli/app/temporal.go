package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"

	"picobot/gateway"
	"picobot/internal/config"
	"picobot/internal/text"
	"picobot/worker"
)

// temporal is the connection to Temporal, and the embedded server if there is one.
type temporal struct {
	client  client.Client
	engine  Engine // nil = an external Temporal
	mode    string
	address string
	ui      string
}

// openTemporal connects to Temporal and, where it is embedded, starts it first. An
// external one need not be there yet. The SDK's metrics go to measured; nil = nowhere.
func (r Runtime) openTemporal(ctx context.Context, o Options, measured client.MetricsHandler, open *closers) (*temporal, error) {
	cfg := o.Config.Temporal
	t := &temporal{mode: cfg.Mode, address: cfg.Address, ui: o.Config.ExternalUI()}
	opts := client.Options{
		HostPort:  cfg.Address,
		Namespace: cfg.Namespace,
		Logger:    temporallog.NewStructuredLogger(o.Log.With("part", "temporal")),

		MetricsHandler: measured,
	}
	var err error
	if cfg.Mode == config.TemporalEmbedded {
		err = r.embed(ctx, o, t, &opts, open)
	} else {
		err = external(cfg, &opts)
	}
	if err != nil {
		return nil, err
	}
	if t.client, err = client.NewLazyClient(opts); err != nil {
		return nil, fmt.Errorf("connect to temporal: %w", err)
	}
	open.add("the connection to temporal", func() error { t.client.Close(); return nil })
	return t, nil
}

// embed starts the embedded server.
func (r Runtime) embed(ctx context.Context, o Options, t *temporal, opts *client.Options, open *closers) error {
	key, err := o.Home.EngineKey()
	if err != nil {
		return err
	}
	o.Scrub.Add(key)
	e, err := r.StartEngine(ctx, o.engine(key))
	if err != nil {
		return engineError(err)
	}
	open.add("the embedded temporal", func() error { return stop(e) })
	for _, notice := range e.Notices() {
		o.Say(o.words().Say(notice))
	}
	if fresh, why := e.Fresh(); fresh {
		o.Log.Info("the embedded temporal starts with empty files: what is unfinished goes on from the record", "why", why)
	}
	t.engine, t.address, t.ui = e, e.Address(), e.UIURL()
	opts.HostPort = t.address
	opts.HeadersProvider = bearer(key)
	return nil
}

// engine says how the embedded server is to run. Ports that the configuration names
// are never replaced.
func (o Options) engine(key string) EngineOptions {
	cfg := o.Config
	return EngineOptions{
		Dir:           o.Home.TemporalDir(),
		Addr:          cfg.Temporal.Address,
		AddrFixed:     cfg.Named("temporal.address"),
		UIAddr:        cfg.Temporal.UIAddr,
		UIFixed:       cfg.Named("temporal.ui_addr"),
		Key:           key,
		Namespace:     cfg.Temporal.Namespace,
		RetentionDays: cfg.Temporal.RetentionDays,
		Build:         o.Build,
		Now:           o.Now,
		Log:           o.Log,
	}
}

// bearer presents the engine's key. It is no API key in the SDK's sense, which would
// turn encryption on: this connection never leaves the machine.
type bearer string

// GetHeaders implements client.HeadersProvider.
func (b bearer) GetHeaders(context.Context) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func stop(e Engine) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopEngine)
	defer cancel()
	return e.Stop(ctx)
}

// engineError says what could not be started.
func engineError(err error) error {
	return fmt.Errorf("the embedded temporal cannot start: %w", err)
}

// watch ends when ctx does, or with an error when the embedded server cannot go on.
func (t *temporal) watch(ctx context.Context) error {
	if t.engine == nil {
		<-ctx.Done()
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-t.engine.Failed():
		return fmt.Errorf("the embedded temporal failed: %w", t.engine.Err())
	}
}

// healthTimeout bounds one look at Temporal.
const healthTimeout = 1500 * time.Millisecond

// health says how Temporal, the worker and the channels are.
func (t *temporal) health(w *worker.Worker, lag func(context.Context) time.Duration, channels func() map[string]string) func(context.Context) gateway.Health {
	return func(ctx context.Context) gateway.Health {
		ctx, cancel := context.WithTimeout(ctx, healthTimeout)
		defer cancel()
		return gateway.Health{
			Temporal: t.answers(ctx), TemporalMode: t.mode, UIURL: t.ui, Worker: serving(w),
			ScheduleLagMS: lag(ctx).Milliseconds(), Channels: channels(),
		}
	}
}

// answers says what is wrong with Temporal, "" = nothing.
func (t *temporal) answers(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	if _, err := t.client.CheckHealth(ctx, nil); err != nil {
		return "error: it does not answer"
	}
	return ""
}

// serving says what is wrong with a worker, "" = nothing.
func serving(w *worker.Worker) string {
	if !w.Serving() {
		return "error: not serving"
	}
	return ""
}

// How often the recovery is tried before the start is given up.
const (
	recoverTries = 5
	recoverPause = time.Second
)

// restart sets going what a dead process left, and ends what another build left.
func restart(ctx context.Context, e Engine, recoveries ...func(context.Context) error) error {
	var err error
	for range recoverTries {
		err = nil
		for _, recover := range recoveries {
			err = errors.Join(err, recover(ctx))
		}
		if err == nil {
			return e.AcceptBuild()
		}
		select {
		case <-time.After(recoverPause):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
	return err
}

// Temporal runs only the embedded server, for development against an external one.
// It is a part of no gateway, so its ports are fixed.
func (r Runtime) Temporal(ctx context.Context, o Options, ready func(Addresses)) (err error) {
	eo := o.engine(o.Config.Temporal.APIKey.Reveal())
	eo.AddrFixed, eo.UIFixed = true, true
	e, err := r.StartEngine(ctx, eo)
	if err != nil {
		if owner, alive, _ := o.Home.ReadOwner(); alive && owner.TemporalAddress != "" {
			err = fmt.Errorf("%w (process %d runs one at %s)", err, owner.PID, owner.TemporalAddress)
		}
		return engineError(err)
	}
	defer func() { err = errors.Join(err, stop(e)) }()
	if eo.Key == "" {
		o.Say(o.words().Say(text.TemporalOpen{}))
	}
	ready(Addresses{Temporal: e.Address(), UI: e.UIURL()})
	return (&temporal{engine: e}).watch(ctx)
}
