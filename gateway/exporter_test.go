package gateway

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/metrics"
	"picobot/internal/testkit/exposition"
	"picobot/store"
)

type exporterRig struct {
	*testing.T
	url      string
	record   *store.Store
	temporal atomic.Value // what is wrong with Temporal
	gateway  atomic.Value // and with the gateway
	ahead    atomic.Int64 // how far its clock is ahead
}

func newExporterRig(t *testing.T) *exporterRig {
	t.Helper()
	r := &exporterRig{T: t}
	r.temporal.Store("")
	r.gateway.Store("")
	m := metrics.NewProcess(metrics.Options{Version: "1.2.3"})
	var err error
	r.record, err = store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "sessions.db"), Now: time.Now, OnWrite: m.Write})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.record.Close()) })
	e, err := NewExporter(ExporterOptions{
		Addr: "127.0.0.1:0", Setting: "--metrics-addr", Token: testToken, TokenGenerated: true, AllowedOrigins: []string{"http://worker-1:19877"}, Version: "1.2.3", Record: r.record, Metrics: m,
		Temporal: func(context.Context) string { return r.temporal.Load().(string) },
		Worker:   func(context.Context) string { return "" },
		Gateway:  func(context.Context) string { return r.gateway.Load().(string) },
		Now:      func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) },
		Logger:   slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	r.url = "http://" + e.Addr()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	return r
}

func (r *exporterRig) get(path string, change func(*http.Request)) (int, string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.url+path, nil)
	require.NoError(r, err)
	req.Header.Set("Authorization", "Bearer "+testToken)
	if change != nil {
		change(req)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(r, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(r, err)
	return resp.StatusCode, string(b)
}

func (r *exporterRig) health(want int) (rep workerReport) {
	r.Helper()
	r.ahead.Add(int64(time.Minute)) // an answer is good for a second
	status, body := r.get("/health", func(req *http.Request) { req.Header.Del("Authorization") })
	require.Equal(r, want, status, body)
	require.NoError(r, json.Unmarshal([]byte(body), &rep))
	return rep
}

func TestExporter_LetsInWhomTheGatewayWould(t *testing.T) {
	r := newExporterRig(t)
	for name, c := range map[string]struct {
		status int
		path   string
		change func(*http.Request)
	}{
		"no token":           {http.StatusUnauthorized, "/metrics", func(req *http.Request) { req.Header.Del("Authorization") }},
		"another token":      {http.StatusUnauthorized, "/metrics", func(req *http.Request) { req.Header.Set("Authorization", "Bearer x") }},
		"another host":       {http.StatusForbidden, "/metrics", func(req *http.Request) { req.Host = "evil.example.com" }},
		"another host still": {http.StatusForbidden, "/health", func(req *http.Request) { req.Host = "evil.example.com" }},
		"a page elsewhere":   {http.StatusForbidden, "/metrics", func(req *http.Request) { req.Header.Set("Origin", "https://evil.example.com") }},
		"nothing there":      {http.StatusNotFound, "/api/v1/sessions", nil},
		"a write":            {http.StatusMethodNotAllowed, "/metrics", func(req *http.Request) { req.Method = http.MethodPost }},
		"by another name":    {http.StatusOK, "/metrics", func(req *http.Request) { req.Host = "worker-1:19877" }},
		"the operator":       {http.StatusOK, "/metrics", nil},
	} {
		status, body := r.get(c.path, c.change)
		require.Equal(t, c.status, status, "%s: %s", name, body)
	}
	_, err := NewExporter(ExporterOptions{Addr: "0.0.0.0:0", Setting: "--metrics-addr", Token: "t", TokenGenerated: true, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "--metrics-addr: ")
	require.ErrorContains(t, err, "set gateway.token, or listen on 127.0.0.1")
}

func TestExporter_TellsOfItsProcessAndNotOfTheRecord(t *testing.T) {
	r := newExporterRig(t)
	_, err := r.record.Accept(t.Context(), store.Inbound{Channel: "cli", ChatID: "me", ExternalID: "1", SenderID: "me", Content: "hi"})
	require.NoError(t, err)
	r.gateway.Store("error: it cannot be reached")
	_, body := r.get("/metrics", nil)
	m, err := exposition.Parse(strings.NewReader(body))
	require.NoError(t, err)
	require.Positive(t, m.Value("picobot_record_write_seconds"))
	require.Positive(t, m.Value("process_start_time_seconds"))
	require.EqualValues(t, 1, m.Value("picobot_build_info", "version", "1.2.3"))
	for part, want := range map[string]float64{"store": 1, "temporal": 1, "worker": 1, "gateway": 0} {
		require.Equal(t, want, m.Value("picobot_up", "part", part), part)
	}
	for _, gateways := range []string{"picobot_turns_total", "picobot_model_calls", "picobot_tool_calls", "picobot_tokens", "picobot_queue_depth", "picobot_schedule"} {
		require.NotContains(t, body, gateways, "told by each process it would be added up")
	}
}

func TestExporter_Health_SaysWhichPartIsNotOK(t *testing.T) {
	r := newExporterRig(t)
	rep := r.health(http.StatusOK)
	rep.UptimeMS = 0
	require.Equal(t, workerReport{Status: "ok", Version: "1.2.3", Store: "ok", Temporal: "ok", Worker: "ok", Gateway: "ok"}, rep)
	r.gateway.Store("error: it cannot be reached")
	require.Equal(t, "error: it cannot be reached", r.health(http.StatusOK).Gateway, "it works all the same")
	r.temporal.Store("error: it does not answer")
	require.Equal(t, "degraded", r.health(http.StatusServiceUnavailable).Status)
}
