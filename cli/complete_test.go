package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"picobot/internal/chat"
	"picobot/internal/home"
	"picobot/internal/memory"
	"picobot/internal/schedule"
	"picobot/store"
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
	h.remember(t)
	skill := filepath.Join(h.home, "skills", "pdf-forms")
	if err := os.MkdirAll(skill, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: pdf-forms\ndescription: Fills in forms.\n---\nDo it.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"jobs get ":               "tea\toutbound_message, active\n",
		"jobs runs t":             "tea\t",
		"jobs delete ":            "tea\t",
		"jobs run ":               "tea\t",
		"jobs pause ":             "tea\t",
		"memory show ":            "profile\n",
		"memory show profile ":    "birthday\t3 May\n",
		"memory delete profile b": "birthday\t",
		"memory put profile ":     "birthday\t",
		"memory list --scope ":    "cli:somebody\n",
		"memory show --scope cli:somebody notes ":      "tea\tgreen\n",
		"memory search x --namespace ":                 "profile\n",
		"skills show ":                                 "pdf-forms\tFills in forms.\n",
		"skills disable ":                              "pdf-forms\t",
		"sessions list --channel ":                     "cli\n",
		"sessions list --chat ":                        "c\n",
		"sessions show " + turn.SessionID + " --turn ": turn.ID + "\tcompleted, ",
		"agent --session ":                             turn.SessionID,
		"agent --agent ":                               "default\toffline\n",
		"tur":                                          "turns\t",
		"turns list --status ":                         "queued\n",
		"gateway --log-level ":                         "debug\n",
		"turns show ":                                  turn.ID + "\tcompleted, ",
		"sessions show cli:":                           turn.SessionID,
		"sessions export ":                             turn.SessionID,
		"turns list --session cli:":                    turn.SessionID,
	} {
		r := h.run(append([]string{"__complete"}, strings.Split(line, " ")...)...)
		if r.code != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("%q: %+v", line, r)
		}
	}
	// Only what may follow, and never a file where none is meant.
	for _, line := range []string{
		"turns stop ", "turns show x", "turns show " + turn.ID + " ", "jobs resume ", "jobs get tea ", "memory show profile birthday ", "memory show nothing ",
		"skills enable ", "skills disable pdf-forms ", "sessions list ", "config check ", "sessions show nope --turn ",
	} {
		if r := h.run(append([]string{"__complete"}, strings.Split(line, " ")...)...); r.code != 0 || r.stdout != ":4\n" && r.stdout != ":36\n" {
			t.Errorf("%q: %+v", line, r)
		}
	}
	for line, directive := range map[string]string{"restore ": ":0", "jobs put ": ":0", "skills check ": ":16", "--home ": ":16"} {
		if r := h.run(append([]string{"__complete"}, strings.Split(line, " ")...)...); r.stdout != directive+"\n" {
			t.Errorf("%q: %+v", line, r)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := h.run("completion", shell); r.code != 0 || !strings.Contains(r.stdout, "picobot") {
			t.Errorf("%s: %d %s", shell, r.code, r.stderr)
		}
	}
}

// remember gives the home a job and memories.
func (h *harness) remember(t *testing.T) {
	t.Helper()
	at, err := home.At(h.home)
	if err != nil {
		t.Fatal(err)
	}
	id, err := at.ClientID()
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Options{Path: at.StorageDB(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, m := range []struct{ scope, namespace, key, content string }{
		{memory.Scope(chat.ChannelCLI, id), "profile", "birthday", "3 May"}, {"cli:somebody", "notes", "tea", "green"},
	} {
		if _, _, err := s.PutMemory(t.Context(), m.scope, memory.Name{Namespace: m.namespace, Key: m.key}, m.content); err != nil {
			t.Fatal(err)
		}
	}
	j, problems := schedule.Parse([]byte(`{"id": "tea", "kind": "outbound_message", "schedule": {"type": "interval", "seconds": 600},
		"target": {"channel": "cli", "chat_id": "c"}, "payload": {"content": "Tea!"}}`), "", schedule.Rules{Now: time.Now(), Channels: []string{"cli"}})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.PutJob(t.Context(), store.PutJob{Job: j, Source: store.JobAPI}); err != nil {
		t.Fatal(err)
	}
}

func TestCompletion_NoHome_OffersNothingAndMakesNothing(t *testing.T) {
	h := newHarness(t)
	for _, line := range []string{"turns show ", "jobs get ", "memory show ", "skills show ", "agent --session "} {
		if r := h.run(append([]string{"__complete"}, strings.Split(line, " ")...)...); r.code != 0 || !strings.HasPrefix(r.stdout, ":") {
			t.Errorf("%+v", r)
		}
	}
	if _, err := os.Stat(h.home); err == nil {
		t.Error("completing has made a home")
	}
}
