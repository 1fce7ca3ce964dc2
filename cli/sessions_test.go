package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"picobot/internal/chat"
	"picobot/internal/home"
	"picobot/store"
)

// talk writes a turn with a tool call into the record of the home, and returns it.
func (h *harness) talk(t *testing.T) store.Turn {
	t.Helper()
	dir, err := home.Open(h.home)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Options{Path: dir.StorageDB(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a, err := s.Accept(t.Context(), store.Inbound{Channel: "cli", ChatID: "c", ExternalID: "1", SenderID: "me", Content: "look \x1b[31mhere"})
	check(err)
	_, err = s.BeginTurn(t.Context(), store.Begin{SessionID: a.SessionID, AgentPrompt: "you are a test"})
	check(err)
	_, err = s.CommitAnswer(t.Context(), a.Turn.ID, 1, store.Answer{Model: "m", Calls: []store.ModelCall{
		{TurnID: a.Turn.ID, Step: 1, Attempt: 1, Model: "m", Provider: "p", Error: "overloaded", Rows: store.Seqs{1, 2}},
		{TurnID: a.Turn.ID, Step: 1, Attempt: 2, Model: "m", Provider: "p", Rows: store.Seqs{1, 2}}},
		Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{chat.NewToolCall("a", "file_read", `{"path":"x"}`)}}})
	check(err)
	_, err = s.CommitTool(t.Context(), store.ToolRun{TurnID: a.Turn.ID, Step: 1, CallID: "a", Name: "file_read", Effect: "read_only", Status: chat.ToolCompleted, Result: "the file"})
	check(err)
	_, err = s.CommitAnswer(t.Context(), a.Turn.ID, 2, store.Answer{Model: "m",
		Calls:   []store.ModelCall{{TurnID: a.Turn.ID, Step: 2, Attempt: 1, Model: "m", Provider: "p", Rows: store.Seqs{1, 2, 3, 4}, Stubs: store.Seqs{4}}},
		Message: chat.Message{Role: chat.RoleAssistant, Content: "there it is", ReasoningContent: "hm"}})
	check(err)
	turn, err := s.Turn(t.Context(), a.Turn.ID)
	check(err)
	check(s.Close())
	return turn
}

func TestSessions_AreListedShownAndExported_WithoutAGateway(t *testing.T) {
	h := newHarness(t)
	turn := h.talk(t)

	r := h.run("sessions", "list")
	if r.code != 0 || !strings.Contains(r.stdout, turn.SessionID) || !strings.Contains(r.stdout, "active") {
		t.Errorf("list: %+v", r)
	}
	var list []struct {
		ID           string `json:"id"`
		MessageCount int    `json:"message_count"`
	}
	r = h.run("sessions", "list", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || len(list) != 1 || list[0].ID != turn.SessionID || list[0].MessageCount != 1 {
		t.Errorf("list --json: %+v %v", r, err)
	}
	if r = h.run("sessions", "list", "--json", "--channel", "feishu"); r.stdout != "[]\n" {
		t.Errorf("a list of nothing: %+v", r)
	}

	dialog := turn.SessionID[strings.LastIndex(turn.SessionID, ":")+1:]
	for _, id := range []string{turn.SessionID, dialog} {
		if r = h.run("sessions", "show", id); r.code != 0 || !strings.Contains(r.stdout, turn.ID) || !strings.Contains(r.stdout, "1 of people, 5 in all") {
			t.Errorf("show %s: %+v", id, r)
		}
	}

	r = h.run("sessions", "export", turn.SessionID)
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	var roles []string
	for i, line := range lines {
		var m struct {
			Seq       int             `json:"seq"`
			Role      string          `json:"role"`
			ToolCalls json.RawMessage `json:"tool_calls"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Seq != i+1 {
			t.Errorf("line %d: %q %v", i, line, err)
		}
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "system user assistant tool assistant" {
		t.Errorf("exported: %s", got)
	}
}

func TestSessionsShow_Turn_TellsWhatEachCallWasSent(t *testing.T) {
	h := newHarness(t)
	turn := h.talk(t)
	r := h.run("sessions", "show", turn.SessionID, "--turn", turn.ID)
	for _, want := range []string{
		"== step 1, attempt 1: model m of p, failed overloaded",
		"== step 1, attempt 2: model m of p, completed",
		"-- row 1 (system, agent_prompt)\nyou are a test\n-- row 2 (user)\nlook [31mhere\n",
		"-- row 3 (assistant)\n   calls file_read {\"path\":\"x\"}\n-- row 4 (tool file_read, sent as a stub)\nthe file\n",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is not in\n%s", want, r.stdout)
		}
	}
	var requests []struct {
		Step     int
		Model    string
		Messages []struct {
			Seq     int
			Content string
			Stub    bool
		}
	}
	r = h.run("sessions", "show", turn.SessionID, "--turn", turn.ID, "--step", "2", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &requests); err != nil {
		t.Fatal(err, r)
	}
	if len(requests) != 1 || requests[0].Step != 2 || requests[0].Model != "m" || len(requests[0].Messages) != 4 || !requests[0].Messages[3].Stub || requests[0].Messages[2].Stub {
		t.Errorf("got %+v", requests)
	}
}

func TestSessions_WhatIsNotThere_SaysHowToFindIt(t *testing.T) {
	h := newHarness(t)
	turn := h.talk(t)
	for args, want := range map[string]string{
		"show nope":   "`picobot sessions list`",
		"export nope": "`picobot sessions list`",
		"show " + turn.SessionID + " --turn nope": "`picobot sessions show",
	} {
		if r := h.run(append([]string{"sessions"}, strings.Fields(args)...)...); r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
	for _, args := range []string{"show", "export a b", "list x", "show x --step 2", "list --limit 0"} {
		if r := h.run(append([]string{"sessions"}, strings.Fields(args)...)...); r.code != 2 {
			t.Errorf("%s: %+v", args, r)
		}
	}
}
