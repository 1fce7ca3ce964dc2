package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picobot/internal/testkit/harness"
)

func TestConversationOnATerminal(t *testing.T) {
	h := harness.New(t)
	term := h.StartTerminal("agent")
	term.Shows("No gateway was running", 1)
	term.Shows("Ctrl-D leaves", 1)

	term.Type("calc 12*7\r")
	term.Shows("calculator: 84", 1)
	term.Shows("· calculator: 12*7", 1)

	term.Type("slow 60\r")
	h.Eventually("the turn runs", func() bool { return len(h.Record(`SELECT 1 FROM turns WHERE status = 'running'`)) == 1 })
	term.Type("\x03") // Ctrl-C
	term.Shows("cancelled", 1)

	term.Type("\x03")
	term.Shows("press Ctrl-D to leave", 1)
	term.Type("again\r")
	term.Shows("echo: again", 1)
	term.Type("\x04") // Ctrl-D
	if r := term.Wait(); r.Code != 0 {
		t.Errorf("exit code %d", r.Code)
	}
	same(t, "turns", h.Record(`SELECT status FROM turns ORDER BY id`), "completed", "cancelled", "completed")
	if got := strings.Count(term.Screen.String(), "calculator: 84"); got != 1 {
		t.Errorf("the answer was shown %d times", got)
	}

	path := filepath.Join(h.Home, "history")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("history: %v, %v", info, err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "calc 12*7\n") {
		t.Errorf("history: %q, %v", text, err)
	}
	// The next conversation has the history at hand.
	term = h.StartTerminal("agent")
	term.Shows("Ctrl-D leaves", 1)
	term.Type("\x1b[A\r") // up, enter
	term.Shows("echo: again", 1)
	term.Type("\x04")
	if r := term.Wait(); r.Code != 0 {
		t.Errorf("exit code %d", r.Code)
	}
	sound(t, h)
}

func TestTerminalIsGivenBackWhenTheConversationIsEndedByASignal(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	term := h.StartTerminal("agent")
	term.Shows("Ctrl-D leaves", 1)
	if r := term.Stop(); r.Code != 0 {
		t.Errorf("exit code %d", r.Code)
	}
	if !g.Running() {
		t.Error("the gateway went with the terminal")
	}
}
