package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestWorkerNeedsAnExternalTemporal(t *testing.T) {
	h := newHarness(t)
	if r := h.run("worker"); r.code != 1 || !strings.Contains(r.stderr, "picobot gateway") || len(h.runtime.calls) > 0 {
		t.Errorf("%+v", r)
	}
	h.config(`{"temporal": {"mode": "external", "address": "temporal.example.com:7233"}}`)
	if r := h.run("worker"); r.code != 0 || r.stdout != "worker of t:1\n" || !slices.Equal(h.runtime.calls, []string{"worker"}) {
		t.Errorf("%+v", r)
	}
}

func TestWorker_MetricsAddrThatIsNone_IsWrongUsage(t *testing.T) {
	h := newHarness(t)
	h.config(`{"temporal": {"mode": "external", "address": "temporal.example.com:7233"}}`)
	if r := h.run("worker", "--metrics-addr", "19877"); r.code != 2 || !strings.Contains(r.stderr, "host:port") || len(h.runtime.calls) > 0 {
		t.Errorf("%+v", r)
	}
	if r := h.run("worker", "--metrics-addr", "127.0.0.1:0"); r.code != 0 || len(h.runtime.calls) != 1 {
		t.Errorf("%+v", r)
	}
}
