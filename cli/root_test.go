package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picobot/cli/app"
)

func TestUsageErrorsExit2AndSayWhatToDo(t *testing.T) {
	for line, want := range map[string]string{
		"frobnicate":                         `unknown command "frobnicate"`,
		"gatewya":                            `did you mean "gateway"`,
		"config":                             "",
		"config chek":                        `did you mean "check"`,
		"config show extra":                  "takes no argument",
		"gateway now":                        "takes no argument",
		"version --loud":                     "unknown flag: --loud",
		"--nope version":                     "unknown flag: --nope",
		"agent -m":                           "needs an argument",
		"gateway --addr nonsense":            "HOST:PORT",
		"gateway --log-level loud":           "debug, info, warn or error",
		"sessions list --log-level loud":     "debug, info, warn or error",
		"worker --log-format xml":            "text or json",
		"agent --gateway 127.0.0.1:1":        "write it like http://",
		"agent --gateway http://example.com": "--token",
	} {
		r := newHarness(t).run(strings.Fields(line)...)
		if line == "config" {
			if r.code != 0 || !strings.Contains(r.stdout, "Usage:") {
				t.Errorf("a group alone shows its help: %+v", r)
			}
			continue
		}
		if r.code != 2 || r.stdout != "" || !strings.Contains(r.stderr, want) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if r := newHarness(t).run("agent", "-m", "  "); r.code != 2 {
		t.Errorf("an empty message: %+v", r)
	}
}

func TestHelpGoesToStdout(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help", "agent"}, {"agent", "--help"}} {
		if r := newHarness(t).run(args...); r.code != 0 || !strings.Contains(r.stdout, "Usage:") || r.stderr != "" {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

func TestFailuresExit1WithOneSentence(t *testing.T) {
	h := newHarness(t)
	h.runtime.serve = failing
	for _, command := range []string{"gateway", "temporal"} {
		if r := h.run(command); r.code != 1 || r.stderr != "picobot: the port is taken\n" || r.stdout != "" {
			t.Errorf("%s: %+v", command, r)
		}
	}
}

func TestHomeOrConfigurationThatCannotBeRead_SaysWhatToDo(t *testing.T) {
	h := newHarness(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"sessions list --home " + file:         "is not a directory: name another home with --home",
		"gateway --home " + file:               "is not a directory: name another home with --home",
		"doctor --home " + file:                "is not a directory: name another home with --home",
		"jobs list --config " + file + "/none": "name another one with --config or --home",
		"jobs list --config " + h.workDir:      "name another one with --config or --home",
	} {
		if r := h.run(strings.Fields(line)...); r.code != 1 || !strings.Contains(r.stderr, want) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: %+v", line, r)
		}
	}
}

func TestHomeComesFromTheFlagTheEnvironmentOrTheUser(t *testing.T) {
	h := newHarness(t)
	for _, c := range []struct {
		flag, env, want string
	}{{"/flag", "/env", "/flag"}, {"", "/env", "/env"}, {"", "", "/user/.picobot"}} {
		env := map[string]string{"PICOBOT_HOME": c.env, "HOME": "/user"}
		got, err := (&globals{home: c.flag}).findHome(System{Env: func(n string) (string, bool) { v, ok := env[n]; return v, ok }})
		if err != nil || got.Dir != c.want {
			t.Errorf("%+v: got %q, %v", c, got.Dir, err)
		}
	}
	_ = h
}

func TestBadConfigStopsEveryCommandAndLeavesNoDirectoriesBehind(t *testing.T) {
	for _, command := range []string{"gateway", "worker", "temporal", "agent", "config show", "config check"} {
		h := newHarness(t)
		path := h.workDir + "/bad.json"
		if err := os.WriteFile(path, []byte(`{"gatway": {}, "session": {"ttl_hours": "x"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		r := h.run(append([]string{"--config", path}, strings.Fields(command)...)...)
		if r.code != 1 || !strings.Contains(r.stderr, "gatway") || !strings.Contains(r.stderr, "session.ttl_hours") || r.stdout != "" {
			t.Errorf("%s: %+v", command, r)
		}
		if _, err := os.Stat(h.home); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s made the home: %v", command, err)
		}
	}
}

func TestFirstSignalStopsAndTheSecondEndsTheProcess(t *testing.T) {
	h := newHarness(t)
	stopped := make(chan struct{})
	h.runtime.serve = func(ctx context.Context, o app.Options, ready func(app.Addresses)) error {
		ready(app.Addresses{Gateway: "http://g"})
		h.signals <- interrupt
		<-ctx.Done()
		h.signals <- interrupt
		if code := <-h.exited; code != exitKilled {
			t.Errorf("exit code %d", code)
		}
		close(stopped)
		return nil
	}
	if r := h.run("gateway"); r.code != 0 {
		t.Errorf("%+v", r)
	}
	<-stopped
}
