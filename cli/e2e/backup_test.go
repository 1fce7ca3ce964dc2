package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

func TestBackupOfARunningHome_Restored_AnswersWhatWaited(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	ws := g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "a"})
	ws.End(ws.Send("m1", "calc 6*7").TurnID)
	ws.Send("m2", "slow 600")
	ws.Send("m3", "calc 5*5")
	h.Eventually("one turn runs, one waits", func() bool {
		return len(h.Record(`SELECT 1 FROM turns WHERE status = 'running'`)) == 1 && len(h.Record(`SELECT 1 FROM turns WHERE status = 'queued'`)) == 1
	})
	file := filepath.Join(t.TempDir(), "backup.tar.gz")
	if r := h.Run("backup", file); r.Code != 0 || !strings.Contains(r.Stdout, file) {
		t.Fatalf("%+v", r)
	}
	if r := h.Run("restore", "--force", file); r.Code != 1 || !strings.Contains(r.Stderr, "in use by process") {
		t.Errorf("a home in use: %+v", r)
	}
	if status, _ := g.Health(); status != 200 {
		t.Error("the gateway goes on")
	}

	// Elsewhere: the slow one would take ten minutes, so it is stopped.
	there := harness.New(t)
	r := there.Run("restore", file)
	if r.Code != 0 || !strings.Contains(r.Stdout, "2 messages wait for an answer") {
		t.Fatalf("%+v", r)
	}
	if there.Token() != h.Token() {
		t.Error("clients know the home by its token")
	}
	g2 := there.StartGateway()
	there.Eventually("the interrupted one runs again", func() bool {
		return len(there.Record(`SELECT 1 FROM turns WHERE status = 'running' AND started_at IS NOT NULL`)) == 1
	})
	id := there.Record(`SELECT id FROM turns WHERE status = 'running'`)[0]
	if r := there.Run("turns", "stop", id); r.Code != 0 {
		t.Errorf("stop: %+v", r)
	}
	there.Eventually("every turn ends", func() bool {
		return len(there.Record(`SELECT 1 FROM turns WHERE status IN ('queued', 'running')`)) == 0
	})
	same(t, "turns", there.Record(`SELECT status FROM turns ORDER BY id`), "completed", "cancelled", "completed")
	same(t, "answers", there.Record(`SELECT content FROM messages WHERE role = 'assistant' AND tool_calls IS NULL ORDER BY seq`), "calculator: 42", "calculator: 25")
	same(t, "soundness", there.Unsound())
	g2.Stop()
}
