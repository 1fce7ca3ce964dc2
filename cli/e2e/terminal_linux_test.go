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

// running waits until n turns have begun and the last of them goes on.
func running(h *harness.Harness, n int) {
	h.Eventually("the turn runs", func() bool {
		status := h.Record(`SELECT status FROM turns ORDER BY id`)
		return len(status) == n && status[n-1] == "running"
	})
}

func TestTypingGoesOnWhileATurnRuns(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	term := h.StartTerminal("agent")
	term.Shows("Ctrl-D leaves", 1)
	term.Type("slow 60\r")
	running(h, 1)
	term.Type("/help\r") // is answered at once
	term.Shows("/stop", 1)
	term.Type("next\r") // waits for its turn
	h.Eventually("the message is taken", func() bool { return len(h.Record(`SELECT 1 FROM turns`)) == 2 })
	term.Type("/stop\r")
	term.Shows("the turn was cancelled", 1)
	term.Shows("echo: next", 1)

	term.Type("slow 60\r")
	running(h, 3)
	term.Type("half\x00 a ")
	term.Type("\x03") // stops the turn and leaves the line
	term.Shows("the turn was cancelled", 2)
	term.Type("line\r")
	term.Shows("echo: half a line", 1)
	same(t, "messages", h.Record(`SELECT content FROM inbound_messages WHERE content LIKE '%line'`), "half a line")

	term.Type("slow 60\r")
	running(h, 5)
	term.Type("\x04") // leaves at once; the turn goes on
	if r := term.Wait(); r.Code != 0 {
		t.Errorf("exit code %d", r.Code)
	}
	term.Shows("goes on in the gateway", 1)
	if !g.Running() {
		t.Error("the gateway went with the terminal")
	}

	// Who comes back sees where they were, and can stop what they began.
	term = h.StartTerminal("agent")
	term.Shows("> slow 60", 1)
	for _, seen := range []string{"earlier", "echo: half a line"} {
		if n := strings.Count(term.Screen.String(), seen); n != 1 {
			t.Errorf("%q is shown %d times", seen, n)
		}
	}
	term.Type("\x03")
	h.Eventually("the turn is cancelled", func() bool {
		return len(h.Record(`SELECT 1 FROM turns WHERE status = 'cancelled'`)) == 3
	})
	term.Type("\x03") // the second leaves
	if r := term.Wait(); r.Code != 0 {
		t.Errorf("exit code %d", r.Code)
	}
	sound(t, h)
}

func TestWhoLeavesWithTheirGatewayIsToldWhenTheTurnGoesOn(t *testing.T) {
	h := harness.New(t)
	term := h.StartTerminal("agent")
	term.Shows("Ctrl-D leaves", 1)
	term.Type("slow 60\r")
	running(h, 1)
	term.Type("\x04")
	if r := term.Wait(); r.Code != 0 {
		t.Errorf("exit code %d", r.Code)
	}
	term.Shows("when PicoBot is started again", 1)
}
