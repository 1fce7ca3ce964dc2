package app

import (
	"context"
	"errors"

	"picobot/gateway"
	"picobot/internal/flow"
	"picobot/internal/home"
	"picobot/internal/live"
	"picobot/internal/live/relay"
	"picobot/internal/metrics"
	"picobot/internal/metrics/temporalmetrics"
	"picobot/store"
)

// Worker runs only a worker, for an external Temporal, beside a gateway that owns the
// home. Nobody watches here: the gateway reads in the record what this process does, and
// what is not written there is handed over to it.
func (r Runtime) Worker(ctx context.Context, o Options, ready func(Addresses)) (err error) {
	var open closers
	defer func() { err = errors.Join(err, open.close()) }()
	hub := live.NewHub()
	measured := metrics.NewProcess(metrics.Options{Version: o.Version, Logger: o.Log})
	record, err := openRecord(ctx, o, hub, measured.Write, nil)
	if err != nil {
		return err
	}
	open.add("the record", record.Close)
	sdk, err := temporalmetrics.New(measured.Registerer())
	if err != nil {
		return err
	}
	temporal, err := r.openTemporal(ctx, o, sdk, &open)
	if err != nil {
		return err
	}
	traces, err := openTraces(ctx, o, &open)
	if err != nil {
		return err
	}
	parts, err := newParts(o, record, hub, temporal.client, flow.Queues{Base: o.Config.Temporal.TaskQueue}, traces, &open)
	if err != nil {
		return err
	}
	news := newRelay(o, hub, &open)
	back := []part{news.Run, parts.activities.FollowCancels, temporal.registerAttributes(o)}
	addresses := Addresses{Temporal: temporal.address}
	if o.MetricsAddr != "" {
		exporter, err := newExporter(o, record, measured, temporal, parts, news)
		if err != nil {
			return err
		}
		open.add("the port for metrics", ignoreClosed(exporter.Close))
		back = append(back, exporter.Run)
		addresses.Metrics = home.URL(exporter.Addr()) + "/metrics"
	}
	ready(addresses)
	return run(ctx, parts.worker.Run, back)
}

// newExporter shows how a worker of its own is.
func newExporter(o Options, record *store.Store, measured *metrics.Metrics, t *temporal, p *parts, news *relay.Relay) (*gateway.Exporter, error) {
	token, err := o.token()
	if err != nil {
		return nil, err
	}
	return gateway.NewExporter(gateway.ExporterOptions{
		Addr:           o.MetricsAddr,
		Setting:        "--metrics-addr",
		Token:          token,
		TokenGenerated: o.Config.Gateway.Token.Reveal() == "",
		AllowedOrigins: o.Config.Gateway.AllowedOrigins,
		Version:        o.Version,
		Record:         record,
		Metrics:        measured,
		Temporal:       t.answers,
		Worker:         func(context.Context) string { return serving(p.worker) },
		Gateway: func(context.Context) string {
			if !news.Connected() {
				return "error: it cannot be reached"
			}
			return ""
		},
		Now:    o.Now,
		Logger: o.Log,
	})
}
