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
	same(t, "integrity", h.Record(`PRAGMA integrity_check`), "ok")
	same(t, "broken references", h.Record(`PRAGMA foreign_key_check`))
	same(t, "gaps in seq", h.Record(`SELECT session_id FROM messages GROUP BY session_id HAVING min(seq) <> 1 OR max(seq) <> count(*)`))
	same(t, "calls without exactly one result", h.Record(`
		SELECT c.turn_id, json_extract(call.value, '$.id') FROM messages c, json_each(c.tool_calls) call
		WHERE c.tool_calls IS NOT NULL AND c.origin_seq IS NULL AND (
			SELECT count(*) FROM messages r WHERE r.session_id = c.session_id AND r.role = 'tool' AND r.origin_seq IS NULL
				AND r.tool_call_id = json_extract(call.value, '$.id')) <> 1`))
}
