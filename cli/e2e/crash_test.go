package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

func TestTurnsEndByThemselvesAfterAKill(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	slow := g.WS(t)
	slow.Hello(protocol.Hello{ClientID: "slow"})
	inModel := slow.Send("m1", "slow 5")
	behind := slow.Send("m2", "calc 5*5")
	tool := g.WS(t)
	tool.Hello(protocol.Hello{ClientID: "tool"})
	command := "run echo x >> begun; sleep 600; echo done >> ended"
	inTool := tool.Send("m1", command)
	h.Eventually("the model streams and the tool acts", func() bool {
		_, err := os.Stat(filepath.Join(h.Workspace(), "begun"))
		return err == nil && len(harness.Of[protocol.Delta](slow)) > 0
	})
	commands := g.Descendants()
	g.Kill9()
	h.Eventually("the command that was left behind is dead", func() bool { return !slices.ContainsFunc(commands, harness.Alive) })

	g = h.StartGateway()
	h.Eventually("every turn ends", func() bool {
		return len(h.Record(`SELECT 1 FROM turns WHERE status IN ('queued', 'running')`)) == 0
	})
	same(t, "turns", h.Record(`SELECT status FROM turns ORDER BY id`), "completed", "completed", "completed")
	same(t, "inbound", h.Record(`SELECT DISTINCT status FROM inbound_messages`), "done")
	same(t, "the waiting one comes after the interrupted one", h.Record(`SELECT t.id = ?, m.content FROM messages m JOIN turns t ON t.id = m.turn_id
		WHERE m.role = 'assistant' AND m.tool_calls IS NULL AND t.id IN (?, ?) ORDER BY m.seq`, inModel.TurnID, inModel.TurnID, behind.TurnID), "1|*", "0|calculator: 25")
	same(t, "nobody knows what the tool did", h.Record(`SELECT status, result FROM tool_runs WHERE turn_id = ?`, inTool.TurnID), "unknown|Unknown outcome:*")
	same(t, "and the model is told", h.Record(`SELECT content FROM messages WHERE turn_id = ? AND role = 'tool'`, inTool.TurnID), "Unknown outcome:*")

	// Whoever connects again misses nothing and is answered under the old id.
	back := g.WS(t)
	from := int64(0)
	back.Hello(protocol.Hello{ClientID: "tool", SessionID: inTool.SessionID, FromSeq: &from})
	if again := back.Send("m1", command); !again.Duplicate || again.TurnID != inTool.TurnID {
		t.Errorf("%+v", again)
	}
	if end := back.End(inTool.TurnID); end.Status != "completed" {
		t.Errorf("%+v", end)
	}
	rows := harness.Of[protocol.Message](back)
	if len(rows) != 4 || rows[0].Role != chat.RoleUser || !strings.HasPrefix(rows[2].Content, "Unknown outcome:") {
		t.Errorf("rows: %+v", rows)
	}

	// The command was not run a second time, and did not go on.
	if begun, err := os.ReadFile(filepath.Join(h.Workspace(), "begun")); err != nil || string(begun) != "x\n" {
		t.Errorf("begun: %q, %v", begun, err)
	}
	if _, err := os.Stat(filepath.Join(h.Workspace(), "ended")); err == nil {
		t.Error("the command went on after the process that ran it")
	}
	sound(t, h)
}

func TestMessageAcceptedJustBeforeAKillIsAnswered(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	ws := g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "c"})
	accepted := ws.Send("m1", "calc 1+1")
	g.Kill9() // at once
	h.StartGateway()
	h.Eventually("it is answered", func() bool {
		return len(h.Record(`SELECT 1 FROM turns WHERE id = ? AND status = 'completed'`, accepted.TurnID)) == 1
	})
	same(t, "once", h.Record(`SELECT count(*) FROM messages WHERE turn_id = ? AND role = 'assistant' AND tool_calls IS NULL`, accepted.TurnID), "1")
	sound(t, h)
}

func TestChatOfAnyNameIsAnsweredAlsoAfterAKill(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	ws := g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "我的聊天 é"})
	accepted := ws.Send("m1", "slow 1")
	g.Kill9()
	h.StartGateway()
	h.Eventually("it is answered", func() bool {
		return len(h.Record(`SELECT 1 FROM turns WHERE id = ? AND status = 'completed'`, accepted.TurnID)) == 1
	})
}

func TestDeletingTemporalsFilesLosesNothing(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	ws := g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "c"})
	first, second := ws.Send("m1", "slow 3"), ws.Send("m2", "calc 2+2")
	harness.Expect(ws, "a delta", func(protocol.Delta) bool { return true })
	g.Kill9()
	if err := os.RemoveAll(filepath.Join(h.Home, "temporal")); err != nil {
		t.Fatal(err)
	}
	h.StartGateway()
	h.Eventually("both are answered", func() bool {
		return len(h.Record(`SELECT 1 FROM turns WHERE id IN (?, ?) AND status = 'completed'`, first.TurnID, second.TurnID)) == 2
	})
	sound(t, h)
}

func TestAgentGoesOnWhenTheGatewayOfAnotherAgentGoesAway(t *testing.T) {
	h := harness.New(t)
	owner := h.StartInput(stuck(t), "agent", "--chat", "owner")
	h.Eventually("the first agent has started a gateway", func() bool {
		return strings.Contains(owner.Stderr.String(), "started in this process")
	})
	other := h.Start("agent", "--chat", "other", "--json", "-m", "slow 8")
	h.Eventually("the second agent's turn runs", func() bool {
		return len(h.Record(`SELECT 1 FROM turns WHERE status = 'running'`)) == 1
	})
	owner.Kill9()
	r := other.Wait()
	if a := parse(t, r.Stdout); r.Code != 0 || a.Status != "completed" {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.Stderr, "started in this process") {
		t.Errorf("the second agent must say that it started a gateway: %s", r.Stderr)
	}
	same(t, "nothing twice", h.Record(`SELECT count(*), (SELECT count(*) FROM messages WHERE role = 'user' AND content = 'slow 8') FROM inbound_messages WHERE content = 'slow 8'`), "1|1")
	sound(t, h)
}

// stuck is an input that never ends.
func stuck(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r
}
