package e2e

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"picobot/internal/testkit/harness"
)

func TestAgentsOwnGateway_GivesTheHomeToOneThatStays(t *testing.T) {
	h := harness.New(t)
	in, lines := io.Pipe()
	agent := h.StartInput(in, "agent")
	say := func(line string) {
		if _, err := fmt.Fprintln(lines, line); err != nil {
			t.Fatal(err)
		}
	}
	say("calc 1+1")
	h.Eventually("the agent's own gateway answers", func() bool { return strings.Contains(agent.Stdout.String(), "calculator: 2\n") })
	say("slow 4")
	h.Eventually("a turn runs", func() bool { return len(h.Record(`SELECT 1 FROM turns WHERE status = 'running'`)) == 1 })

	g := h.StartGateway()
	if !strings.Contains(g.Stderr.String(), fmt.Sprintf("process %d", agent.PID())) {
		t.Errorf("the gateway says from whom it takes the home: %s", g.Stderr)
	}
	say("calc 2+2")
	h.Eventually("the new gateway answers, what was going on first", func() bool {
		out := agent.Stdout.String()
		slow, sum := strings.Index(out, "slow"), strings.Index(out, "calculator: 4\n")
		return sum > 0 && (slow < sum || slow < 0)
	})
	if err := lines.Close(); err != nil {
		t.Fatal(err)
	}
	if r := agent.Wait(); r.Code != 0 {
		t.Errorf("%+v", r)
	}
	same(t, "turns", h.Record(`SELECT status FROM turns ORDER BY id`), "completed", "completed", "completed")
	same(t, "soundness", h.Unsound())
	if second := h.Run("gateway"); second.Code != 1 || !strings.Contains(second.Stderr, "in use by process") {
		t.Errorf("one that stays gives its home to nobody: %+v", second)
	}
	g.Stop()
}
