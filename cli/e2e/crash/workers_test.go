//go:build crash

package crash

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

func (r *rig) startWorker() *harness.Process {
	r.Helper()
	p := r.h.Start("worker")
	r.h.Eventually("the worker runs", func() bool { return len(p.Stdout.Lines()) > 0 })
	return p
}

// killWorkers kills workers while the gateway lives. Nothing may be left of what they
// had started.
func (r *rig) killWorkers(workers ...*harness.Process) {
	r.Helper()
	r.noteClaimed()
	var theirs []int
	for _, p := range workers {
		theirs = append(theirs, p.Descendants()...)
	}
	r.newLife()
	for _, p := range workers {
		p.Kill9()
		r.killed++
		if !p.Killed() {
			r.Errorf("a worker ended by itself: %s", p.Stderr)
		}
	}
	r.healthy = time.Now()
	r.sound()
	r.until("what the workers had started is gone", func() bool {
		return !slices.ContainsFunc(theirs, harness.Alive)
	})
}

// Workers die while the gateway and Temporal live. Whoever is left does what they had
// begun, once their heartbeats are missed: nothing is asked for twice that is written
// down, and no effect is repeated.
func TestWorkersKilledBesideAnExternalTemporal(t *testing.T) {
	t.Parallel()
	const each = 4 // turns of each kind
	r, temporal := newExternal(t)
	r.h.Configure(map[string]any{"worker": map[string]any{"max_model_calls": 1, "max_tool_calls": 1}})
	r.start() // its own worker takes one of each kind, the others take the rest
	r.h.Configure(map[string]any{"worker": nil})
	workers := []*harness.Process{r.startWorker(), r.startWorker()}
	for round, c := range []struct {
		name   string
		victim []int
		untold bool // what they give is written down, and Temporal does not hear of it
	}{
		{name: "one of two", victim: []int{0}},
		{name: "both", victim: []int{0, 1}},
		{name: "both, with results that Temporal did not hear of", victim: []int{0, 1}, untold: true},
	} {
		release := make(chan struct{})
		var hit []*message
		for i := range each {
			token := fmt.Sprintf("w%d%d", round, i)
			answer := ask(look(token+"m", 1, 0))
			hit = append(hit,
				r.send(fmt.Sprint("tool", i), token+"t", "completed", plan{ask(act(token+"t", 1, 0, untilLet(token+"t"))), say("answer")}),
				r.send(fmt.Sprint("model", i), token+"m", "completed", plan{first(fakeopenai.Hang{Release: release, Then: answer(1)}, answer), say("answer")}))
		}
		behind := r.send("tool0", fmt.Sprintf("w%db", round), "completed", plan{ask(act(fmt.Sprintf("w%db", round), 1, 0, "")), say("answer")})
		goOn := func() {
			close(release)
			for i := 0; i < len(hit); i += 2 {
				r.let(hit[i].token)
			}
		}
		for i := 0; i < len(hit); i += 2 {
			untilActed(r, hit[i])
			untilAsked(1)(r, hit[i+1])
		}
		var victims []*harness.Process
		for _, v := range c.victim {
			victims = append(victims, workers[v])
		}
		if c.untold {
			temporal.Signal(syscall.SIGSTOP)
			goOn()
			for i := 0; i < len(hit); i += 2 {
				r.until("the result is written down", func() bool { return rows(r, hit[i], "tool") == "1" })
				untilAnswered(r, hit[i+1])
			}
			r.killWorkers(victims...)
			temporal.Signal(syscall.SIGCONT)
		} else {
			r.killWorkers(victims...)
			goOn()
		}
		for _, v := range c.victim {
			workers[v] = r.startWorker()
		}
		tools, models := 0, 0 // of the workers that died
		for i, m := range hit {
			r.until("the turn of "+m.token+" ends", func() bool { return r.ended(m) })
			switch {
			case i%2 == 0 && runs(r, m, "unknown") == "1":
				r.recovered(m)
				tools++
			case i%2 == 1 && r.times(m.token, 1) > 1:
				r.recovered(m)
				models++
			}
		}
		r.until("what waited behind is answered", func() bool { return r.ended(behind) })
		r.settle()
		t.Logf("%s: %d of %d tools and %d of %d model calls were theirs", c.name, tools, each, models, each)
		switch {
		case c.untold && tools+models > 0:
			t.Errorf("%d tools and %d model calls were repeated although their results were written down", tools, models)
		case !c.untold && len(c.victim) == len(workers) && min(tools, models) < each-1:
			t.Errorf("%s: the gateway has room for one of each kind only, the others were theirs", c.name)
		}
		if !c.untold {
			r.count("worker killed mid tool", tools, each)
			r.count("worker killed mid model call", models, each)
		}
	}
	r.report()
}
