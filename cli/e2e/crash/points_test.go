package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

// point is where PicoBot is killed.
type point struct {
	name string
	plan func(r *rig, token string) plan
	want string // status the turn ends with; "" = completed or cancelled
	// held: Temporal stands still before the message is sent.
	held bool
	// reach returns when it is time; nil = at once after the message was accepted.
	reach func(r *rig, m *message)
	// unacked: the kill does not wait for the message to be accepted.
	unacked bool
	// hit looks at what lies there at rest: was it the point that was meant?
	hit func(r *rig, m *message) bool
}

func plain(_ *rig, token string) plan { return plan{say("answer " + token)} }

// oneTool acts once and answers.
func oneTool(more string) func(*rig, string) plan {
	return func(_ *rig, token string) plan { return plan{ask(act(token, 1, 0, more)), say("answer " + token)} }
}

func rows(r *rig, m *message, role string) string {
	return r.one(`SELECT count(*) FROM messages m JOIN inbound_messages i ON i.turn_id = m.turn_id WHERE i.external_id = ? AND m.role = ? AND m.origin_seq IS NULL`, m.token, role)
}

func runs(r *rig, m *message, status string) string {
	return r.one(`SELECT count(*) FROM tool_runs x JOIN inbound_messages i ON i.turn_id = x.turn_id WHERE i.external_id = ? AND x.status = ?`, m.token, status)
}

func untilAsked(step int) func(*rig, *message) {
	return func(r *rig, m *message) {
		r.until(fmt.Sprintf("the model is asked for step %d of %s", step, m.token), func() bool { return r.times(m.token, step) > 0 })
		r.jitter(30 * time.Millisecond)
	}
}

// untilHeld waits until the model has answered and the answer cannot be written.
func untilHeld(r *rig, m *message) {
	r.until("the record is locked", func() bool { return r.locked(theRecord) })
	time.Sleep(60 * time.Millisecond)
}

func untilActed(r *rig, m *message) {
	r.until(m.token+" acts", func() bool {
		text, _ := os.ReadFile(filepath.Join(r.h.Workspace(), "effects")) // is not there at first
		return strings.Contains(string(text), m.token+".")
	})
}

func untilAnswered(r *rig, m *message) {
	r.until("the answer is written down", func() bool { return rows(r, m, "assistant") != "0" })
}

// untilShown waits until the message's client was shown a frame for which is holds.
func untilShown[F protocol.ServerFrame](r *rig, m *message, what string, is func(F) bool) {
	ws := r.socket(m.chat)
	r.until(m.chat+" is shown "+what, func() bool { return slices.ContainsFunc(harness.Of[F](ws), is) })
}

// untilCancelled stops the turn and waits until the record knows it.
func untilCancelled(r *rig, m *message) {
	r.hold()
	r.socket(m.chat).Write(protocol.Cancel{})
	r.until("the cancel is written down", func() bool { return cancelled(r, m) })
}

func cancelled(r *rig, m *message) bool {
	return r.one(`SELECT t.cancel_requested_at FROM turns t JOIN inbound_messages i ON i.id = t.inbound_id WHERE i.external_id = ?`, m.token) != ""
}

// untilStopping tells PicoBot to stop and waits until it does: nobody is let in any
// more. What is told to Temporal then holds it up.
func untilStopping(r *rig) {
	r.hold()
	r.g.Signal(syscall.SIGTERM)
	if r.loose {
		r.jitter(700 * time.Millisecond)
		return
	}
	r.until("the gateway is closed", func() bool { status, _ := r.g.Health(); return status == 0 })
	r.jitter(time.Second)
}

func running(r *rig, m *message) bool { return r.status(m) == "running" }

