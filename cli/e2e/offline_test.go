package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

// Section 4 of the contract, through the real loop.
func TestOfflineModelKnowsItsCommands(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	ask := func(text string) answer {
		t.Helper()
		return parse(t, h.Run("agent", "--json", "-m", text).Stdout)
	}
	for _, row := range []struct {
		text, reply string // a "*" in the reply stands for anything
		calls       string // the tools of the turn, by step
	}{
		{"calc 12*7", "calculator: 84", "1 calculator"},
		{"time", "get_time: *", "1 get_time"},
		{"write notes/a.txt two words", "file_write: *", "1 file_write"},
		{"read notes/a.txt", "file_read: *two words*", "1 file_read"},
		{"read none.txt", "file_read: Error: *", "1 file_read"},
		{"run echo from the shell", "bash: from the shell*", "1 bash"},
		{"tools calc 1+1; run echo hi; read notes/a.txt", "calculator: 2\nbash: hi*\nfile_read: *two words*", "1 calculator,1 bash,1 file_read"},
		{"loop 3", "get_time: *\nget_time: *\nget_time: *", "1 get_time,2 get_time,3 get_time"},
		{"hello there", "echo: hello there", ""},
		{"calc", "echo: calc", ""},
		{"tools calc 1+1; nonsense", "echo: tools calc 1+1; nonsense", ""},
	} {
		a := ask(row.text)
		if a.Status != "completed" || !matches(strings.TrimSpace(a.Reply), row.reply) {
			t.Errorf("%s: %+v", row.text, a)
		}
		same(t, row.text, h.Record(`SELECT coalesce(group_concat(step || ' ' || name, ','), '') FROM (SELECT step, name FROM tool_runs WHERE turn_id = ? ORDER BY step, position)`, a.TurnID), row.calls)
		if *a.Usage.Prompt == 0 || *a.Usage.Completion == 0 {
			t.Errorf("%s: no usage", row.text)
		}
	}
	if text, err := os.ReadFile(filepath.Join(h.Workspace(), "notes/a.txt")); err != nil || string(text) != "two words" {
		t.Errorf("%q, %v", text, err)
	}
	for text, want := range map[string]string{
		"fail 401": "refuses the API key", "fail 402": "no credit left", "fail 404": "does not know model", "fail 400": "refuses the request", "fail 413": "too long",
	} {
		if a := ask(text); a.Status != "failed" {
			t.Errorf("%s: %+v", text, a)
		}
		same(t, text, h.Record(`SELECT error LIKE '%' || ? || '%', (SELECT count(*) FROM messages m WHERE m.turn_id = t.id AND m.marker = 'error') FROM turns t ORDER BY id DESC LIMIT 1`, want), "1|1")
	}

	ws := g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "slow"})
	var turn protocol.Accepted
	if d := took(func() { turn = ws.Send("m1", "slow 2"); ws.End(turn.TurnID) }); d < 2*time.Second {
		t.Errorf("slow 2 took %s", d)
	}
	deltas, whole := harness.Of[protocol.Delta](ws), shown(ws, turn.TurnID, "text", 1, 1)
	same(t, "slow", h.Record(`SELECT content FROM messages WHERE turn_id = ? AND role = 'assistant'`, turn.TurnID), whole)
	if len(deltas) < 2 {
		t.Errorf("%d deltas: it does not stream", len(deltas))
	}
	sound(t, h)
}
