package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"picobot/internal/protocol"
	"picobot/internal/testkit/exposition"
	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

// beside is a gateway whose own worker is busy for good, and two workers beside it, so
// that these run every turn.
type beside struct {
	*testing.T
	h       *harness.Harness
	g       *harness.Gateway
	gpt     *fakeopenai.Server
	workers []*harness.Process
	goOn    chan struct{} // closed = answers that were held go on
	busy    []*harness.Conn
}

// streamed is what the model answers, heldAt how much of it comes before it is held.
const (
	streamed = "the whole answer, from its beginning to its end"
	heldAt   = 16
)

func newBeside(t *testing.T) *beside {
	t.Helper()
	b := &beside{T: t, h: harness.New(t), gpt: fakeopenai.Start(t, fakeopenai.Config{}), goOn: make(chan struct{})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	elsewhere := harness.New(t)
	elsewhere.Configure(object{"temporal": object{"address": addr, "ui_addr": "127.0.0.1:0"}})
	temporal := elsewhere.Start("temporal")
	elsewhere.Eventually("temporal listens", func() bool { return len(temporal.Stdout.Lines()) > 0 })
	b.h.Configure(object{
		"temporal":  object{"mode": "external", "address": addr},
		"providers": object{"gpt": object{"type": "openai", "base_url": b.gpt.URL(), "api_key": b.gpt.Key()}},
		"models":    object{"gpt": object{"provider": "gpt", "model": "fake-model"}},
		"agents":    object{"default": object{"model": "gpt"}},
		"tools":     object{"bash": object{"timeout_seconds": 3000, "max_timeout_seconds": 3000}},
		"worker":    object{"max_model_calls": 1, "max_tool_calls": 1},
	})
	b.gpt.Handle(b.reply())
	b.startGateway()
	b.h.Configure(object{"worker": nil})
	b.workers = []*harness.Process{b.startWorker(), b.startWorker()}
	return b
}

// startGateway starts a gateway, whose worker takes one model call and one tool call,
// and gives it these two.
func (b *beside) startGateway() {
	b.Helper()
	b.g = b.h.StartGateway()
	b.occupy("occupy tools", "run")
	b.occupy("occupy models", "call")
}

func (b *beside) occupy(how, what string) {
	b.Helper()
	before := b.gpt.Count()
	ws := b.chat(how)
	turn := ws.Send(how, how).TurnID
	b.h.Eventually("its own worker has a "+what, func() bool {
		if what == "run" {
			return len(b.h.Record(`SELECT 1 FROM tool_runs WHERE turn_id = ?`, turn)) == 1
		}
		return b.gpt.Count() > before
	})
	b.busy = append(b.busy, ws)
}

func (b *beside) startWorker() *harness.Process {
	b.Helper()
	p := b.h.Start("worker", "--metrics-addr", "127.0.0.1:0")
	b.h.Eventually("the worker runs and the gateway hears of it", func() bool {
		return len(p.Stdout.Lines()) == 2 && b.scrape(p).Value("picobot_up") == 4
	})
	return p
}

// metrics is where a worker shows its own.
func metricsOf(p *harness.Process) string {
	for _, line := range p.Stdout.Lines() {
		if url, ok := strings.CutPrefix(line, "metrics "); ok {
			return strings.TrimSuffix(url, "/metrics")
		}
	}
	return ""
}

func (b *beside) chat(name string) *harness.Conn {
	b.Helper()
	ws := b.g.WS(b.T)
	ws.Hello(protocol.Hello{ClientID: name})
	return ws
}

// inWorker checks that a turn was ended by a worker beside the gateway.
func (b *beside) inWorker(turnID string) {
	b.Helper()
	b.h.Eventually("a worker says that it has ended the turn", func() bool {
		for _, p := range b.workers {
			if strings.Contains(p.Stderr.String(), turnID) {
				return true
			}
		}
		return false
	})
}

func call(name string, arguments object) fakeopenai.ToolCall {
	text, _ := json.Marshal(arguments)
	return fakeopenai.ToolCall{Name: name, Arguments: string(text)}
}

// reply is what the model does, by the message of the turn.
func (b *beside) reply() func(fakeopenai.Request) fakeopenai.Step {
	var refused atomic.Bool
	return func(r fakeopenai.Request) fakeopenai.Step {
		first := r.Messages[len(r.Messages)-1].Role == "user"
		switch said := r.LastUser(); {
		case said == "occupy models":
			return fakeopenai.Hang{}
		case said == "occupy tools" && first:
			return fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{call("bash", object{"command": "sleep 3000"})}}
		case said == "act" && first:
			return fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{call("calculator", object{"expression": "6*7"}), call("bash", object{"command": "echo done"})}}
		case said == "tell" && first:
			return fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{call("session_send", object{"content": "psst"})}}
		case said == "die" && first:
			return fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{call("bash", object{"command": "sleep 3000"})}}
		case said == "hold":
			return fakeopenai.Hang{Release: b.goOn, AfterChunks: 5, Then: fakeopenai.Reply{Text: streamed}}
		case said == "stop":
			return fakeopenai.Hang{AfterChunks: 5, Then: fakeopenai.Reply{Text: streamed}}
		case said == "again" && !refused.Swap(true):
			return fakeopenai.Error{Status: http.StatusTooManyRequests, RetryAfter: 3 * time.Second}
		}
		return fakeopenai.Reply{Text: streamed}
	}
}

