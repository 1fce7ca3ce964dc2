package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

func (r *rig) engineDir() string { return filepath.Join(r.h.Home, "temporal") }

// snapshot copies Temporal's files; PicoBot is not running.
func (r *rig) snapshot() string {
	r.Helper()
	to := filepath.Join(r.TempDir(), "temporal")
	if err := os.CopyFS(to, os.DirFS(r.engineDir())); err != nil {
		r.Fatal(err)
	}
	return to
}

func (r *rig) restore(from string) {
	r.Helper()
	r.must(os.RemoveAll(r.engineDir()))
	r.must(os.CopyFS(r.engineDir(), os.DirFS(from)))
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// made changes what is written down of who made Temporal's files.
func (r *rig) made(key, value string) {
	r.Helper()
	path := filepath.Join(r.engineDir(), "engine.json")
	text, err := os.ReadFile(path)
	r.must(err)
	var meta map[string]any
	r.must(json.Unmarshal(text, &meta))
	if _, ok := meta[key]; !ok {
		r.Fatalf("engine.json has no %s: %s", key, text)
	}
	meta[key] = value
	text, err = json.Marshal(meta)
	r.must(err)
	r.must(os.WriteFile(path, text, 0o600))
}

// busy brings PicoBot into the middle of a tool in one session and of a model call in
// another, each with a message that waits behind, and returns the four messages.
func (r *rig) busy(name string) []*message {
	r.Helper()
	tool := r.send("tool", name+"t", "completed", plan{ask(look(name+"t", 1, 0), act(name+"t", 1, 1, "; sleep 60")), say("answer")})
	model := r.send("model", name+"m", "completed", plan{ask(act(name+"m", 1, 0, "")), first(fakeopenai.Hang{}, say("answer"))})
	behind := r.send("tool", name+"tb", "completed", plan{ask(act(name+"tb", 1, 0, "")), say("answer")})
	other := r.send("model", name+"mb", "completed", plan{say("answer")})
	untilActed(r, tool)
	untilAsked(2)(r, model)
	return []*message{tool, model, behind, other}
}

// quick has one message answered through a tool.
func (r *rig) quick(chat, token string) {
	r.Helper()
	m := r.send(chat, token, "completed", plan{ask(act(token, 1, 0, "")), say("answer")})
	r.until(token+" is answered", func() bool { return r.ended(m) })
}

func TestEngineFilesThatAreLostOrOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	n := 0
	for i, c := range []struct {
		name   string
		change func()
		fresh  bool // the next start makes new files
	}{
		{"deleted", func() { r.must(os.RemoveAll(r.engineDir())) }, true},
		{"another server version", func() { r.made("server_version", "1.0.0") }, true},
		{"another schema", func() { r.made("schema_hash", "0") }, true},
		{"another build", func() { r.made("build", "another") }, false},
		{"no engine.json", func() { r.must(os.Remove(filepath.Join(r.engineDir(), "engine.json"))) }, true},
		{"visibility deleted", func() { r.remove("visibility") }, true},
		{"cut in half", func() { r.truncate() }, true},
	} {
		if !long() && (c.name == "another schema" || c.name == "no engine.json") {
			continue
		}
		for _, midTurn := range []bool{true, false} {
			if !long() && c.name != "deleted" && midTurn == (i%2 == 1) {
				continue
			}
			name := fmt.Sprintf("e%d", n)
			r.quick("tool", name+"q")
			var hit []*message
			if midTurn {
				hit = r.busy(name)
			}
			if n++; n%3 == 0 {
				r.g.Stop()
				r.rest()
			} else {
				r.kill()
			}
			c.change()
			r.start()
			if got := strings.Contains(r.g.Stderr.String(), "starts with empty files"); got != c.fresh {
				t.Errorf("%s: new files: %v, want %v", c.name, got, c.fresh)
			}
			for _, m := range hit {
				r.recovered(m)
			}
			r.quick("tool", name+"after")
			r.settle()
			if t.Failed() {
				t.Fatalf("after %s, mid-turn: %v", c.name, midTurn)
			}
		}
	}
	r.report()
}

// remove removes one of Temporal's databases with what SQLite keeps beside it.
func (r *rig) remove(kind string) {
	r.Helper()
	paths, err := filepath.Glob(filepath.Join(r.engineDir(), "*"+kind+"*"))
	r.must(err)
	if len(paths) == 0 {
		r.Fatalf("there is no %s among Temporal's files", kind)
	}
	for _, p := range paths {
		r.must(os.Remove(p))
	}
}

// truncate cuts every database of Temporal in half. What had not got into them yet
// is lost.
func (r *rig) truncate() {
	r.Helper()
	r.remove("-wal")
	paths, err := filepath.Glob(filepath.Join(r.engineDir(), "*.db"))
	r.must(err)
	if len(paths) == 0 {
		r.Fatal("there are no databases among Temporal's files")
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		r.must(err)
		r.must(os.Truncate(p, info.Size()/2))
	}
}

func TestEngineFilesThatAreRolledBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.quick("tool", "q0")
	r.kill()
	old := r.snapshot() // between turns
	r.start()
	r.quick("tool", "q1")
	r.busy("a")
	r.kill()
	mid := r.snapshot() // in the middle of four
	r.restore(old)      // mid-turn: Temporal never heard of these
	r.start()
	r.settle()
	r.quick("tool", "q2")
	r.quick("model", "q3")

	// Temporal believes that turns are in the middle which ended long ago.
	r.kill()
	r.restore(mid)
	r.start()
	r.settle()
	r.quick("tool", "q4")

	// It is in the middle of those and the record in the middle of others.
	hit := r.busy("b")
	r.kill()
	r.restore(mid)
	r.start()
	for _, m := range hit {
		r.recovered(m)
	}
	r.settle()

	// After a clean stop, between turns.
	r.g.Stop()
	r.restore(old)
	r.start()
	r.quick("tool", "q5")
	r.quick("model", "q6")
	r.settle()
	r.report()
}

// temporal is a client of the embedded Temporal, as an operator would use one.
func (r *rig) temporal() client.Client {
	r.Helper()
	key, err := os.ReadFile(filepath.Join(r.h.Home, "temporal.key"))
	r.must(err)
	c, err := client.Dial(client.Options{HostPort: r.g.Temporal, HeadersProvider: bearer(strings.TrimSpace(string(key)))})
	r.must(err)
	r.Cleanup(c.Close)
	return c
}

type bearer string

func (b bearer) GetHeaders(context.Context) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// run is the workflow that is at a message.
func (r *rig) run(m *message) string {
	r.Helper()
	id := r.one(`SELECT t.workflow_id FROM turns t JOIN inbound_messages i ON i.id = t.inbound_id WHERE i.external_id = ?`, m.token)
	if id == "" {
		r.Fatalf("no run is at %s", m.token)
	}
	return id
}

func TestRunsCancelledThroughTemporal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	c := r.temporal()
	tool := r.send("tool", "t", "cancelled", plan{ask(act("t", 1, 0, "; sleep 60")), say("answer")})
	behind := r.send("tool", "tb", "completed", plan{ask(act("tb", 1, 0, "")), say("answer")})
	model := r.send("model", "m", "cancelled", plan{first(fakeopenai.Hang{}, say("answer"))})
	r.send("model", "mb", "completed", plan{say("answer")})
	untilActed(r, tool)
	untilAsked(1)(r, model)
	r.must(c.CancelWorkflow(t.Context(), r.run(tool), ""))
	r.must(c.CancelWorkflow(t.Context(), r.run(model), ""))
	r.until("the tool's turn is cancelled and the next one answered", func() bool { return r.ended(tool) && r.ended(behind) })
	r.settle()

	// And killed at once after the cancel: it is one or the other, never both.
	again := r.send("tool", "u", "", plan{ask(act("u", 1, 0, "; sleep 60")), say("answer")})
	untilActed(r, again)
	r.must(c.CancelWorkflow(t.Context(), r.run(again), ""))
	r.jitter(10 * time.Millisecond)
	r.kill()
	r.start()
	r.recovered(again)
	r.quick("tool", "after")
	r.settle()
}

func TestTwoGatewaysOnOneHome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.busy("a")
	var others []*harness.Process
	for range 3 {
		others = append(others, r.h.Start("gateway"))
	}
	for _, p := range others {
		if res := p.Wait(); res.Code != 1 || res.Stdout != "" || !strings.Contains(res.Stderr, fmt.Sprint(r.g.PID())) {
			t.Errorf("a second gateway: %+v", res)
		}
	}
	if status, health := r.g.Health(); status != 200 {
		t.Errorf("the first gateway is not well any more: %v", health)
	}
	r.kill()

	// Two start at once on what the first left: one goes on, the other goes.
	r.newLife()
	a, b := r.h.Start("gateway"), r.h.Start("gateway")
	r.until("one of them gives up", func() bool { return !a.Running() || !b.Running() })
	loser, winner := a, b
	if a.Running() {
		loser, winner = b, a
	}
	if res := loser.Wait(); res.Code != 1 || res.Stdout != "" {
		t.Errorf("the one that gave up: %+v", res)
	}
	r.until("every turn ends", func() bool { return r.one(`SELECT 1 FROM turns WHERE status IN ('queued', 'running') LIMIT 1`) == "" })
	if !winner.Running() {
		t.Errorf("both gave up: %s", winner.Stderr)
	}
	winner.Kill9()
	r.killed++
	r.rest()
	r.start()
	r.quick("tool", "after")
	r.settle()
}

// A port that the configuration names and somebody else has taken meanwhile: PicoBot
// says so and leaves, and what was going on goes on once the port is free.
func TestPortsThatAreTakenAfterAKill(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	for i, key := range []string{"gateway.addr", "temporal.address", "temporal.ui_addr"} {
		hit := r.busy(fmt.Sprint("p", i))
		r.kill()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		r.must(err)
		sections := map[string]map[string]any{"gateway": {"addr": "127.0.0.1:0"}, "temporal": {"address": "127.0.0.1:0", "ui_addr": "127.0.0.1:0"}}
		section, name, _ := strings.Cut(key, ".")
		sections[section][name] = ln.Addr().String()
		r.h.Configure(map[string]any{"gateway": sections["gateway"], "temporal": sections["temporal"]})
		if res := r.h.Run("gateway"); res.Code != 1 || res.Stdout != "" || !strings.Contains(res.Stderr, ln.Addr().String()) || !strings.Contains(res.Stderr, fmt.Sprint(os.Getpid())) {
			t.Errorf("%s is taken: %+v", key, res)
		}
		r.rest()
		r.must(ln.Close())
		r.start()
		for _, m := range hit {
			r.recovered(m)
		}
		r.settle()
	}
	r.report()
}
