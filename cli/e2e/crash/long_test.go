//go:build crash

// Tests that wait for timeouts of half a minute and more: make crash runs them.

package crash

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"picobot/internal/testkit/fakeopenai"
)

// Terminate means a crash: the sweep finds what nobody is at any more, and what was
// under way in the process is taken, not done again.
func TestRunsTerminatedThroughTemporal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	c := r.temporal()
	release := make(chan struct{})
	tool := r.send("tool", "t", "completed", plan{ask(act("t", 1, 0, "; sleep 3")), say("answer")})
	r.send("tool", "tb", "completed", plan{ask(act("tb", 1, 0, "")), say("answer")})
	model := r.send("model", "m", "completed", plan{first(fakeopenai.Hang{Release: release, Then: fakeopenai.Reply{Text: "answer"}}, say("answer"))})
	r.send("model", "mb", "completed", plan{say("answer")})
	untilActed(r, tool)
	untilAsked(1)(r, model)
	for _, m := range []*message{tool, model} {
		r.must(c.TerminateWorkflow(t.Context(), r.run(m), "", "a test"))
	}
	time.AfterFunc(time.Second, func() { close(release) })
	r.settle()
	if got := r.one(`SELECT count(*) FROM tool_runs WHERE status = 'unknown'`); got != "0" {
		t.Errorf("%s tools have an unknown outcome although their process lives", got)
	}
	// A new message after a terminate needs no sweep.
	third := r.send("tool", "v", "completed", plan{ask(act("v", 1, 0, "; sleep 1")), say("answer")})
	untilActed(r, third)
	r.must(c.TerminateWorkflow(t.Context(), r.run(third), "", "a test"))
	begun := time.Now()
	r.quick("tool", "w")
	t.Logf("a message after a terminate was answered after %s", time.Since(begun).Round(time.Millisecond))
	r.settle()
}

// A laptop that sleeps for longer than every heartbeat: nothing is lost, nothing done
// twice, and what went on meanwhile is taken.
func TestStoppedForLongerThanEveryHeartbeat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	release := make(chan struct{})
	tool := r.send("tool", "t", "completed", plan{ask(act("t", 1, 0, "; sleep 5"), look("t", 1, 1)), say("answer")})
	r.send("tool", "tb", "completed", plan{ask(act("tb", 1, 0, "")), say("answer")})
	lasting := r.send("lasting", "l", "completed", plan{ask(act("l", 1, 0, "; sleep 90")), say("answer")})
	model := r.send("model", "m", "completed", plan{first(fakeopenai.Hang{Release: release, Then: fakeopenai.Reply{Text: "answer"}}, say("answer"))})
	untilActed(r, tool)
	untilActed(r, lasting)
	untilAsked(1)(r, model)
	r.g.Signal(syscall.SIGSTOP)
	time.Sleep(75 * time.Second)
	r.g.Signal(syscall.SIGCONT)
	// The model answers late enough for a second attempt, which must not ask it again.
	time.AfterFunc(5*time.Second, func() { close(release) })
	r.disconnect() // the gateway heard nothing for longer than it waits for anybody: clients come back
	begun := time.Now()
	r.until("the turns end that could go on", func() bool { return r.ended(tool) && r.ended(model) })
	t.Logf("answered %s after it woke; Temporal had given up %d attempts", time.Since(begun).Round(time.Millisecond),
		strings.Count(r.g.Stderr.String(), "the attempt was given up, its work goes on"))
	r.settle()
	if got := r.one(`SELECT count(*) FROM tool_runs WHERE status <> 'completed'`); got != "0" {
		t.Errorf("%s tools did not complete although their process lived", got)
	}
	r.quick("tool", "after")
	r.settle()
}

// PicoBot sleeps and Temporal does not: the heartbeats are missed for certain and
// second attempts wait for it when it wakes. They must join what still runs.
func TestStoppedBesideAnExternalTemporal(t *testing.T) {
	t.Parallel()
	r, _ := newExternal(t)
	r.start()
	release := make(chan struct{})
	tool := r.send("tool", "s", "completed", plan{ask(act("s", 1, 0, "; sleep 60")), say("answer")})
	model := r.send("model", "sm", "completed", plan{first(fakeopenai.Hang{Release: release, Then: fakeopenai.Reply{Text: "answer"}}, say("answer"))})
	untilActed(r, tool)
	untilAsked(1)(r, model)
	r.g.Signal(syscall.SIGSTOP)
	time.Sleep(45 * time.Second) // longer than the heartbeat timeout
	r.g.Signal(syscall.SIGCONT)
	time.AfterFunc(5*time.Second, func() { close(release) })
	r.disconnect()
	r.until("the turns end that could go on", func() bool { return r.ended(tool) && r.ended(model) })
	if n := strings.Count(r.g.Stderr.String(), "the attempt was given up, its work goes on"); n < 2 {
		t.Errorf("Temporal gave up %d attempts: both should have missed their heartbeats", n)
	}
	if got := r.one(`SELECT count(*) FROM tool_runs WHERE status <> 'completed'`); got != "0" {
		t.Errorf("%s tools did not complete although their process lived", got)
	}
	r.settle()
}

// PicoBot dies and Temporal lives: nothing proves that the worker is dead, so its work
// is given up when its heartbeats are missed. What was written down and Temporal did
// not hear of is not asked for again.
func TestKilledBesideAnExternalTemporal(t *testing.T) {
	t.Parallel()
	r, temporal := newExternal(t)
	r.start()
	for i := range 3 {
		token := fmt.Sprintf("y%d", i)
		release := make(chan struct{})
		tool := r.send("tool", token+"t", "completed", plan{ask(act(token+"t", 1, 0, "; sleep 60")), say("answer")})
		model := r.send("model", token+"m", "completed", plan{first(fakeopenai.Hang{}, ask(act(token+"m", 1, 0, ""))), say("answer")})
		r.send("tool", token+"tb", "completed", plan{ask(act(token+"tb", 1, 0, "")), say("answer")})
		answer := ask(look(token+"u", 1, 0))
		untold := r.send("untold", token+"u", "completed", plan{first(fakeopenai.Hang{Release: release, Then: answer(1)}, answer), say("answer")})
		untilActed(r, tool)
		untilAsked(1)(r, model)
		untilAsked(1)(r, untold)
		accepted := r.send("third", token+"a", "completed", plan{say("answer")})
		temporal.Signal(syscall.SIGSTOP)
		close(release)
		untilAnswered(r, untold)
		r.kill()
		temporal.Signal(syscall.SIGCONT)
		r.start()
		for _, m := range []*message{tool, model, untold, accepted} {
			r.recovered(m)
		}
		r.quick("third", token+"after")
		r.settle()
	}
	r.report()
}
