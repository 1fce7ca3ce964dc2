package cli

import (
	"context"
	"strings"
	"testing"

	"picobot/cli/app"
	"picobot/internal/text"
)

func TestGatewayPrintsOneLinePerAddressAndLogsElsewhere(t *testing.T) {
	h := newHarness(t)
	h.runtime.serve = func(_ context.Context, o app.Options, ready func(app.Addresses)) error {
		o.Log.Info("starting")
		ready(app.Addresses{Gateway: "http://127.0.0.1:1", Temporal: "127.0.0.1:2", UI: "http://127.0.0.1:3"})
		return nil
	}
	r := h.run("gateway")
	if want := "gateway http://127.0.0.1:1\ntemporal 127.0.0.1:2\nui http://127.0.0.1:3\n"; r.code != 0 || r.stdout != want {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"starting", text.For("en").Say(text.OfflineNotice{})} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("%q is missing in %s", want, r.stderr)
		}
	}
	if h.runtime.options.Command != "gateway" || h.runtime.options.Home.Dir != h.home {
		t.Errorf("%+v", h.runtime.options)
	}
}

func TestAddrReplacesTheConfiguredAddressAndCountsAsNamed(t *testing.T) {
	h := newHarness(t)
	if r := h.run("gateway", "--addr", "127.0.0.1:4444"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if c := h.runtime.options.Config; c.Gateway.Addr != "127.0.0.1:4444" || !c.Named("gateway.addr") {
		t.Errorf("%+v", c.Gateway)
	}
	if r := h.run("gateway", "--addr", "0.0.0.0:4444"); r.code != 2 || !strings.Contains(r.stderr, "token") {
		t.Errorf("an address others can reach needs a token: %+v", r)
	}
}

func TestSecretsOfTheConfigurationNeverReachTheLog(t *testing.T) {
	h := newHarness(t)
	h.env["OPENAI_API_KEY"] = "sk-very-secret-key"
	h.runtime.serve = func(_ context.Context, o app.Options, _ func(app.Addresses)) error {
		o.Scrub.Add("found-later")
		o.Log.Info("call", "header", "Bearer sk-very-secret-key", "token", "found-later")
		return nil
	}
	if r := h.run("gateway", "--log-format", "json"); !strings.Contains(r.stderr, `"header":"Bearer ****","token":"****"`) {
		t.Errorf("%+v", r)
	}
}

func TestLogLevelAndFormatAreKept(t *testing.T) {
	h := newHarness(t)
	h.runtime.serve = func(_ context.Context, o app.Options, _ func(app.Addresses)) error {
		o.Log.Info("quiet")
		o.Log.Warn("loud")
		return nil
	}
	if r := h.run("gateway", "--log-level", "warn"); strings.Contains(r.stderr, "quiet") || !strings.Contains(r.stderr, "level=WARN msg=loud") {
		t.Errorf("%+v", r)
	}
}
