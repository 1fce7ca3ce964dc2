package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

func TestLogFile_TellsOfTurnsByTheirIDs(t *testing.T) {
	h := harness.New(t)
	path := filepath.Join(t.TempDir(), "logs", "picobot.log")
	g := h.StartGateway("--log-file", path, "--log-format", "json")
	ws := g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "a"})
	turn := ws.Send("m1", "calc 6*7")
	ws.End(turn.TurnID)
	if r := g.Stop(); r.Code != 0 || strings.Contains(r.Stderr, "level=") {
		t.Errorf("nothing is logged elsewhere: %+v", r)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for line := range strings.Lines(string(text)) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if l["turn_id"] == turn.TurnID && l["session_id"] == turn.SessionID && l["workflow_id"] == "session/"+turn.SessionID && l["run_id"] != "" && l["status"] == "completed" {
			found = true
		}
	}
	if !found || strings.Contains(string(text), "6*7") {
		t.Errorf("the log tells that the turn has ended, not what was said: %s", text)
	}
}