var points = []point{
	{name: "before dispatch", plan: plain, want: "completed", unacked: true, held: true,
		reach: func(r *rig, m *message) {
			r.until("the message is written down", func() bool { return r.status(m) != "" })
		},
		hit: func(r *rig, m *message) bool { return r.status(m) == "queued" }},
	{name: "right after ack", plan: oneTool(""), want: "completed", held: true,
		hit: func(r *rig, m *message) bool { return !r.ended(m) }},
	{name: "mid model call", want: "completed",
		plan: func(_ *rig, token string) plan {
			return plan{first(fakeopenai.Hang{}, ask(act(token, 1, 0, ""))), say("answer " + token)}
		},
		reach: untilAsked(1),
		hit:   func(r *rig, m *message) bool { return running(r, m) && rows(r, m, "assistant") == "0" }},
	{name: "mid model stream", want: "completed",
		plan: func(_ *rig, token string) plan {
			return plan{ask(act(token, 1, 0, "")), first(fakeopenai.Hang{AfterChunks: 4, Then: fakeopenai.Reply{Text: "half of an answer that nobody gets"}}, say("answer "+token))}
		},
		reach: func(r *rig, m *message) {
			untilAsked(2)(r, m)
			untilShown(r, m, "half an answer", func(d protocol.Delta) bool { return d.Step == 2 })
		},
		hit: func(r *rig, m *message) bool { return running(r, m) && rows(r, m, "assistant") == "1" }},
	{name: "model answered, nothing written", want: "completed",
		plan: func(r *rig, token string) plan {
			return plan{r.held(ask(act(token, 1, 0, ""))), say("answer " + token)}
		},
		reach: untilHeld,
		hit:   func(r *rig, m *message) bool { return running(r, m) && rows(r, m, "assistant") == "0" }},
	{name: "between model and tool", want: "completed",
		plan: func(r *rig, token string) plan {
			return plan{r.untold(ask(act(token, 1, 0, ""))), say("answer " + token)}
		},
		reach: untilAnswered,
		hit: func(r *rig, m *message) bool {
			return rows(r, m, "assistant") == "1" && runs(r, m, "claimed") == "0" && rows(r, m, "tool") == "0"
		}},
	{name: "mid tool that acts", plan: oneTool("; sleep 60"), want: "completed", reach: untilActed,
		hit: func(r *rig, m *message) bool { return runs(r, m, "claimed") == "1" }},
	{name: "mid tool that leaves a daemon", plan: oneTool("; (setsid nohup sleep 600 >/dev/null 2>&1 &); sleep 60"), want: "completed", reach: untilActed,
		hit: func(r *rig, m *message) bool { return runs(r, m, "claimed") == "1" }},
	{name: "mid tool that only looks", want: "completed",
		plan: func(r *rig, token string) plan {
			return plan{r.untold(ask(look(token, 1, 0))), say("answer " + token)}
		},
		reach: func(r *rig, m *message) {
			untilAnswered(r, m)
			r.lock(theRecord) // the result stays in hand
			r.unlock(theTemporal)
			if !r.loose {
				untilShown(r, m, "that the tool runs", func(f protocol.Tool) bool { return strings.HasPrefix(f.CallID, "call_"+m.token+"_") })
			}
			r.jitter(30 * time.Millisecond)
		},
		hit: func(r *rig, m *message) bool { return rows(r, m, "assistant") == "1" && rows(r, m, "tool") == "0" }},
	{name: "mid many tools", want: "completed",
		// Those that act run one after another: the third one is where it dies.
		plan: func(_ *rig, token string) plan {
			return plan{ask(look(token, 1, 0), look(token, 1, 1), act(token, 1, 2, ""), act(token, 1, 3, "; sleep 0.05"), look(token, 1, 4),
				act(token, 1, 5, "; sleep 60"), look(token, 1, 6), act(token, 1, 7, "")), say("answer " + token)}
		},
		reach: func(r *rig, m *message) {
			r.until("the one that lasts is claimed", func() bool {
				return r.one(`SELECT count(*) FROM tool_runs x JOIN inbound_messages i ON i.turn_id = x.turn_id WHERE i.external_id = ? AND x.position = 5`, m.token) == "1"
			})
			r.jitter(150 * time.Millisecond)
		},
		hit: func(r *rig, m *message) bool { return runs(r, m, "claimed") != "0" && rows(r, m, "tool") == "0" }},
	{name: "between tool and next call", want: "completed",
		plan: func(_ *rig, token string) plan {
			return plan{ask(act(token, 1, 0, untilLet(token))), say("answer " + token)}
		},
		reach: func(r *rig, m *message) {
			untilActed(r, m)
			r.hold()
			r.let(m.token)
			r.until("the result is written down", func() bool { return rows(r, m, "tool") != "0" })
		},
		hit: func(r *rig, m *message) bool { return running(r, m) && r.times(m.token, 2) == 0 }},
	{name: "before the final row", want: "completed",
		plan: func(r *rig, token string) plan {
			return plan{ask(act(token, 1, 0, "")), r.held(say("answer " + token))}
		},
		reach: untilHeld,
		hit:   func(r *rig, m *message) bool { return running(r, m) && rows(r, m, "assistant") == "1" }},
	{name: "run is closing", plan: closing, want: "completed", reach: untilClosing,
		hit: func(r *rig, m *message) bool { return r.ended(m) && r.open(m) }},
	{name: "run is closing, a message comes", plan: closing, want: "completed",
		reach: func(r *rig, m *message) {
			untilClosing(r, m)
			behind := r.write(m.chat, m.token+"x", "completed", plan{say("answer " + m.token + "x")})
			r.until("the next message is written down", func() bool { return r.status(behind) != "" })
		},
		hit: func(r *rig, m *message) bool {
			return r.ended(m) && r.open(m) && len(r.with("queued", "running")) > 0
		}},
	{name: "run is closing, shutdown", plan: closing, want: "completed",
		reach: func(r *rig, m *message) { untilClosing(r, m); untilStopping(r) },
		hit:   func(r *rig, m *message) bool { return r.ended(m) && r.open(m) }},
	{name: "cancel mid model call", want: "cancelled",
		plan:  func(_ *rig, token string) plan { return plan{first(fakeopenai.Hang{}, say("answer "+token))} },
		reach: func(r *rig, m *message) { untilAsked(1)(r, m); untilCancelled(r, m) },
		hit:   func(r *rig, m *message) bool { return running(r, m) && cancelled(r, m) }},
	{name: "cancel mid tool", plan: oneTool("; sleep 60"), want: "cancelled",
		reach: func(r *rig, m *message) { untilActed(r, m); untilCancelled(r, m) },
		hit:   func(r *rig, m *message) bool { return running(r, m) && cancelled(r, m) }},
	{name: "cancel of a waiting message", want: "completed",
		plan: func(_ *rig, token string) plan { return plan{first(fakeopenai.Hang{}, say("answer "+token))} },
		reach: func(r *rig, m *message) {
			untilAsked(1)(r, m)
			waiting := r.send(m.chat, m.token+"w", "cancelled", nil)
			r.socket(m.chat).Write(protocol.Cancel{TurnID: r.one(`SELECT turn_id FROM inbound_messages WHERE external_id = ?`, waiting.token)})
			r.until("it is withdrawn", func() bool { return r.ended(waiting) })
		},
		hit: running},
	{name: "shutdown mid tool", plan: oneTool("; sleep 60"), want: "completed",
		reach: func(r *rig, m *message) { untilActed(r, m); untilStopping(r) },
		hit:   running},
	{name: "shutdown mid model call", want: "completed",
		plan: func(_ *rig, token string) plan {
			return plan{ask(look(token, 1, 0)), first(fakeopenai.Hang{AfterChunks: 2}, say("answer "+token))}
		},
		reach: func(r *rig, m *message) { untilAsked(2)(r, m); untilStopping(r) },
		hit:   running},
}

