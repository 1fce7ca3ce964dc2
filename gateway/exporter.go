package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"picobot/internal/metrics"
	"picobot/store"
)

// ExporterOptions configure an Exporter.
type ExporterOptions struct {
	// Addr is where to listen (host:port), Setting what people call it.
	Addr, Setting string
	// Token, TokenGenerated and AllowedOrigins are as in Options.
	Token          string
	TokenGenerated bool
	AllowedOrigins []string
	Version        string
	Record         *store.Store
	// Metrics are shown at /metrics.
	Metrics *metrics.Metrics
	// Temporal, Worker and Gateway say how these parts are: "" = ok, else what is wrong.
	Temporal, Worker, Gateway func(ctx context.Context) string
	Now                       func() time.Time
	Logger                    *slog.Logger
}

// Exporter answers /metrics and /health for a process beside the gateway, to whom the
// gateway would answer. Make it with NewExporter.
type Exporter struct {
	door
	o       ExporterOptions
	http    *http.Server
	started time.Time

	mu   sync.Mutex // held while looking: whoever else asks waits for the same answer
	at   time.Time
	last workerReport
}

// workerReport is how a worker of its own and its parts are. Without a gateway it works
// all the same, so that its status does not depend on one.
type workerReport struct {
	Status   string `json:"status"`
	Version  string `json:"version"`
	UptimeMS int64  `json:"uptime_ms"`
	Store    string `json:"store"`
	Temporal string `json:"temporal"`
	Worker   string `json:"worker"`
	Gateway  string `json:"gateway"`
}

// NewExporter returns an exporter that listens already but answers only once it runs.
func NewExporter(o ExporterOptions) (*Exporter, error) {
	rules := Options{Addr: o.Addr, Token: o.Token, TokenGenerated: o.TokenGenerated, AllowedOrigins: o.AllowedOrigins}.withDefaults()
	entrance, err := openDoor(rules, o.Setting, o.Logger)
	if err != nil {
		return nil, err
	}
	e := &Exporter{door: entrance, o: o, started: o.Now()}
	e.http = e.server([]route{
		{method: http.MethodGet, path: "/metrics", handler: e.getMetrics},
		{method: http.MethodGet, path: "/health", open: true, handler: e.getHealth},
	})
	return e, nil
}

// Run answers until ctx ends. What is being answered then is cut off: it is asked for
// again anyway.
func (e *Exporter) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = e.http.Close() })
	defer stop()
	if err := e.http.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", e.Addr(), err)
	}
	return nil
}

// Close stops listening, for an exporter that is not going to run.
func (e *Exporter) Close() error { return e.listener.Close() }

func (e *Exporter) getMetrics(w http.ResponseWriter, r *http.Request) error {
	rep := e.look(r.Context())
	e.o.Metrics.Up(map[string]bool{
		"store": rep.Store == partOK, "temporal": rep.Temporal == partOK, "worker": rep.Worker == partOK, "gateway": rep.Gateway == partOK,
	})
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	e.o.Metrics.ServeHTTP(w, r)
	return nil
}

func (e *Exporter) getHealth(w http.ResponseWriter, r *http.Request) error {
	rep, status := e.report(r.Context()), http.StatusOK
	if rep.Status != partOK {
		status = http.StatusServiceUnavailable
	}
	return writeJSON(w, status, rep)
}

// report looks at most once a second: nobody needs a token to ask.
func (e *Exporter) report(ctx context.Context) workerReport {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := e.o.Now(); e.at.IsZero() || now.Sub(e.at) >= time.Second || now.Before(e.at) {
		e.last = e.look(context.WithoutCancel(ctx)) // whoever asked may hang up: the answer is for the others too
		e.at = e.o.Now()
	}
	e.last.Version, e.last.UptimeMS = e.o.Version, e.o.Now().Sub(e.started).Milliseconds()
	return e.last
}

func (e *Exporter) look(ctx context.Context) workerReport {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	rep := workerReport{Status: partOK, Store: partOK, Temporal: orOK(e.o.Temporal(ctx)), Worker: orOK(e.o.Worker(ctx)), Gateway: orOK(e.o.Gateway(ctx))}
	if err := e.o.Record.Ping(ctx); err != nil {
		rep.Store = "error: " + err.Error()
	}
	for _, part := range []string{rep.Store, rep.Temporal, rep.Worker} {
		if part != partOK {
			rep.Status = degraded
		}
	}
	return rep
}
