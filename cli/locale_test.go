package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"picobot/cli/doctor"
)

func chinese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// What doctor says to people is in their language, what it tells programs is not.
func TestDoctor_InChinese_SaysEveryFindingInIt(t *testing.T) {
	h := newHarness(t)
	h.talk(t)
	h.config(`{"locale": "zh-CN", "gateway": {"addr": "127.0.0.1:0"}, "session": {"retention_days": 1},
		"channels": {"feishu": {"enabled": true, "domain": "http://127.0.0.1:1", "app_id": "cli_x", "app_secret": "secret-of-the-app"}}}`)
	r := h.run("doctor", "--json")
	require.False(t, chinese(r.stdout), r.stdout)
	var all []doctor.Finding
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &all), r.stdout)
	require.NotEmpty(t, all)

	said := h.run("doctor").stdout
	for _, f := range all {
		line := regexp.MustCompile(`(?m)^` + string(f.Status) + ` +` + regexp.QuoteMeta(f.Check) + `: (.*)$`).FindString(said)
		require.NotEmpty(t, line, "the status words and names of checks are the same: %s", f.Check)
		if f.Fix != "" {
			require.True(t, chinese(line), line)
			require.NotContains(t, line, f.Fix)
		}
	}
	for _, check := range []string{"gateway", "store", "temporal", "model offline", "channel cli", "bash", "skills", "disk"} {
		require.Regexp(t, `(?m)^(ok|warn|fail) +`+check+`: .*\p{Han}`, said)
	}
}

func TestTables_InChinese_AreHeadedInIt(t *testing.T) {
	h := newHarness(t)
	turn := h.talk(t)
	english := map[string]string{}
	lines := []string{"sessions list", "turns list", "turns show " + turn.ID, "sessions show " + turn.SessionID, "sessions show " + turn.SessionID + " --turn " + turn.ID, "memory list", "skills list"}
	for _, line := range lines {
		r := h.run(strings.Split(line, " ")...)
		require.Zero(t, r.code, "%s: %+v", line, r)
		require.False(t, chinese(r.stdout+r.stderr), r.stdout)
		english[line] = r.stdout
	}
	h.config(`{"locale": "zh-CN"}`)
	for _, line := range lines {
		r := h.run(strings.Split(line, " ")...)
		require.Zero(t, r.code, "%s: %+v", line, r)
		require.Equal(t, strings.Count(english[line], "\n"), strings.Count(r.stdout, "\n"), "%s: the same, in other words", line)
		for _, word := range regexp.MustCompile(`(?m)^([A-Z][A-Z ]+)( |$)|\b(look at it|last active|of people|in all|accepted)\b`).FindAllString(r.stdout, -1) {
			require.Contains(t, []string{"ID "}, word[:min(len(word), 3)], "%s: %s", line, r.stdout)
		}
		require.True(t, chinese(r.stdout), r.stdout)
	}
	r := h.run("backup", t.TempDir()+"/b.tar.gz")
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, `b\.tar\.gz：1 个会话，\d+ 条消息，\d+ 个文件，[\d.]+ KiB\n$`, r.stdout)
}

func TestSizes_AreInUnitsThatSaySomething(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1 << 10: "1.0 KiB", 40_000: "39.1 KiB", 1 << 20: "1.0 MiB", 5 << 29: "2.5 GiB"} {
		require.Equal(t, want, size(n))
	}
}