// What people see of a turn does not depend on which process runs it.
func TestExternalTemporal_TurnsInWorkers_AreSeenAsIfTheGatewayRanThem(t *testing.T) {
	b := newBeside(t)
	ws := b.chat("streaming")
	turn := ws.Send("m", "hello").TurnID
	if end := ws.End(turn); end.Status != protocol.TurnCompleted {
		t.Fatalf("%+v", end)
	}
	if got := shown(ws, turn, "text", 1, 1); got != streamed {
		t.Errorf("what streamed in is %q", got)
	}
	b.inWorker(turn)

	ws = b.chat("tools")
	turn = ws.Send("m", "act").TurnID
	ws.End(turn)
	for _, name := range []string{"calculator", "bash"} {
		var got []string
		for _, f := range ws.Frames() {
			switch f := f.(type) {
			case protocol.Tool:
				if f.Name == name {
					got = append(got, f.Status+" "+f.Summary)
				}
			case protocol.Message:
				if f.ToolName == name {
					got = append(got, "result "+f.Content)
				}
			}
		}
		summary := map[string]string{"calculator": "calculator: 6*7", "bash": "bash: echo done"}[name]
		same(t, "frames of "+name, got, "started "+summary, "completed "+summary, "result *")
	}
	b.inWorker(turn)

	ws = b.chat("notices")
	turn = ws.Send("m", "tell").TurnID
	psst := harness.Expect(ws, "what a tool sends", func(n protocol.Notice) bool { return n.Text == "psst" })
	if psst.Level != "message" {
		t.Errorf("%+v", psst)
	}
	b.h.Eventually("it counts as sent", func() bool {
		return len(b.h.Record(`SELECT 1 FROM outbound_messages WHERE id = ? AND status = 'sent'`, psst.ID)) == 1
	})
	b.inWorker(turn)

	ws = b.chat("warnings")
	turn = ws.Send("m", "again").TurnID
	harness.Expect(ws, "that the model is asked again", func(n protocol.Notice) bool {
		return n.Level == "warn" && strings.Contains(n.Text, "asked again in 3 seconds")
	})
	ws.End(turn)
	b.inWorker(turn)

	ws = b.chat("stopping")
	turn = ws.Send("m", "stop").TurnID
	harness.Expect(ws, "the beginning of an answer", func(protocol.Delta) bool { return true })
	ws.Write(protocol.Cancel{})
	if end := ws.End(turn); end.Status != protocol.TurnCancelled {
		t.Errorf("%+v", end)
	}

	m := scrape(t, b.h, b.g)
	for name, least := range map[string]float64{"picobot_model_calls_total": 6, "picobot_tokens_total": 1, "picobot_turns_total": 5, "picobot_turn_duration_seconds": 5, "picobot_tool_calls_total": 3} {
		if m.Value(name) < least {
			t.Errorf("%s of the gateway is %v: it tells of all workers", name, m.Value(name))
		}
	}
	for _, p := range b.workers {
		m := b.scrape(p)
		if m.Value("temporal_request_total") <= 0 || m.Value("picobot_record_write_seconds") <= 0 {
			t.Errorf("a worker's own metrics: %v requests, %v writes", m.Value("temporal_request_total"), m.Value("picobot_record_write_seconds"))
		}
	}
	sound(t, b.h)
}

// A worker that dies takes its connection with it. What another one makes of the turn is
// seen like everything else.
func TestExternalTemporal_WorkerKilled_WhatTheOtherOneStreamsIsSeen(t *testing.T) {
	t.Parallel()
	b := newBeside(t)
	ws := b.chat("a")
	turn := ws.Send("m", "die").TurnID
	victim := -1
	b.h.Eventually("a worker runs the command", func() bool {
		for i, p := range b.workers {
			if len(p.Descendants()) > 0 {
				victim = i
			}
		}
		return victim >= 0
	})
	b.workers[victim].Kill9()
	if end := ws.End(turn); end.Status != protocol.TurnCompleted {
		t.Fatalf("%+v", end)
	}
	if tool := harness.Of[protocol.Tool](ws); tool[len(tool)-1].Status != "unknown" {
		t.Errorf("%+v", tool)
	}
	if got := shown(ws, turn, "text", 2, 1); got != streamed {
		t.Errorf("what streamed in is %q", got)
	}
	b.workers[victim] = b.startWorker()
	turn = ws.Send("m2", "hello").TurnID
	ws.End(turn)
	if got := shown(ws, turn, "text", 1, 1); got != streamed {
		t.Errorf("with another worker: what streamed in is %q", got)
	}
	sound(t, b.h)
}

// Another gateway is at another address. Workers find it, in the middle of a turn too.
func TestExternalTemporal_GatewayKilled_WorkersFindTheNextOne(t *testing.T) {
	t.Parallel()
	b := newBeside(t)
	ws := b.g.WS(t)
	at := ws.Hello(protocol.Hello{ClientID: "a"})
	turn := ws.Send("m", "hold").TurnID
	before, url := streamed[:heldAt], b.g.URL
	b.h.Eventually("the beginning of the answer is shown", func() bool { return shown(ws, turn, "text", 1, 1) == before })
	b.g.Kill9()
	b.g = b.h.StartGateway()
	if b.g.URL == url {
		t.Fatalf("it is at the same address, %s", url)
	}
	b.h.Eventually("the workers have found it", func() bool {
		return b.scrape(b.workers[0]).Value("picobot_up", "part", "gateway") == 1 && b.scrape(b.workers[1]).Value("picobot_up", "part", "gateway") == 1
	})
	ws = b.g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "a", SessionID: at.SessionID, FromSeq: new(int64)})
	close(b.goOn)
	ws.End(turn)
	if after := shown(ws, turn, "text", 1, 1); before+after != streamed {
		t.Errorf("before the kill %q streamed in, after it %q", before, after)
	}
	b.inWorker(turn)
	sound(t, b.h)
}

// scrape asks a worker for its metrics.
func (b *beside) scrape(p *harness.Process) exposition.Metrics {
	b.Helper()
	return scrapeAt(b.T, b.h, metricsOf(p))
}
