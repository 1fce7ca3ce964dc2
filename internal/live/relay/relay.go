package relay

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"picobot/internal/live"
)

// Options configure a Relay.
type Options struct {
	Hub *live.Hub
	// Post hands news over, none at times to show that there is still somebody. News
	// whose Post failed are dropped: they may have got there.
	Post   func(ctx context.Context, news []live.News) error
	Logger *slog.Logger
	Timing Timing
}

// Timing bounds how long things take. Zero fields get the defaults.
type Timing struct {
	Post  time.Duration // for handing over once: 5 s
	Retry time.Duration // before it is tried again: 500 ms
	Text  time.Duration // between two pieces of text, which are joined meanwhile: 10 ms
	Idle  time.Duration // after which nothing is handed over, to keep in touch: 5 s
}

// Relay hands news over while it runs.
type Relay struct {
	o   Options
	up  atomic.Bool
	ran bool // it has been tried
}

// New returns a relay.
func New(o Options) *Relay {
	for d, def := range map[*time.Duration]time.Duration{
		&o.Timing.Post: 5 * time.Second, &o.Timing.Retry: 500 * time.Millisecond, &o.Timing.Text: 10 * time.Millisecond, &o.Timing.Idle: 5 * time.Second,
	} {
		if *d <= 0 {
			*d = def
		}
	}
	return &Relay{o: o}
}

// Connected reports whether the last news got there.
func (r *Relay) Connected() bool { return r.up.Load() }

// Run hands news over until ctx ends. It never fails: while there is nobody to hand
// them to it keeps looking.
func (r *Relay) Run(ctx context.Context) error {
	tap := r.o.Hub.Tap()
	defer tap.Close()
	for ctx.Err() == nil {
		news, lost := tap.Take()
		if lost > 0 {
			r.o.Logger.Debug("the gateway is behind: some of what is of the moment was dropped", "pieces", lost)
		}
		err := r.post(ctx, news)
		r.result(ctx, err)
		if err != nil {
			pause(ctx, r.o.Timing.Retry) // what comes meanwhile is not old yet
			continue
		}
		r.rest(ctx, tap, len(news) == 0)
	}
	return nil
}

// rest waits for news. Models write faster than anybody reads: what only continues a
// text waits until some time after the text before it.
func (r *Relay) rest(ctx context.Context, tap *live.Tap, due bool) {
	text, idle := time.NewTimer(r.o.Timing.Text), time.NewTimer(r.o.Timing.Idle)
	defer text.Stop()
	defer idle.Stop()
	some := false
	for !(some && due) && !tap.Urgent() {
		select {
		case <-ctx.Done():
			return
		case <-idle.C:
			return
		case <-text.C:
			due = true
		case <-tap.C:
			some = true
		}
	}
}

func (r *Relay) post(ctx context.Context, news []live.News) error {
	ctx, cancel := context.WithTimeout(ctx, r.o.Timing.Post)
	defer cancel()
	return r.o.Post(ctx, news)
}

// result says once that nobody can be reached, and once that somebody can.
func (r *Relay) result(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	before := r.up.Swap(err == nil)
	switch {
	case err != nil && (before || !r.ran):
		r.o.Logger.Warn("the gateway cannot be reached: clients do not see what streams in here, everything else reaches them by the record", "error", err)
	case err == nil && !before && r.ran:
		r.o.Logger.Info("the gateway is reached again")
	}
	r.ran = true
}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
