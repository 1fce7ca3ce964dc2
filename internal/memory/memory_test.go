package memory_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/memory"
)

func TestSegment_CutsEveryScriptIntoTermsThatAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"飞书机器人":                 "飞书 书机 机器 器人 飞 书 机 器 人",
		"会":                     "会",
		"用Go写gateway.addr":      "用 go 写 gateway addr",
		"ＰｉｃｏＢｏｔ ﾃﾞｰﾀ":          "picobot デー ータ デ ー タ",
		"Straße, ΣΊΣΥΦΟΣ":       "strasse σίσυφοσ",
		"don't 3.14 a_b-c":      "don t 3 14 a b c",
		"🍎❤️🍎":                  "🍎 ❤ 🍎",
		"한국어 말":                 "한국 국어 한 국 어 말",
		"हिन्दी भाषा":           "हिन्दी भाषा",
		"\u202ex\u0000y":        "x y",
		strings.Repeat("w", 99): strings.Repeat("w", 64),
	} {
		require.Equal(t, want, memory.Segment(text), text)
	}
}

func TestParseQuery_WholeAndParts(t *testing.T) {
	q := memory.ParseQuery("飞书机器人 webhook 飞书")
	require.Equal(t, []string{`"飞书 书机 机器 器人"`, `"webhook"`, `"飞书"`}, q.Whole)
	require.Equal(t, []string{`"飞书"`, `"书机"`, `"机器"`, `"器人"`, `"webhook"`}, q.Parts)
	require.Equal(t, []string{`"coffee"`}, memory.ParseQuery("what coffee?").Parts)
	require.Equal(t, []string{`"who"`}, memory.ParseQuery("Who").Parts, "a stop word is better than nothing")
	require.Empty(t, memory.ParseQuery(`" AND ( * ^ : -`).Whole[1:], "only AND is a word there")
	require.LessOrEqual(t, len(memory.ParseQuery(strings.Repeat("部署机器人 word ", 500)).Whole), 32)
}

// Whatever is written, a part of it that is a word of its own is found by its terms.
func TestSegment_AnyText_TermsOfAPartAreAmongThoseOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z0-9飞书机器人部署한국어デー]{1,6}`), 1, 6).Draw(t, "words")
		terms := map[string]bool{}
		for term := range strings.FieldsSeq(memory.Segment(strings.Join(words, " "))) {
			terms[term] = true
		}
		q := memory.ParseQuery(rapid.SampledFrom(words).Draw(t, "query"))
		for _, phrase := range append(q.Whole, q.Parts...) {
			for term := range strings.FieldsSeq(strings.Trim(phrase, `"`)) {
				if !terms[term] {
					t.Fatalf("%q is not among %v", term, terms)
				}
			}
		}
	})
}

func FuzzParseQuery(f *testing.F) {
	f.Add("飞书 AND \"x\"")
	f.Add("\xff\x00*)")
	f.Fuzz(func(t *testing.T, s string) {
		q := memory.ParseQuery(s)
		for _, phrase := range append(q.Whole, q.Parts...) {
			inner := strings.TrimSuffix(strings.TrimPrefix(phrase, `"`), `"`)
			if inner == "" || strings.ContainsAny(inner, "\"\x00") || !utf8.ValidString(inner) {
				t.Fatalf("%q", phrase)
			}
		}
		if snippet := q.Snippet(s); utf8.RuneCountInString(snippet) > 210 {
			t.Fatalf("a snippet of %d characters", utf8.RuneCountInString(snippet))
		}
	})
}

func TestCleanName_TakesEveryLanguageAndRefusesWhatCannotBeSeen(t *testing.T) {
	for in, want := range map[string]string{
		"birthday": "birthday", " 家庭 住址 ": "家庭 住址", "cafe\u0301": "café", "a　 b": "a b", "день рождения": "день рождения", "work/projects.2026-v1": "work/projects.2026-v1",
		"می\u200cخواهم": "می\u200cخواهم", "🍎": "🍎", strings.Repeat("字", 128): strings.Repeat("字", 128),
	} {
		n, err := memory.CleanName(memory.Name{Namespace: "n", Key: in})
		require.NoError(t, err, in)
		require.Equal(t, want, n.Key)
	}
	for _, bad := range []string{"", "  ", "a\nb", "a\x00b", "a\u202eb", "\xff", "a\u2028b", "\u200b", strings.Repeat("字", 129), strings.Repeat("a", 1<<20)} {
		_, err := memory.CleanName(memory.Name{Namespace: "n", Key: bad})
		require.ErrorContains(t, err, "the key", "%q", bad)
		_, err = memory.CleanName(memory.Name{Namespace: bad, Key: "k"})
		require.ErrorContains(t, err, "the namespace", "%q", bad)
	}
}

func TestCleanContent_BoundsAndControlCharacters(t *testing.T) {
	got, err := memory.CleanContent(" a\r\n\tb \n")
	require.NoError(t, err)
	require.Equal(t, "a\n\tb", got)
	_, err = memory.CleanContent(strings.Repeat("字", memory.MaxContent))
	require.NoError(t, err)
	for bad, want := range map[string]string{" \n": "empty", "\xff": "UTF-8", "a\x1b[2J": "U+001B", strings.Repeat("字", memory.MaxContent+1): "8001 characters"} {
		_, err := memory.CleanContent(bad)
		require.ErrorContains(t, err, want)
	}
}

func TestCleanScope(t *testing.T) {
	for _, good := range []string{"cli:a", "feishu:ou_1:2", "cli:我"} {
		_, err := memory.CleanScope(good)
		require.NoError(t, err)
	}
	for _, bad := range []string{"", "cli", "cli:", ":a", "cli:a\nb", "cli:a\x00"} {
		_, err := memory.CleanScope(bad)
		require.ErrorContains(t, err, "channel:sender_id")
	}
}

func TestSnippet_ShowsWhereItWasFound(t *testing.T) {
	filler := strings.Repeat("所有工作没有玩乐 all work and no play ", 20)
	for query, want := range map[string]string{"door CODE": "code 4711", "飞书机器人": "飞书机器人", "机器": "机器人", "ｃｏｄｅ": "code 4711"} {
		got := memory.ParseQuery(query).Snippet(filler + "the code 4711 of 飞书机器人 " + filler)
		require.Contains(t, got, want, query)
		require.LessOrEqual(t, utf8.RuneCountInString(got), 204)
		require.True(t, strings.HasPrefix(got, "… ") && strings.HasSuffix(got, " …"), got)
	}
	require.Equal(t, "short one", memory.ParseQuery("x").Snippet("short\none"))
	require.NotEmpty(t, memory.ParseQuery("nowhere").Snippet(filler))
}
