package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigInitWritesAPrivateFileThatIsValid(t *testing.T) {
	h := newHarness(t)
	path := filepath.Join(h.home, "config.json")
	r := h.run("config", "init")
	if r.code != 0 || r.stdout != path+"\n" {
		t.Fatalf("%+v", r)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, err %v", info.Mode(), err)
	}
	if dir, err := os.Stat(h.home); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("home: %v, %v", dir.Mode(), err)
	}
	if r := h.run("config", "check"); r.code != 0 || r.stdout != "ok\n" || r.stderr != "" {
		t.Errorf("%+v", r)
	}
}

func TestConfigInitReplacesAFileOnlyWhenForced(t *testing.T) {
	h := newHarness(t)
	h.config(`{"locale": "zh-CN"}`)
	path := filepath.Join(h.home, "config.json")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := h.run("config", "init"); r.code != 1 || !strings.Contains(r.stderr, "--force") {
		t.Errorf("%+v", r)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "zh-CN") {
		t.Errorf("the file was touched: %s, %v", text, err)
	}
	if r := h.run("config", "init", "--force"); r.code != 0 {
		t.Errorf("%+v", r)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, err %v", info.Mode(), err)
	}
}

func TestConfigInitWritesWhereConfigSays(t *testing.T) {
	h := newHarness(t)
	path := filepath.Join(h.workDir, "sub", "mine.json")
	if r := h.run("--config", path, "config", "init"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestConfigShowMasksSecrets(t *testing.T) {
	h := newHarness(t)
	h.env["KEY"] = "sk-very-secret"
	h.config(`{"providers": {"p": {"type": "openai", "api_key": "${KEY}"}}, "models": {"m": {"provider": "p"}}, "gateway": {"token": "tok-secret"}}`)
	r := h.run("config", "show")
	if r.code != 0 || strings.Contains(r.stdout+r.stderr, "-secret") {
		t.Fatalf("%+v", r)
	}
	var got struct {
		Providers map[string]struct {
			APIKey string `json:"api_key"`
		} `json:"providers"`
		Scheduler map[string]any `json:"scheduler"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || got.Providers["p"].APIKey != "****" || got.Scheduler["enabled"] != true {
		t.Errorf("%v: %s", err, r.stdout)
	}
}

func TestConfigCheckListsEveryProblemWithItsPath(t *testing.T) {
	h := newHarness(t)
	h.config(`{"gateway": {"adr": "x"}, "tools": {"bash": {"timeout_seconds": -1}}, "locale": "${NOT_THERE}"}`)
	r := h.run("config", "check")
	if r.code != 1 || r.stdout != "" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"gateway.adr", "tools.bash.timeout_seconds", "locale", "NOT_THERE"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("%q is missing in %s", want, r.stderr)
		}
	}
}

func TestConfigCheckShowsWarnings(t *testing.T) {
	h := newHarness(t)
	h.config(`{"channels": {"feishu": {"enabled": true, "app_id": "a", "app_secret": "b"}}}`)
	if r := h.run("config", "check"); r.code != 0 || r.stdout != "ok\n" || !strings.Contains(r.stderr, "channels.feishu.allow_from") {
		t.Errorf("%+v", r)
	}
}

// A check that says ok is worth nothing if the gateway then refuses to start.
func TestConfigCheckFindsModelsThatCannotBeBuilt(t *testing.T) {
	for config, want := range map[string]string{
		`{"providers": {"p": {"type": "gemini", "api_key": "k"}}, "models": {"m": {"provider": "p"}}}`:                                 "providers.p.type",
		`{"providers": {"p": {"api_key": "k"}}, "models": {"m": {"extra": {"messages": []}}}}`:                                         "models.m.extra.messages",
		`{"providers": {"p": {"type": "anthropic", "api_key": "k"}}, "models": {"m": {"extra": {"system": "x", "stream": false}}}}`:    "models.m.extra.system",
		`{"providers": {"p": {"api_key": "k"}}, "models": {"m": {"provider": "q"}}}`:                                                   "models.m.provider",
		`{"providers": {"p": {"api_key": "k"}}, "models": {"m": {}}, "agents": {"default": {"model": "m", "fallback_models": ["n"]}}}`: "agents.default.fallback_models[0]",
	} {
		h := newHarness(t)
		h.config(config)
		if r := h.run("config", "check"); r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", config, r)
		}
	}
}

// The gateway starts without a bad job; a check that says ok hides that.
func TestConfigCheckFailsForABadJobAndListsEveryProblemOfIt(t *testing.T) {
	h := newHarness(t)
	h.config(`{"scheduler": {"jobs": [
		{"id": "good", "kind": "internal_event", "schedule": {"type": "interval", "seconds": 60}, "payload": {"event": "session_cleanup"}},
		{"id": "bad", "kind": "internal_event", "schedule": {"type": "cron", "expression": "61 * * * *"}, "payload": {"event": "x"}}]}}`)
	r := h.run("config", "check")
	if r.code != 1 || r.stdout != "" || strings.Contains(r.stderr, "jobs[0]") {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"scheduler.jobs[1].schedule.expression", "scheduler.jobs[1].payload.event"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("%q is missing in %s", want, r.stderr)
		}
	}
	if r := h.run("config", "show"); r.code != 0 {
		t.Errorf("it can be looked at all the same: %+v", r)
	}
}

func TestConfigCheckWarnsOfAProviderWithoutAKey(t *testing.T) {
	h := newHarness(t)
	h.config(`{"providers": {"p": {"type": "anthropic", "api_key": "${NOT_THERE:-}"}}, "models": {"m": {"provider": "p"}}}`)
	if r := h.run("config", "check"); r.code != 0 || r.stdout != "ok\n" || !strings.Contains(r.stderr, "providers.p.api_key: is empty") {
		t.Errorf("%+v", r)
	}
}

func TestConfigFilesThatCannotBeReadAreFailures(t *testing.T) {
	h := newHarness(t)
	if r := h.run("--config", filepath.Join(h.workDir, "none.json"), "config", "check"); r.code != 1 || !strings.Contains(r.stderr, "does not exist") {
		t.Errorf("%+v", r)
	}
}

// A service has its variables in its unit file, not in the shell of whoever looks.
func TestVariablesOfTheServiceAreNotNeededToLook(t *testing.T) {
	h := newHarness(t)
	h.talk(t)
	h.config(`{"gateway": {"addr": "127.0.0.1:1"}, "providers": {"p": {"api_key": "${SERVICE_KEY}"}}, "models": {"m": {}}}`)
	for _, line := range []string{"sessions list", "turns list", "memory list", "skills list", "skills check"} {
		if r := h.run(strings.Split(line, " ")...); r.code != 0 || r.stderr != "" && line != "skills list" && line != "skills check" {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if r := h.run("jobs", "list"); r.code != 1 || !strings.Contains(r.stderr, "no gateway runs") {
		t.Errorf("%+v", r)
	}
	const want = "providers.p.api_key: environment variable SERVICE_KEY is not set"
	for _, line := range []string{"config check", "config show", "gateway", "worker", "temporal", "agent -m hi"} {
		if r := h.run(strings.Split(line, " ")...); r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if r := h.run("doctor"); r.code != 1 || !strings.Contains(r.stdout, want) {
		t.Errorf("%+v", r)
	}
	if len(h.runtime.calls) != 0 {
		t.Errorf("started %v", h.runtime.calls)
	}
}
