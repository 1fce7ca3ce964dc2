package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestDeploy_ContainersConfiguration_NeedsItsTokenAndIsValid(t *testing.T) {
	file := filepath.Join("..", "deploy", "container.jsonc")
	h := newHarness(t)
	if r := h.run("--config", file, "config", "check"); r.code != 1 || !strings.Contains(r.stderr, "PICOBOT_TOKEN") {
		t.Errorf("without a token: %+v", r)
	}
	h.env["PICOBOT_TOKEN"] = "0123456789abcdef0123456789abcdef"
	if r := h.run("--config", file, "config", "check"); r.code != 0 {
		t.Errorf("%+v", r)
	}
}
