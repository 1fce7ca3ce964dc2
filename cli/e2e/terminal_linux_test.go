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
	term.Shows("✓ calculator: 12*7", 1)

	term.Type("slow 60\r")
	answering(h, term, 2, 1)
	term.Type("\x03") // Ctrl-C
	term.Shows("the turn was cancelled", 1)

	term.Type("again\r")
	term.Shows("echo: again", 1)
	term.Type("\x04") // Ctrl-D
	if r := term.Wait(); r.Code != 0 {
		t.Errorf("exit code %d", r.Code)
	}
	same(t, "turns", h.Record(`SELECT status FROM turns ORDER BY id`), "completed", "cancelled", "completed")
	if got := term.Count("calculator: 84"); got != 1 {
		t.Errorf("the answer was shown %d times", got)
	}
	if strings.Contains(term.Output.String(), "\x1b[6n") {
		t.Error("the terminal was asked where its cursor is")
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
	h.Eventually("it is answered again", func() bool { return len(h.Record(`SELECT 1 FROM messages WHERE content = 'echo: again'`)) == 2 })
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

// A terminal whose only process this is has nobody who would bring it back.
func TestCtrlZ_WhereNoShellHasJobs_GoesOn(t *testing.T) {
	h := harness.New(t)
	h.StartGateway()
	term := h.StartTerminal("agent")
	term.Shows("Ctrl-D leaves", 1)
	term.Type("\x1a")
	h.Eventually("the terminal was given back and taken again", func() bool {
		return strings.Count(term.Output.String(), "\x1b[?2004h") == 2
	})
	term.Type("calc 12*7\r")
	term.Shows("calculator: 84", 1)
	if r := term.Stop(); r.Code != 0 {
		t.Errorf("exit code %d", r.Code)
	}
}

// running waits until n turns have begun and the last of them goes on.
func running(h *harness.Harness, n int) {
	h.Eventually("the turn runs", func() bool {
		status := h.Record(`SELECT status FROM turns ORDER BY id`)
		return len(status) == n && status[n-1] == "running"
	})
}

// answering is running where the terminal knows it, too: the turns before have ended
// there, and "slow 60" was said so many times and waits no more.
func answering(h *harness.Harness, term *harness.Terminal, n, said int) {
	running(h, n)
	h.Eventually("the terminal shows that the turn runs", func() bool {
		last := ""
		for _, l := range term.Lines() {
			if l != "" {
				last = l
			}
		}
		return last == ">" && term.Count("> slow 60") == said && term.Count("waits") == 0
	})
}

func TestTypingGoesOnWhileATurnRuns(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	term := h.StartTerminal("agent")
	term.Shows("Ctrl-D leaves", 1)
	term.Type("slow 60\r")
	answering(h, term, 1, 1)
	term.Type("/help\r") // is answered at once
	term.Shows("Commands:", 1)
	term.Type("next\r") // waits for its turn
	h.Eventually("the message is taken", func() bool { return len(h.Record(`SELECT 1 FROM turns`)) == 2 })
	term.Type("/stop\r")
	term.Shows("the turn was cancelled", 1)
	term.Shows("echo: next", 1)

	term.Type("slow 60\r")
	answering(h, term, 3, 2)
	term.Type("half\x00 a ")
	term.Type("\x03") // stops the turn and leaves the line
	term.Shows("the turn was cancelled", 2)
	term.Type("line\r")
	term.Shows("echo: half a line", 1)
	same(t, "messages", h.Record(`SELECT content FROM inbound_messages WHERE content LIKE '%line'`), "half a line")

	term.Type("slow 60\r")
	answering(h, term, 5, 3)
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
		if n := term.Count(seen); n != 1 {
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

func TestTerminal_Resized_ShowsEverythingOnceInItsNewSize(t *testing.T) {
	h := harness.New(t)
	h.StartGateway()
	term := h.StartTerminal("agent")
	term.Shows("Ctrl-D leaves", 1)
	said := strings.Repeat("很长的中文句子", 20)
	term.Type(said + "\r")
	term.Shows("echo:", 1)
	term.Type("slow 60\r")
	running(h, 1+1)
	term.Type("中文 typed")
	for _, size := range [][2]uint16{{40, 20}, {100, 30}, {50, 24}} {
		term.Resize(size[0], size[1])
		h.Eventually("the screen is drawn in its new size", func() bool {
			lines := term.Lines()
			screen := lines[len(lines)-int(size[1]):]
			rule, prompt := 0, 0
			for _, l := range screen {
				if l == strings.Repeat("─", int(size[0])-1) {
					rule++
				}
				if l == "> 中文 typed" {
					prompt++
				}
			}
			return rule == 1 && prompt == 1
		})
	}
	term.Type("\x03")
	term.Shows("the turn was cancelled", 1)
	term.Type("\x03")
	if r := term.Wait(); r.Code != 0 {
		t.Errorf("exit code %d", r.Code)
	}
}

func TestTerminal_GatewayDies_GoesOnWithoutLosingALine(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	term := h.StartTerminal("agent")
	term.Shows("Ctrl-D leaves", 1)
	term.Type("before\r")
	term.Shows("echo: before", 1)
	g.Kill9()
	term.Type("after\r")
	term.Shows("echo: after", 1)
	for _, line := range []string{"> before", "echo: before", "> after", "echo: after", "Ctrl-D leaves"} {
		if n := term.Count(line); n != 1 {
			t.Errorf("%q is shown %d times", line, n)
		}
	}
	term.Type("\x04")
	if r := term.Wait(); r.Code != 0 {
		t.Errorf("exit code %d", r.Code)
	}
	sound(t, h)
}

func TestTerminal_ThatIsDumb_GetsPlainLines(t *testing.T) {
	h := harness.New(t)
	h.StartGateway()
	h.Env["TERM"] = "dumb"
	term := h.StartTerminal("agent")
	term.Type("calc 12*7\n")
	term.Shows("calculator: 84", 1)
	term.Type("\x04")
	if r := term.Wait(); r.Code != 0 {
		t.Errorf("exit code %d", r.Code)
	}
	if strings.Contains(term.Output.String(), "\x1b") {
		t.Errorf("terminal codes in %q", term.Output.String())
	}
}

func TestOneMessage_BehindAnOpenTurn_SaysThatItWaits(t *testing.T) {
	h := harness.New(t)
	h.StartGateway()
	term := h.StartTerminal("agent")
	term.Shows("Ctrl-D leaves", 1)
	term.Type("slow 60\r")
	running(h, 1)
	term.Type("\x04")
	term.Wait()
	one := h.Start("agent", "-m", "hi")
	h.Eventually("it is said", func() bool { return strings.Contains(one.Stderr.String(), "is still being answered") })
	term = h.StartTerminal("agent")
	term.Shows("Ctrl-D leaves", 1)
	term.Shows("Working", 1)
	term.Type("\x03")
	if r := one.Wait(); r.Code != 0 || r.Stdout != "echo: hi\n" {
		t.Errorf("%+v", r)
	}
}

// answeredAlone has a message answered after a crash, while no client is connected.
func answeredAlone(t *testing.T) *harness.Harness {
	t.Helper()
	h := harness.New(t)
	g := h.StartGateway()
	if r := h.Run("agent", "-m", "before"); r.Code != 0 || strings.Contains(r.Stderr, "Meanwhile") {
		t.Fatalf("%+v", r)
	}
	one := h.Start("agent", "-m", "slow 1")
	running(h, 2)
	one.Kill9()
	g.Kill9()
	h.StartGateway()
	h.Eventually("it is answered", func() bool {
		return len(h.Record(`SELECT 1 FROM turns WHERE status = 'completed'`)) == 2
	})
	return h
}

func TestAnswerThatARestartBrought_OneMessage_IsToldBesidesOnce(t *testing.T) {
	h := answeredAlone(t)
	const told = "Meanwhile “slow 1” was answered: slow: this answer took 1s\n"
	r := h.Run("agent", "-m", "after")
	if r.Code != 0 || r.Stdout != "echo: after\n" || strings.Count(r.Stderr, "Meanwhile") != 1 || !strings.Contains(r.Stderr, told) {
		t.Errorf("%+v", r)
	}
	if r = h.Run("agent", "-m", "again"); r.Code != 0 || r.Stdout != "echo: again\n" || strings.Contains(r.Stderr, "Meanwhile") {
		t.Errorf("%+v", r)
	}
}

func TestAnswerThatARestartBrought_Terminal_ShowsIt(t *testing.T) {
	h := answeredAlone(t)
	term := h.StartTerminal("agent")
	term.Shows("Untitled dialog, answered by", 1)
	term.Shows("slow: this answer took 1s", 1)
	term.Type("\x04")
	if r := term.Wait(); r.Code != 0 {
		t.Errorf("exit code %d", r.Code)
	}
	if r := h.Run("agent", "-m", "after"); r.Code != 0 || strings.Contains(r.Stderr, "Meanwhile") {
		t.Errorf("what a terminal has shown is no news: %+v", r)
	}
}
