package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeopenai"
)

// The window that the config names is a guess; the endpoint knows.
func TestTurnThatGrowsBeyondWhatTheEndpointTakesGoesOnWithLess(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	const most, steps = 30_000, 4 // bytes of results
	refused := 0
	m.gpt.Handle(func(r fakeopenai.Request) fakeopenai.Step {
		size, results := 0, r.ToolResults()
		for _, msg := range results {
			size += len(msg.Content)
		}
		switch {
		case strings.Contains(r.LastUser(), "too long by itself"), size > most:
			refused++
			return fakeopenai.Error{Status: 400, Code: "context_length_exceeded", Message: "This model's maximum context length is 8192 tokens"}
		case len(results) < steps:
			n := len(results) + 1
			return fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{{ID: fmt.Sprint("c", n), Name: "bash", Arguments: fmt.Sprintf(`{"command":"seq %d00000 %d01700"}`, n, n)}}}
		}
		return fakeopenai.Reply{Text: "done"}
	})
	turn := m.ask(m.chat("gpt"), "count")
	same(t, "the turn", []string{m.row(turn, "status, steps"), m.reply(turn)}, fmt.Sprint("completed|", steps+1), "done")
	if refused == 0 {
		t.Error("nothing was refused: this tests nothing")
	}
	results := m.gpt.Requests()[m.gpt.Count()-1].ToolResults()
	if len(results) != steps || !strings.Contains(results[steps-1].Content, "401700") {
		t.Fatalf("%d results, the newest not whole", len(results))
	}
	stub := regexp.MustCompile(`the whole is in (\S+), read it with file_read`).FindStringSubmatch(results[0].Content)
	if stub == nil {
		t.Fatalf("the oldest result is still there: %.200s", results[0].Content)
	}
	if whole, err := os.ReadFile(filepath.Join(m.h.Workspace(), stub[1])); err != nil || !strings.Contains(string(whole), "101700") {
		t.Errorf("the file with the whole: %v", err)
	}
	same(t, "the record", m.h.Record(`SELECT content LIKE '%101700%' FROM messages WHERE turn_id = ? AND role = 'tool' ORDER BY seq LIMIT 1`, turn.TurnID), "1")

	// Where nothing can be left out a person is told what to do.
	before := m.gpt.Count()
	turn = m.ask(m.chat("gpt"), "this is too long by itself")
	if turn.Status != protocol.TurnFailed || turn.Error.Code != "context_too_large" || !strings.Contains(turn.Error.Message, "Begin a new one with /new") {
		t.Errorf("%+v %+v", turn, turn.Error)
	}
	if n := m.gpt.Count() - before; n != 1 {
		t.Errorf("the same request was sent %d times", n)
	}
	m.valid()
}
