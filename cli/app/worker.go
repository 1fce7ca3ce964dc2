package app

import (
	"context"
	"errors"

	"picobot/internal/flow"
	"picobot/internal/live"
)

// Worker runs only a worker, for an external Temporal, beside a gateway that owns the
// home. Nobody watches here: the gateway reads in the record what this process does, and
// what is not written there is handed over to it.
func (r Runtime) Worker(ctx context.Context, o Options, ready func(Addresses)) (err error) {
	var open closers
	defer func() { err = errors.Join(err, open.close()) }()
	hub := live.NewHub()
	record, err := openRecord(ctx, o, hub, nil, nil)
	if err != nil {
		return err
	}
	open.add("the record", record.Close)
	temporal, err := r.openTemporal(ctx, o, nil, &open)
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
	ready(Addresses{Temporal: temporal.address})
	return run(ctx, parts.worker.Run, []part{news.Run, parts.activities.FollowCancels, temporal.registerAttributes(o)})
}
