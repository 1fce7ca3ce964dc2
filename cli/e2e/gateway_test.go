package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

func TestGatewayOwnsItsHomeAndStopsCleanly(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	if g.Temporal == "" || !strings.HasPrefix(g.UI, "http://") {
		t.Errorf("addresses: %q", g.Stdout.Lines())
	}
	if out := g.Stdout.String(); strings.Count(out, "\n") != 3 {
		t.Errorf("stdout is for addresses only: %q", out)
	}

	second := h.Run("gateway")
	if second.Code != 1 || second.Stdout != "" || !strings.Contains(second.Stderr, fmt.Sprint(g.PID())) || !strings.Contains(second.Stderr, strings.TrimPrefix(g.URL, "http://")) {
		t.Errorf("a second gateway must name the first: %+v", second)
	}
	if r := h.Run("temporal"); r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, fmt.Sprint(g.PID())) {
		t.Errorf("another server on the same files must be refused and name the first: %+v", r)
	}
	status, health := g.Health()
	if status != http.StatusOK || health["temporal_mode"] != "embedded" || health["ui_url"] != g.UI || health["store"] != "ok" || health["worker"] != "ok" {
		t.Errorf("health: %v", health)
	}

	// Work of every kind is going on while it is told to stop.
	ws := g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "a"})
	slow := ws.Send("m1", "slow 60")
	bash := g.WS(t)
	bash.Hello(protocol.Hello{ClientID: "b"})
	run := bash.Send("m1", "run echo begun; sleep 60")
	h.Eventually("both work", func() bool {
		return len(h.Record(`SELECT 1 FROM turns WHERE status = 'running'`)) == 2 && len(h.Record(`SELECT 1 FROM tool_runs WHERE status = 'claimed'`)) == 1
	})
	r := g.Stop()
	if r.Code != 0 {
		t.Errorf("exit code %d: %s", r.Code, r.Stderr)
	}
	if r.Took > 10*time.Second {
		t.Errorf("it took %s to stop", r.Took)
	}
	// Before anybody looks into the record, which makes the file anew.
	if _, err := os.Stat(filepath.Join(h.Home, "storage", "sessions.db-wal")); err == nil {
		t.Error("the record was not closed: its write-ahead log is still there")
	}
	same(t, "a command that was stopped has a known result", h.Record(`SELECT status, result FROM tool_runs WHERE turn_id = ?`, run.TurnID), "failed|*stopped by shutdown*")
	same(t, "turns go on", h.Record(`SELECT status FROM turns WHERE id IN (?, ?)`, slow.TurnID, run.TurnID), "running", "running")
	sound(t, h)
}

func TestGatewayThatIsStoppedWhileItStartsStopsCleanly(t *testing.T) {
	h := harness.New(t)
	for _, after := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond} {
		p := h.Start("gateway")
		time.Sleep(after) // wherever it is then
		if !p.Running() {
			t.Fatalf("the gateway ended by itself: %+v", p.Wait())
		}
		if r := p.Stop(); r.Code != 0 && r.Stderr != "" {
			t.Errorf("stopped after %s: exit code %d: %s", after, r.Code, r.Stderr)
		}
	}
}

func TestPortThatTheConfigNamesIsNeverReplaced(t *testing.T) {
	for _, key := range []string{"gateway.addr", "temporal.address", "temporal.ui_addr"} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		taken := ln.Addr().String()
		h := harness.New(t)
		section, name, _ := strings.Cut(key, ".")
		free := map[string]map[string]any{
			"gateway":  {"addr": "127.0.0.1:0"},
			"temporal": {"address": "127.0.0.1:0", "ui_addr": "127.0.0.1:0"},
		}
		free[section][name] = taken
		h.Configure(map[string]any{"gateway": free["gateway"], "temporal": free["temporal"]})
		for _, args := range [][]string{{"gateway"}, {"agent", "-m", "hi"}} {
			r := h.Run(args...)
			if r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, taken) || !strings.Contains(r.Stderr, fmt.Sprint(os.Getpid())) {
				t.Errorf("%s %v: %+v", key, args, r)
			}
		}
		_ = ln.Close()
	}
}

