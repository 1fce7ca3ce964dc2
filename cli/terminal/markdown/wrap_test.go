package markdown

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestWrap_BreaksWherePeopleWould(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		hang  string
		want  string
	}{
		{"", 10, "", ""},
		{"hello big world", 10, "", "hello big|world"},
		{"abcdefghijkl", 5, "", "abcde|fghij|kl"},
		{"warn: 模型没有回答", 12, "", "warn: 模型没|有回答"},
		{"一二三，四五", 6, "", "一二|三，四|五"},
		{"用（括号）", 4, "", "用|（括|号）"},
		{"• one two three", 9, "  ", "• one two|  three"},
		{"\x1b[1mbold and wide\x1b[m", 9, "", "\x1b[1mbold and\x1b[m|\x1b[1mwide\x1b[m"},
		{"a    b", 3, "", "a|b"},
		{"中", 2, "", "中"},
	} {
		if got := strings.Join(Wrap(c.line, c.width, c.hang), "|"); got != c.want {
			t.Errorf("%q at %d: got %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

func TestWrap_LosesNothingAndFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "bc", " ", "中", "，", "（", "😀", "é", "\x1b[1m", "\x1b[m", "\x1b[31m"})).Draw(t, "line"), "")
		width := rapid.IntRange(2, 12).Draw(t, "width")
		hang := rapid.SampledFrom([]string{"", " ", "    "}).Draw(t, "hang")
		var all strings.Builder
		for _, l := range Wrap(line, width, hang) {
			if ansi.StringWidth(l) > width {
				t.Fatalf("%q: %q is wider than %d", line, l, width)
			}
			all.WriteString(ansi.Strip(l))
		}
		squash := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if squash(all.String()) != squash(ansi.Strip(line)) {
			t.Fatalf("%q became %q", line, all.String())
		}
	})
}