// closing is an answer that Temporal does not hear of, so that the run stays open.
func closing(r *rig, token string) plan { return plan{r.untold(say("answer " + token))} }

func untilClosing(r *rig, m *message) {
	r.until("the turn ends", func() bool { return r.ended(m) })
	if r.loose {
		r.jitter(15 * time.Millisecond)
	}
}

// TestKilledAtEveryPoint leads PicoBot to each point in turn and kills it there. All
// happens in one home, in sessions that grow, each with a message that waits behind.
// In the first round, and every second one after it, PicoBot is held at its point; in
// the others it is killed on its way past, wherever that is.
func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	rounds := max(len(points), *kills-*kills/5)
	for i := range rounds {
		p := points[i%len(points)]
		r.loose = i/len(points)%2 == 1
		token, chat := fmt.Sprintf("k%d", i), fmt.Sprintf("chat%d", i%5)
		if p.held {
			r.socket(chat) // a new chat's welcome waits for nobody
			r.hold()
		}
		m := r.write(chat, token, p.want, p.plan(r, token))
		if !p.unacked {
			r.accept(m)
		}
		var behind *message
		if i%3 == 2 && !strings.HasPrefix(p.name, "run is closing") && p.name != "cancel of a waiting message" {
			behind = r.write(chat, token+"b", "completed", plan{ask(act(token+"b", 1, 0, "")), say("answer")})
		}
		if p.reach != nil {
			p.reach(r, m)
		}
		killed := r.kill()
		if killed && p.hit(r, m) {
			r.count(p.name, 1, 1)
		} else if r.count(p.name, 0, 1); !r.loose {
			t.Errorf("kill %d, %s, did not hit its point: killed %v, its turn is %q", i, p.name, killed, r.status(m))
		}
		hit := r.with("queued", "running")
		r.start()
		for _, m := range hit {
			r.recovered(m)
		}
		r.resend()
		r.settle()
		if r.Failed() {
			t.Fatalf("after kill %d, %s (%s)", i, token, p.name)
		}
		if behind != nil && !behind.accepted {
			t.Fatalf("%s was not accepted", behind.token)
		}
	}
	r.report()
}