func TestDefaultTemporalPortsThatAreTakenAreReplaced(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:7233", "127.0.0.1:8233"} {
		if ln, err := net.Listen("tcp", addr); err == nil { // else somebody has it already
			defer ln.Close()
		}
	}
	h := harness.New(t)
	h.Configure(map[string]any{"temporal": nil})
	g := h.StartGateway()
	if !strings.Contains(g.Stderr.String(), "7233 is taken") || !strings.Contains(g.Stderr.String(), "8233 is taken") {
		t.Errorf("stderr: %s", g.Stderr)
	}
	if g.Temporal == "127.0.0.1:7233" || g.UI == "http://127.0.0.1:8233" {
		t.Errorf("addresses: %q", g.Stdout.Lines())
	}
}

func TestBadConfigIsAFailureThatListsEveryProblem(t *testing.T) {
	h := harness.New(t)
	h.WriteFile(h.ConfigFile(), `{"gatway": {}, "models": {"m": {"provider": "nope"}}, "session": {"ttl_hours": "x"}, "locale": "${MISSING_VARIABLE}"}`)
	for _, args := range [][]string{{"config", "check"}, {"gateway"}, {"agent", "-m", "hi"}} {
		r := h.Run(args...)
		if r.Code != 1 || r.Stdout != "" {
			t.Errorf("%v: %+v", args, r)
		}
		for _, path := range []string{"gatway", "models.m.provider", "session.ttl_hours", "locale", "MISSING_VARIABLE"} {
			if !strings.Contains(r.Stderr, path) {
				t.Errorf("%v: %s is missing in %s", args, path, r.Stderr)
			}
		}
	}
	if _, err := os.Stat(h.Home); err == nil {
		t.Error("a bad config must not leave a home behind")
	}
}

func TestMessagesAreTakenWhileTemporalIsAwayAndAnsweredInOrderLater(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	h := harness.New(t)
	h.Configure(map[string]any{"temporal": map[string]any{"mode": "external", "address": addr, "ui_addr": "127.0.0.1:0"}})

	p := h.Start("gateway")
	h.Eventually("the gateway listens", func() bool { return len(p.Stdout.Lines()) > 0 })
	g := &harness.Gateway{Process: p, URL: strings.TrimPrefix(p.Stdout.Lines()[0], "gateway ")}
	if status, health := g.Health(); status != http.StatusServiceUnavailable || health["status"] != "degraded" || health["temporal"] == "ok" {
		t.Errorf("health without temporal: %d %v", status, health)
	}
	ws := harness.Dial(t, g.URL, h.Token())
	ws.Hello(protocol.Hello{ClientID: "c"})
	first, second := ws.Send("m1", "one"), ws.Send("m2", "two")

	temporal := h.Start("temporal")
	if end := ws.End(first.TurnID); end.Status != "completed" {
		t.Errorf("%+v", end)
	}
	ws.End(second.TurnID)
	same(t, "order", h.Record(`SELECT content FROM messages WHERE role IN ('user', 'assistant') ORDER BY seq`), "one", "echo: one", "two", "echo: two")
	h.Eventually("health is good again", func() bool { status, _ := g.Health(); return status == http.StatusOK })

	if r := h.Run("temporal"); r.Code != 1 || r.Stdout != "" {
		t.Errorf("a second server on the same files or ports: %+v", r)
	}
	// A worker of its own, in a process of its own: the gateway shows what it does.
	worker := h.Start("worker")
	h.Eventually("the worker runs", func() bool { return len(worker.Stdout.Lines()) > 0 })
	third := ws.Send("m3", "calc 3*3")
	ws.End(third.TurnID)
	if r := worker.Stop(); r.Code != 0 {
		t.Errorf("worker: %+v", r)
	}
	if r := p.Stop(); r.Code != 0 || r.Took > 10*time.Second {
		t.Errorf("gateway: code %d after %s", r.Code, r.Took)
	}
	if r := temporal.Stop(); r.Code != 0 || r.Took > 10*time.Second {
		t.Errorf("temporal: code %d after %s: %s", r.Code, r.Took, r.Stderr)
	}
	sound(t, h)
}

func TestVersionKnowsWhatItIsBuiltWith(t *testing.T) {
	r := harness.New(t).Run("version")
	for _, want := range []string{"picobot ", "commit ", "go go1.", "temporal server v1.", "temporal sdk v1."} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("%q is missing in %q", want, r.Stdout)
		}
	}
}
