package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"picobot/internal/testkit/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// same fails the test when the lines differ. A "*" in want stands for anything.
func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.EqualFunc(got, want, matches) {
		t.Errorf("%s:\n got %s\nwant %s", what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

func matches(got, want string) bool {
	for i, part := range strings.Split(want, "*") {
		at := strings.Index(got, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		got = got[at+len(part):]
	}
	return got == "" || strings.HasSuffix(want, "*")
}

// sound checks what holds for every record, whatever has happened to it.
func sound(t *testing.T, h *harness.Harness) {
	t.Helper()
	same(t, "what is wrong with the record", h.Unsound())
}
