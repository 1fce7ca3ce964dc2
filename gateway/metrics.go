package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"picobot/gateway/openapi"
	"picobot/internal/metrics"
	"picobot/store"
)

func (s *Server) metricsRoutes() []route {
	return []route{{method: http.MethodGet, path: "/metrics", handler: s.getMetrics, doc: &openapi.Operation{
		Tag: "gateway", Summary: "Metrics for Prometheus",
		Answers: []openapi.Answer{{Status: http.StatusOK, Description: "Prometheus's text format", Media: "text/plain"}},
	}}}
}

// getMetrics answers a scrape. A record that cannot be read is something to report,
// not a reason to report nothing. The first scrape of a long record takes a while; if
// nobody waits that long the next one goes on where it was left, because half a count
// would look like a burst of work to come.
func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request) error {
	rep := s.health.report(r.Context())
	ctx := r.Context()
	backlog, err := s.deps.Record.Backlog(ctx)
	counts, err2 := s.deps.Record.Counts(ctx, s.deps.Now().Add(-s.opts.ActiveWithin))
	if err = errors.Join(err, err2, s.meter.count(ctx)); err != nil {
		if ctx.Err() != nil {
			return nil // who asked has gone
		}
		s.log.Warn("metrics are told without the newest of the record", "error", err)
	}
	s.deps.Metrics.Set(metrics.State{
		QueuedTurns:    backlog.QueuedTurns,
		PendingOutbox:  backlog.PendingOutbox,
		ActiveSessions: counts.ActiveSessions,
		Connections:    len(s.slots),
		ScheduleLag:    time.Duration(rep.ScheduleLagMS) * time.Millisecond,
		Up: map[string]bool{
			"store":    rep.Store == partOK && err == nil,
			"temporal": rep.Temporal == partOK,
			"worker":   rep.Worker == partOK,
		},
	})
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	s.deps.Metrics.ServeHTTP(w, r)
	return nil
}

// meter counts what has ended, from the record and only when somebody asks: a turn
// costs nothing more for being counted, what other processes do is counted too, and
// what was tried twice is there once.
type meter struct {
	metrics *metrics.Metrics
	known   func(tool string) bool

	mu    sync.Mutex // held while counting: two scrapes at once share the tally
	tally *store.Tally
}

func newMeter(d Deps) *meter {
	return &meter{metrics: d.Metrics, known: d.KnowsTool, tally: d.Record.Tally()}
}

func (m *meter) count(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		e, err := m.tally.Next(ctx)
		if err != nil || e.Empty() {
			return err
		}
		m.add(e)
	}
}

func (m *meter) add(e store.Ended) {
	for _, t := range e.Turns {
		m.metrics.Turn(t.Channel, t.Status, t.Began, ms(t.Waited), ms(t.Took))
	}
	for _, c := range e.Calls {
		m.metrics.ModelCall(c.Model, c.Provider, c.Error, ms(c.Took), c.Usage)
	}
	for _, r := range e.Runs {
		tool := r.Tool
		if !m.known(tool) {
			tool = metrics.Other // a model made it up, or the configuration had it once
		}
		m.metrics.ToolCall(tool, r.Status, ms(r.Took))
	}
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