// TestKilledAtRandom keeps several sessions busy with queued messages and kills
// PicoBot whenever it likes.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	rounds := max(2, *kills/5)
	for i := range rounds {
		for j := range 3 + r.rand.IntN(6) {
			token := fmt.Sprintf("r%dm%d", i, j)
			r.write(fmt.Sprintf("chat%d", r.rand.IntN(4)), token, "completed", r.anything(token))
			r.jitter(40 * time.Millisecond)
		}
		r.jitter(1500 * time.Millisecond)
		if r.rand.IntN(4) == 0 {
			r.g.Signal(syscall.SIGTERM)
			r.jitter(time.Second)
		}
		r.kill()
		if r.rand.IntN(3) == 0 { // and again before it is well
			r.newLife()
			p := r.h.Start("gateway")
			r.jitter(1200 * time.Millisecond)
			p.Kill9()
			r.killed++
			r.rest()
		}
		hit := r.with("running") // what waits behind those has their work to wait for
		r.start()
		r.resend()
		for _, m := range hit {
			r.recovered(m)
		}
		if r.rand.IntN(3) == 0 {
			r.settle()
		}
	}
	r.settle()
	r.report()
}

// anything is some plan.
func (r *rig) anything(token string) plan {
	last := say("answer " + token)
	switch r.rand.IntN(5) {
	case 0: // slow
		wait := r.upTo(1500 * time.Millisecond)
		return plan{first(fakeopenai.Reply{Text: "slow", Latency: wait}, last)}
	case 1: // one command
		return plan{ask(act(token, 1, 0, fmt.Sprintf("; sleep 0.%d", r.rand.IntN(10)))), last}
	case 2: // parallel calls
		var calls []fakeopenai.ToolCall
		for i := range 2 + r.rand.IntN(4) {
			if r.rand.IntN(2) == 0 {
				calls = append(calls, look(token, 1, i))
			} else {
				calls = append(calls, act(token, 1, i, fmt.Sprintf("; sleep 0.%d", r.rand.IntN(5))))
			}
		}
		return plan{ask(calls...), last}
	case 3: // a long way
		var p plan
		for step := 1; step <= 12; step++ {
			if step%4 == 0 {
				p = append(p, ask(act(token, step, 0, "")))
			} else {
				p = append(p, ask(fakeopenai.ToolCall{ID: fmt.Sprintf("call_%s_%d", token, step), Name: "calculator", Arguments: fmt.Sprintf(`{"expression":"%d+1"}`, step)}))
			}
		}
		return append(p, last)
	default:
		return plan{last}
	}
}
