package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/cli/doctor"
	"picobot/internal/testkit/fakeanthropic"
	"picobot/internal/testkit/fakeopenai"
	"picobot/store"
)

// examined is what doctor said, by check.
func (h *harness) examined(wantCode int) map[string]doctor.Finding {
	h.t.Helper()
	r := h.run("doctor", "--json")
	require.Equal(h.t, wantCode, r.code, r.stdout+r.stderr)
	var all []doctor.Finding
	require.NoError(h.t, json.Unmarshal([]byte(r.stdout), &all), r.stdout)
	out := map[string]doctor.Finding{}
	for _, f := range all {
		require.True(h.t, f.Status == doctor.OK || f.Fix != "", "%s: says nothing about what to do", f.Check)
		out[f.Check] = f
	}
	return out
}

func (h *harness) configf(format string, args ...any) {
	h.t.Helper()
	require.NoError(h.t, os.MkdirAll(h.home, 0o700))
	require.NoError(h.t, os.WriteFile(filepath.Join(h.home, "config.json"), fmt.Appendf(nil, format, args...), 0o600))
}

func TestDoctor_EmptyHome_NothingIsBrokenAndNothingIsMade(t *testing.T) {
	h := newHarness(t)
	h.configf(`{"gateway": {"addr": "127.0.0.1:0"}}`)
	found := h.examined(0)
	require.Equal(t, doctor.Warn, found["gateway"].Status)
	require.Equal(t, doctor.Warn, found["model offline"].Status)
	for _, check := range []string{"config", "home", "store", "temporal", "workspace", "channel cli", "disk"} {
		require.Equal(t, doctor.OK, found[check].Status, check)
	}
	files, err := os.ReadDir(h.home)
	require.NoError(t, err)
	require.Len(t, files, 1, "doctor changes nothing")
}

func TestDoctor_OneLineEach_ForPeople(t *testing.T) {
	h := newHarness(t)
	h.configf(`{"gateway": {"addr": "127.0.0.1:0"}}`)
	r := h.run("doctor")
	require.Equal(t, 0, r.code)
	for line := range strings.Lines(r.stdout) {
		require.Regexp(t, `^(ok  |warn|fail)  [a-z ]+: .+\n$`, line)
	}
}

func TestDoctor_BadConfig_EachProblemIsAFinding(t *testing.T) {
	h := newHarness(t)
	h.configf(`{"gatway": 1, "session": {"ttl_hours": "x"}}`)
	r := h.run("doctor")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stdout, "fail  config: gatway")
	require.Contains(t, r.stdout, "fail  config: session.ttl_hours")
	require.Empty(t, r.stderr)
}

func TestDoctor_Models_SaysWhatEachEndpointCanDo(t *testing.T) {
	openai := fakeopenai.Start(t, fakeopenai.Config{})
	openai.Handle(func(fakeopenai.Request) fakeopenai.Step { return fakeopenai.Reply{Text: "ok"} })
	anthropic := fakeanthropic.Start(t, fakeanthropic.Config{})
	h := newHarness(t)
	h.configf(`{"gateway": {"addr": "127.0.0.1:0"},
		"providers": {"o": {"type": "openai", "base_url": %q, "api_key": %q}, "a": {"type": "anthropic", "base_url": %q, "api_key": %q},
			"wrong": {"type": "openai", "base_url": %[1]q, "api_key": "sk-a-wrong-secret-key"},
			"idle": {"type": "openai", "base_url": %[1]q, "api_key": "sk-another-wrong-key"}},
		"models": {"gpt": {"provider": "o", "model": "gpt"}, "claude": {"provider": "a", "model": "claude-sonnet-5-5"}, "bad": {"provider": "wrong", "model": "x"}},
		"agents": {"default": {"model": "gpt"}}}`, openai.URL(), openai.Key(), anthropic.URL(), anthropic.Key())
	found := h.examined(1)
	for _, name := range []string{"model gpt", "model claude"} {
		require.Equal(t, doctor.OK, found[name].Status, found[name].Detail)
		for _, ability := range []string{"tools", "streaming", "vision"} {
			require.Contains(t, found[name].Detail, ability)
			require.NotContains(t, found[name].Detail, "no "+ability)
		}
	}
	for _, name := range []string{"model bad", "provider idle"} {
		require.Equal(t, doctor.Fail, found[name].Status)
		require.Contains(t, found[name].Fix, "api_key")
		require.NotContains(t, found[name].Detail, "wrong-")
	}
	require.Equal(t, []string{"wrong key"}, openai.Refused(), "no request was of a wrong form")
}

func TestDoctor_ModelWithoutToolsOrEyes_SaysSo(t *testing.T) {
	openai := fakeopenai.Start(t, fakeopenai.Config{})
	openai.Handle(func(r fakeopenai.Request) fakeopenai.Step {
		if len(r.Tools) > 0 {
			return fakeopenai.Error{Status: 400, Message: "tools are not supported by this model"}
		}
		return fakeopenai.Reply{Text: "ok"}
	})
	h := newHarness(t)
	h.configf(`{"gateway": {"addr": "127.0.0.1:0"}, "providers": {"o": {"type": "openai", "base_url": %q, "api_key": %q}},
		"models": {"m": {"provider": "o", "model": "m", "vision": false}}, "agents": {"default": {"model": "m"}}}`, openai.URL(), openai.Key())
	m := h.examined(0)["model m"]
	require.Equal(t, doctor.Warn, m.Status)
	require.Contains(t, m.Detail, "no tools")
	require.Contains(t, m.Detail, "no vision")
}

func TestDoctor_Record_DamagedOrOfANewerBuild_IsBroken(t *testing.T) {
	h := newHarness(t)
	h.configf(`{"gateway": {"addr": "127.0.0.1:0"}}`)
	path := filepath.Join(h.home, "storage", "sessions.db")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	s, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Contains(t, h.examined(0)["store"].Detail, "0 sessions")

	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600))
	require.Equal(t, doctor.Fail, h.examined(1)["store"].Status)
}

func TestDoctor_PortIsTaken_NoGatewayCanStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	h := newHarness(t)
	h.configf(`{"gateway": {"addr": %q}, "temporal": {"address": %[1]q}}`, l.Addr().String())
	found := h.examined(1)
	require.Equal(t, doctor.Fail, found["gateway"].Status)
	require.Equal(t, doctor.Fail, found["temporal"].Status)
}

func TestDoctor_ExternalTemporalIsAway_IsBroken(t *testing.T) {
	h := newHarness(t)
	h.configf(`{"gateway": {"addr": "127.0.0.1:0"}, "temporal": {"mode": "external", "address": "127.0.0.1:1"}}`)
	require.Equal(t, doctor.Fail, h.examined(1)["temporal"].Status)
}
