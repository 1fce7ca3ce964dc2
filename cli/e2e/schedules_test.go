package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

func jobNotices(c *harness.Conn, jobID string) (out []string) {
	for _, f := range c.Frames() {
		if n, ok := f.(protocol.Notice); ok && n.JobID == jobID {
			out = append(out, n.Text)
		}
	}
	return out
}

func jobFile(t *testing.T, job map[string]any) string {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "job.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Jobs of all sources through the built binary: of the configuration, one of which is
// bad, of the agent and of the command line.
func TestJobs_FromTheConfigurationTheAgentAndTheCommandLine(t *testing.T) {
	h := harness.New(t)
	me := map[string]any{"channel": "cli", "chat_id": "me"}
	h.Configure(map[string]any{"time_zone": "Asia/Shanghai", "scheduler": map[string]any{"jobs": []any{
		map[string]any{"id": "bad", "kind": "outbound_message", "schedule": map[string]any{"type": "cron", "expression": "* * *"}, "target": me, "payload": map[string]any{"content": "x"}},
		map[string]any{"id": "tick", "kind": "outbound_message", "schedule": map[string]any{"type": "interval", "seconds": 1}, "target": me, "payload": map[string]any{"content": "tick"}},
		map[string]any{"id": "clean", "kind": "internal_event", "schedule": map[string]any{"type": "interval", "seconds": 3600}, "payload": map[string]any{"event": "session_cleanup"}},
	}}})
	if got := h.Run("config", "check"); got.Code != 1 || !strings.Contains(got.Stderr, "scheduler.jobs[0].schedule.expression: has 3 fields") {
		t.Errorf("config check: %+v", got)
	}
	g := h.StartGateway()
	ws := g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "me"})
	h.Eventually("the configured job ticks", func() bool { return len(jobNotices(ws, "tick")) >= 2 })

	turn := ws.Send("m1", "in 1s say hello from before")
	if end := ws.End(turn.TurnID); end.Status != "completed" {
		t.Errorf("%+v", end)
	}
	id := h.Record(`SELECT id FROM scheduler_jobs WHERE source = 'agent'`)[0]
	h.Eventually("the reminder comes", func() bool { return len(jobNotices(ws, id)) == 1 })
	h.Eventually("its job is over", func() bool { return h.Record(`SELECT state FROM scheduler_jobs WHERE id = ?`, id)[0] == "completed" })

	put := h.Run("jobs", "put", jobFile(t, map[string]any{"id": "sum", "kind": "agent_task", "schedule": map[string]any{"type": "cron", "expression": "30 18 * * MON-FRI"},
		"target": me, "payload": map[string]any{"prompt": "tools calc 6*7; in 1s say no", "metadata": map[string]any{"a": 1}}}))
	if put.Code != 0 || !strings.Contains(put.Stdout, "job sum made, next run ") {
		t.Errorf("put: %+v", put)
	}
	if got := h.Run("jobs", "get", "sum"); strings.Count(got.Stdout, "T18:30:00+08:00") != 3 {
		t.Errorf("get: %+v", got)
	}
	if got := h.Run("jobs", "run", "sum"); got.Code != 0 {
		t.Errorf("run: %+v", got)
	}
	h.Eventually("it ran", func() bool {
		return len(h.Record(`SELECT 1 FROM job_runs WHERE job_id = 'sum' AND trigger = 'manual' AND status = 'completed'`)) == 1
	})
	same(t, "a scheduled run may not schedule", h.Record(`SELECT result FROM tool_runs WHERE name = 'scheduler_manage' ORDER BY id DESC LIMIT 1`), "Error: a scheduled run may not change jobs*")
	same(t, "the jobs", h.Record(`SELECT id || ' ' || source FROM scheduler_jobs WHERE source <> 'agent' ORDER BY id`),
		"builtin.memory_maintenance_daily builtin", "clean config", "sum api", "tick config")
	if got := h.Run("jobs", "run", "clean"); got.Code != 0 {
		t.Errorf("run: %+v", got)
	}
	h.Eventually("the cleanup ran", func() bool {
		return h.Record(`SELECT coalesce(max(status), '') FROM job_runs WHERE job_id = 'clean'`)[0] == "completed"
	})
	for args, want := range map[string]string{
		"pause tick":  "job tick is paused",
		"resume tick": "job tick is active",
		"delete sum":  "job sum deleted",
		"list":        "every 1s",
		"runs tick":   "schedule",
		"list --json": `"next_runs"`,
		"runs sum":    "manual",
	} {
		if got := h.Run(append([]string{"jobs"}, strings.Fields(args)...)...); got.Code != 0 || !strings.Contains(got.Stdout, want) {
			t.Errorf("jobs %s: %+v", args, got)
		}
	}
	for args, want := range map[string]string{
		"get sum":     "there is no job",
		"delete tick": "belongs to the configuration or is built in",
	} {
		if got := h.Run(append([]string{"jobs"}, strings.Fields(args)...)...); got.Code != 1 || !strings.Contains(got.Stderr, want) {
			t.Errorf("jobs %s: %+v", args, got)
		}
	}
	sound(t, h)
}

