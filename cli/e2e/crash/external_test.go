package crash

import (
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"picobot/internal/testkit/harness"
)

// newExternal is a rig whose Temporal is a process of its own.
func newExternal(t testing.TB) (*rig, *harness.Process) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	r := newRig(t)
	r.h.Configure(map[string]any{"temporal": map[string]any{"mode": "external", "address": addr, "ui_addr": "127.0.0.1:0"}})
	return r, r.startTemporal()
}

func (r *rig) startTemporal() *harness.Process {
	r.Helper()
	p := r.h.Start("temporal")
	r.beside = []int{p.PID()}
	r.h.Eventually("temporal listens", func() bool { return len(p.Stdout.Lines()) > 0 })
	return p
}

// Temporal dies or stands still while messages arrive and turns are in the middle:
// every message is accepted at once and answered later, nothing is done twice.
func TestExternalTemporalThatGoesAway(t *testing.T) {
	t.Parallel()
	away := time.Second
	if long() {
		away = time.Minute
	}
	r, temporal := newExternal(t)
	r.start()
	r.quick("tool", "q0")
	for i, how := range []string{"killed", "stopped"} {
		token := fmt.Sprintf("x%d", i)
		tool := r.send("tool", token+"t", "completed", plan{ask(act(token+"t", 1, 0, "; sleep 1"), look(token+"t", 1, 1)), say("answer")})
		untilActed(r, tool)
		if how == "killed" {
			temporal.Kill9()
			r.beside = nil
		} else {
			temporal.Signal(syscall.SIGSTOP)
		}
		begun := time.Now()
		for j := range 4 {
			b := fmt.Sprintf("%sb%d", token, j)
			r.send([]string{"tool", "other"}[j%2], b, "completed", plan{ask(act(b, 1, 0, "")), say("answer")})
		}
		t.Logf("%s: four messages were accepted within %s", how, time.Since(begun).Round(time.Millisecond))
		time.Sleep(away)
		if how == "killed" {
			temporal = r.startTemporal()
		} else {
			temporal.Signal(syscall.SIGCONT)
		}
		begun = time.Now()
		r.settle()
		t.Logf("%s: everything was answered %s after it came back", how, time.Since(begun).Round(time.Millisecond))
		if got := r.one(`SELECT count(*) FROM tool_runs WHERE status <> 'completed'`); got != "0" {
			t.Errorf("%s tools did not complete although their process lived", got)
		}
	}
}
