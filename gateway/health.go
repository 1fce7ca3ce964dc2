package gateway

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	"picobot/gateway/openapi"
	"picobot/store"
)

// Health says how the parts are that the gateway cannot see itself: "ok", or what
// is wrong. An empty part is ok.
type Health struct {
	Temporal      string
	TemporalMode  string
	UIURL         string
	Worker        string
	Channels      map[string]string // disabled, connecting, ok or error
	ScheduleLagMS int64
}

const (
	partOK   = "ok"
	degraded = "degraded"
)

type healthReport struct {
	Status         string            `json:"status"`
	Version        string            `json:"version"`
	UptimeMS       int64             `json:"uptime_ms"`
	Store          string            `json:"store"`
	Temporal       string            `json:"temporal"`
	TemporalMode   string            `json:"temporal_mode"`
	UIURL          string            `json:"ui_url"`
	Worker         string            `json:"worker"`
	Channels       map[string]string `json:"channels"`
	SessionsActive int64             `json:"sessions_active"`
	InboundPending int64             `json:"inbound_pending"`
	ScheduleLagMS  int64             `json:"schedule_lag_ms"`
}

func (s *Server) healthRoutes() []route {
	return []route{{method: http.MethodGet, path: "/health", open: true, handler: s.getHealth, doc: &openapi.Operation{
		Tag: "gateway", Summary: "How the gateway and its parts are",
		Answers: []openapi.Answer{ok(healthReport{}, "All is well"), {Status: http.StatusServiceUnavailable, Description: "A part is not ok", Body: healthReport{}}},
	}}}
}

func (s *Server) getHealth(w http.ResponseWriter, r *http.Request) error {
	rep := s.health.report(r.Context())
	rep.Version, rep.UptimeMS = s.opts.Version, s.uptime().Milliseconds()
	status := http.StatusOK
	if rep.Status != partOK {
		status = http.StatusServiceUnavailable
	}
	return writeJSON(w, status, rep)
}

// healthCache looks at most once in a while: nobody needs a token to ask.
type healthCache struct {
	record *store.Store
	others func(context.Context) Health
	now    func() time.Time
	good   time.Duration
	active time.Duration

	mu   sync.Mutex // held while looking: whoever else asks waits for the same answer
	at   time.Time
	last healthReport
}

func newHealthCache(d Deps, o Options) *healthCache {
	return &healthCache{record: d.Record, others: d.Health, now: d.Now, good: o.Timing.Health, active: o.ActiveWithin}
}

// lookFor bounds one look at the record and at the other parts.
const lookFor = 2 * time.Second

func (h *healthCache) report(ctx context.Context) healthReport {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.now(); h.at.IsZero() || now.Sub(h.at) >= h.goodFor() || now.Before(h.at) {
		// Whoever asked may hang up: the answer is for the others too.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookFor)
		defer cancel()
		h.last = h.look(ctx)
		h.at = h.now() // a look that took long is good from its end on
	}
	return h.last
}

// goodFor is how long the last answer is good. Bad news is looked at again sooner:
// somebody may be waiting for a start to end.
func (h *healthCache) goodFor() time.Duration {
	if h.last.Status != partOK {
		return h.good / 20
	}
	return h.good
}

func (h *healthCache) look(ctx context.Context) healthReport {
	o := h.others(ctx)
	rep := healthReport{
		Status: partOK, Store: partOK, Temporal: orOK(o.Temporal), TemporalMode: o.TemporalMode, UIURL: o.UIURL, Worker: orOK(o.Worker),
		Channels: map[string]string{"cli": partOK, "feishu": "disabled"}, ScheduleLagMS: o.ScheduleLagMS,
	}
	maps.Copy(rep.Channels, o.Channels)
	counts, err := h.record.Counts(ctx, h.now().Add(-h.active))
	if err == nil {
		err = h.record.Ping(ctx)
	}
	if err != nil {
		rep.Store = "error: " + err.Error()
	}
	rep.SessionsActive, rep.InboundPending = counts.ActiveSessions, counts.PendingInbound
	for _, part := range []string{rep.Store, rep.Temporal, rep.Worker} {
		if part != partOK {
			rep.Status = degraded
		}
	}
	for _, state := range rep.Channels {
		if state != partOK && state != "disabled" && state != "connecting" {
			rep.Status = degraded
		}
	}
	return rep
}

func orOK(part string) string {
	if part == "" {
		return partOK
	}
	return part
}