// A reminder that is due while everything is dead comes once, after the next start; so
// with Temporal's files gone. What is paused stays so.
func TestJobs_AReminderDueWhileEverythingIsDead_ComesOnce(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	put := func(id string, seconds int) {
		t.Helper()
		got := h.Run("jobs", "put", jobFile(t, map[string]any{"id": id, "kind": "outbound_message", "schedule": map[string]any{"type": "delay", "seconds": seconds},
			"target": map[string]any{"channel": "cli", "chat_id": "me"}, "payload": map[string]any{"content": id}}))
		if got.Code != 0 {
			t.Fatalf("put: %+v", got)
		}
	}
	put("first", 2)
	put("paused", 2)
	if got := h.Run("jobs", "pause", "paused"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	g.Kill9()
	time.Sleep(3 * time.Second) // it is due meanwhile
	g = h.StartGateway()
	ws := g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "me"})
	h.Eventually("the reminder comes", func() bool { return len(jobNotices(ws, "first")) > 0 })

	put("second", 2)
	g.Kill9()
	if err := os.RemoveAll(filepath.Join(h.Home, "temporal")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	g = h.StartGateway()
	ws = g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "me"})
	h.Eventually("the second reminder comes", func() bool { return len(jobNotices(ws, "second")) > 0 })
	same(t, "each once", h.Record(`SELECT job_id || ' ' || status FROM job_runs ORDER BY id`), "first completed", "second completed")
	same(t, "each once", h.Record(`SELECT content FROM outbound_messages ORDER BY id`), "first", "second")
	same(t, "states", h.Record(`SELECT id || ' ' || state FROM scheduler_jobs WHERE source = 'api' ORDER BY id`), "first completed", "paused paused", "second completed")
	sound(t, h)
}

// With scheduler.enabled off jobs are kept and none is due, whatever Temporal still has;
// one by hand runs.
func TestJobs_TheSchedulerIsOff_NothingIsDueAndRunsByHandAre(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	for id, seconds := range map[string]int{"tick": 1, "hand": 3600} {
		if got := h.Run("jobs", "put", jobFile(t, map[string]any{"id": id, "kind": "outbound_message", "schedule": map[string]any{"type": "interval", "seconds": seconds},
			"target": map[string]any{"channel": "cli", "chat_id": "me"}, "payload": map[string]any{"content": id}})); got.Code != 0 {
			t.Fatalf("put: %+v", got)
		}
	}
	const ran = `SELECT count(*) FROM job_runs WHERE trigger <> 'manual' AND status = 'completed'`
	h.Eventually("it ticks", func() bool { return h.Record(ran)[0] != "0" })
	g.Kill9()

	h.Configure(map[string]any{"scheduler": map[string]any{"enabled": false}})
	g = h.StartGateway()
	ticks := h.Record(`SELECT count(*) FROM job_runs`)[0]
	ws := g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "me"})
	if got := h.Run("jobs", "run", "hand"); got.Code != 0 {
		t.Errorf("run: %+v", got)
	}
	h.Eventually("the run by hand is sent", func() bool { return len(jobNotices(ws, "hand")) == 1 })
	time.Sleep(3 * time.Second) // slots pass meanwhile
	if code, health := g.Health(); code != 200 || health["schedule_lag_ms"] != 0.0 {
		t.Errorf("nothing is late where nothing is due: %d %v", code, health)
	}
	same(t, "no slot has a row", h.Record(`SELECT count(*) FROM job_runs WHERE job_id = 'tick'`), ticks)
	same(t, "the run by hand", h.Record(`SELECT trigger || ' ' || status FROM job_runs WHERE job_id = 'hand'`), "manual completed")
	same(t, "the jobs are kept", h.Record(`SELECT id || ' ' || state FROM scheduler_jobs WHERE source = 'api' ORDER BY id`), "hand active", "tick active")

	before := h.Record(ran)[0]
	g.Kill9()
	h.Configure(map[string]any{"scheduler": nil})
	h.StartGateway()
	h.Eventually("on again, it ticks", func() bool { return h.Record(ran)[0] != before })
	sound(t, h)
}
