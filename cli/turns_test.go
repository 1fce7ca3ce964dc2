package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"picobot/gateway"
	"picobot/internal/flow"
	"picobot/internal/home"
	"picobot/internal/live"
	"picobot/store"
)

// nobody is a dispatcher whose nudges reach nobody.
type nobody struct{}

func (nobody) Nudge(string)              {}
func (nobody) CancelTurn(string, string) {}
func (nobody) Compact(string)            {}

// serveHome runs a gateway for the home, without anybody who works, and returns its record.
func (h *harness) serveHome() *store.Store {
	h.t.Helper()
	check := func(err error) {
		h.t.Helper()
		if err != nil {
			h.t.Fatal(err)
		}
	}
	dir, err := home.Open(h.home)
	check(err)
	token, err := dir.Token()
	check(err)
	record, err := store.Open(h.t.Context(), store.Options{Path: dir.StorageDB(), Now: time.Now})
	check(err)
	server, err := gateway.New(gateway.Options{Addr: "127.0.0.1:0", Token: token, TokenGenerated: true},
		gateway.Deps{Record: record, Hub: live.NewHub(), Dispatcher: nobody{}})
	check(err)
	lock, err := dir.Lock(home.Owner{Command: "gateway", Address: server.Addr(), UIURL: "http://127.0.0.1:8233"})
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Run(ctx) }()
	h.t.Cleanup(func() {
		stop()
		check(<-done)
		check(lock.Unlock())
		check(record.Close())
	})
	return record
}

func TestTurns_AreListedAndShown_WithoutAGateway(t *testing.T) {
	h := newHarness(t)
	turn := h.talk(t)
	r := h.run("turns", "list")
	if r.code != 0 || !strings.Contains(r.stdout, turn.ID+"  completed  "+turn.SessionID) {
		t.Errorf("list: %+v", r)
	}
	var list []gateway.Turn
	r = h.run("turns", "list", "--json", "--status", "completed", "--session", turn.SessionID)
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || len(list) != 1 || list[0].ID != turn.ID || list[0].RunURL != "" {
		t.Errorf("list --json: %+v %v", r, err)
	}
	if r = h.run("turns", "list", "--json", "--status", "failed"); r.stdout != "[]\n" {
		t.Errorf("a list of nothing: %+v", r)
	}
	r = h.run("turns", "show", turn.ID)
	for _, want := range []string{"completed", turn.SessionID, "look [31mhere", "failed: overloaded", "file_read"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is not in\n%s%s", want, r.stdout, r.stderr)
		}
	}
	if strings.Contains(r.stdout, "\x1b") || strings.Contains(r.stdout, "look at it") {
		t.Errorf("nothing may move the cursor, and no UI runs: %q", r.stdout)
	}
	var detail gateway.TurnDetail
	r = h.run("turns", "show", turn.ID, "--json")
	if err := json.Unmarshal([]byte(r.stdout), &detail); err != nil || detail.ID != turn.ID || detail.SenderID != "me" || len(detail.ModelCalls) != 3 || len(detail.ToolRuns) != 1 {
		t.Errorf("show --json: %+v %v", r, err)
	}
}

func TestTurnsStop_GoesThroughTheGateway(t *testing.T) {
	h := newHarness(t)
	record := h.serveHome()
	accept := func(id string) store.Turn {
		a, err := record.Accept(t.Context(), store.Inbound{Channel: "feishu", ChatID: "c", ExternalID: id, SenderID: "me", Content: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		return a.Turn
	}
	running, waiting := accept("1"), accept("2")
	run := flow.SessionWorkflowID(running.SessionID)
	if _, err := record.BeginTurn(t.Context(), store.Begin{SessionID: running.SessionID, AgentPrompt: "x", WorkflowID: run, RunID: "r1"}); err != nil {
		t.Fatal(err)
	}
	page := flow.UI{URL: "http://127.0.0.1:8233", Namespace: "default"}.Run(run, "r1", 0)
	for _, args := range [][]string{{"turns", "show", running.ID}, {"sessions", "show", running.SessionID}} {
		if r := h.run(args...); !strings.Contains(r.stdout, page) {
			t.Errorf("%v tells where the run can be seen, %s: %+v", args, page, r)
		}
	}
	if r := h.run("turns", "stop", waiting.ID); r.code != 0 || r.stdout != "turn "+waiting.ID+": cancelled\n" {
		t.Errorf("a waiting turn: %+v", r)
	}
	var t1 gateway.Turn
	r := h.run("turns", "stop", running.ID, "--json")
	if err := json.Unmarshal([]byte(r.stdout), &t1); err != nil || t1.CancelRequestedAt == 0 {
		t.Errorf("a running turn: %+v %v", r, err)
	}
	if r = h.run("turns", "list", "--status", "running"); !strings.Contains(r.stdout, "stopping") {
		t.Errorf("list: %+v", r)
	}
	if r = h.run("turns", "stop", waiting.ID); r.code != 1 || !strings.Contains(r.stderr, "has ended already") {
		t.Errorf("one that has ended: %+v", r)
	}
}

func TestTurns_WhatIsWrong_SaysWhatToDo(t *testing.T) {
	h := newHarness(t)
	h.config(`{"gateway": {"addr": "127.0.0.1:0"}}`)
	h.talk(t)
	for args, want := range map[string]string{"show nope": "`picobot turns list`", "stop nope": "`picobot gateway`"} {
		if r := h.run(append([]string{"turns"}, strings.Fields(args)...)...); r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
	for args, want := range map[string]string{"list --status dancing": "use queued, running", "list --limit 0": "--limit", "show": "one ID", "stop a b": "one ID"} {
		if r := h.run(append([]string{"turns"}, strings.Fields(args)...)...); r.code != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
	h.serveHome()
	if r := h.run("turns", "stop", "nope"); r.code != 1 || !strings.Contains(r.stderr, "`picobot turns list`") {
		t.Errorf("%+v", r)
	}
}
