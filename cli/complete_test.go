package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Who adds a command gives it an example: it is what people read first.
func TestEveryCommand_ShowsAnExample(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !strings.Contains(cmd.Example, "picobot") {
			t.Errorf("`%s --help` shows no example: set Example, with lines such as \"  %s\"", cmd.CommandPath(), cmd.CommandPath())
		}
		for _, c := range cmd.Commands() {
			if !c.Hidden {
				walk(c)
			}
		}
	}
	walk(newRoot(System{}))
}

func TestCompletion_OffersCommandsValuesAndIDs(t *testing.T) {
	h := newHarness(t)
	turn := h.talk(t)
	for line, want := range map[string]string{
		"tur":                       "turns\t",
		"turns list --status ":      "queued\n",
		"gateway --log-level ":      "debug\n",
		"turns show ":               turn.ID + "\tcompleted, ",
		"sessions show cli:":        turn.SessionID,
		"sessions export ":          turn.SessionID,
		"turns list --session cli:": turn.SessionID,
	} {
		r := h.run(append([]string{"__complete"}, strings.Split(line, " ")...)...)
		if r.code != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("%q: %+v", line, r)
		}
	}
	for _, line := range []string{"turns stop ", "turns show x", "turns show " + turn.ID + " "} {
		if r := h.run(append([]string{"__complete"}, strings.Split(line, " ")...)...); r.code != 0 || strings.Contains(r.stdout, turn.ID) {
			t.Errorf("%q: %+v", line, r)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := h.run("completion", shell); r.code != 0 || !strings.Contains(r.stdout, "picobot") {
			t.Errorf("%s: %d %s", shell, r.code, r.stderr)
		}
	}
}

func TestCompletion_NoHome_OffersNothingAndMakesNothing(t *testing.T) {
	h := newHarness(t)
	if r := h.run("__complete", "turns", "show", ""); r.code != 0 || !strings.HasPrefix(r.stdout, ":") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(h.home); err == nil {
		t.Error("completing has made a home")
	}
}
