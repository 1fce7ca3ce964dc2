package e2e

import (
	"strings"
	"testing"

	"picobot/internal/testkit/harness"
)

func TestGatewayOnAllAddresses_CommandsBesideItReachIt(t *testing.T) {
	h := harness.New(t)
	h.Configure(map[string]any{"gateway": map[string]any{"addr": "0.0.0.0:0", "token": "0123456789abcdef0123456789abcdef"}})
	g := h.StartGateway()
	if r := h.Run("agent", "-m", "calc 1+1"); r.Code != 0 || r.Stdout != "calculator: 2\n" {
		t.Errorf("agent: %+v", r)
	}
	if r := h.Run("doctor"); r.Code != 0 || !strings.Contains(r.Stdout, "ok    gateway: process") {
		t.Errorf("doctor: %+v", r)
	}
	if r := h.Run("jobs", "list"); r.Code != 0 {
		t.Errorf("jobs: %+v", r)
	}
	g.Stop()
}
