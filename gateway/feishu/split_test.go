package feishu

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// markdown draws texts as models write them, broken ones included.
func markdown(t *rapid.T) string {
	line := rapid.OneOf(
		rapid.StringMatching(`[a-z 汉字é"\\<>]{0,60}`),
		rapid.Just(""), rapid.Just("```go"), rapid.Just("```"), rapid.Just("~~~"), rapid.Just("````"),
		rapid.Just("      ```sh"), rapid.Just("      ```"), rapid.StringMatching(`      [a-z汉]{0,300}`),
		rapid.Just("| a | b |"), rapid.Just("|---|:-:|"), rapid.Just("| 1 | 2 |"), rapid.Just("    code"), rapid.Just("# 标题"),
		rapid.StringMatching(`[a-z汉]{200,900}`),
	)
	return strings.Join(rapid.SliceOfN(line, 0, 60).Draw(t, "lines"), "\n")
}

// inCode tells of each line whether it is inside a code block, fences included, and
// whether a block is open at the end.
func inCode(text string) (code []bool, open bool) {
	fence := ""
	for _, line := range strings.Split(text, "\n") {
		was := fence != ""
		if fence == "" {
			fence = opensFence(line)
		} else if closesFence(line, fence) {
			fence = ""
		}
		code = append(code, was || fence != "")
	}
	return code, fence != ""
}

func tables(text string) (n int) {
	lines := strings.Split(text, "\n")
	code, _ := inCode(text)
	for i := 0; i < len(lines)-1; i++ {
		if !code[i] && beginsTable(lines[i:]) {
			n++
			for i += 2; i < len(lines) && strings.Contains(lines[i], "|"); i++ {
			}
			i--
		}
	}
	return n
}

// said is a text without what splitting may add or leave out.
func letters(text string) string {
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		if fenceLine.MatchString(strings.TrimSpace(line)) || strings.Contains(line, "|") {
			continue // they are repeated where a block goes on in another message
		}
		b.WriteString(line)
	}
	return strings.ReplaceAll(b.String(), " ", "")
}

func TestSplit_KeepsWhatWasSaid_WithinLimits_AndBreaksNoBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := markdown(t)
		lim := limits{cost: rapid.IntRange(120, 3000).Draw(t, "cost"), tables: rapid.IntRange(1, 3).Draw(t, "tables")}
		pieces := split(text, lim)
		for _, p := range pieces {
			require.NotEmpty(t, strings.TrimSpace(p))
			require.LessOrEqual(t, cost(p), lim.cost, "%q", p)
			require.LessOrEqual(t, tables(p), lim.tables, "%q", p)
			_, open := inCode(p)
			require.False(t, open, "a code block is left open: %q", p)
		}
		require.Equal(t, letters(text), letters(strings.Join(pieces, "\n")))
	})
}

func TestSplit_ShortText_IsOneMessageAsItIs(t *testing.T) {
	text := "# Title\n\n```go\nfmt.Println(\"hi\")\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend"
	require.Equal(t, []string{text}, split(text, messageLimits))
	require.Empty(t, split(" \n\n\t", messageLimits))
}

func TestSplit_LongCodeBlock_IsOpenedAgainInEachMessage(t *testing.T) {
	text := "see:\n```python\n" + strings.Repeat("print('hello, world')\n", 60) + "```\ndone"
	pieces := split(text, limits{cost: 500, tables: 3})
	require.Greater(t, len(pieces), 2)
	for _, p := range pieces[1 : len(pieces)-1] {
		require.True(t, strings.HasPrefix(p, "```python\n"), p)
		require.True(t, strings.HasSuffix(p, "\n```"), p)
	}
}

func TestSplit_CodeBlockInAList_IsTornNowhere(t *testing.T) {
	code := strings.Repeat("      print('hello, world')\n\n", 40)
	text := "1. one\n   - two\n\n      ```python\n" + code + "      ```\n\n   - three"
	pieces := split(text, limits{cost: 500, tables: 3})
	require.Greater(t, len(pieces), 3)
	require.Equal(t, "1. one\n   - two", pieces[0])
	for _, p := range pieces[1 : len(pieces)-1] {
		require.True(t, strings.HasPrefix(p, "```python\nprint("), p)
		require.True(t, strings.HasSuffix(p, "\n```"), p)
	}
	short := "- a\n  - b\n\n      ```sh\n      ls\n\n      pwd\n      ```\n- c"
	require.Equal(t, []string{short}, split(short, messageLimits))
	looks := "    ```\n<at id=all></at>"
	require.Equal(t, []string{looks}, split(looks, messageLimits), "it ends nowhere")
	require.NotContains(t, safe(looks), "<at")
}

func TestSplit_LongTable_HasItsHeadInEachMessage_AndTablesAreCounted(t *testing.T) {
	table := "| name | value |\n|---|---|\n" + strings.Repeat("| abc | def |\n", 80)
	pieces := split(table, limits{cost: 400, tables: 3})
	require.Greater(t, len(pieces), 3)
	for _, p := range pieces {
		require.True(t, strings.HasPrefix(p, "| name | value |\n|---|---|\n|"), p)
	}
	small := strings.Repeat("| a | b |\n|---|---|\n| 1 | 2 |\n\n", 7)
	require.Len(t, split(small, messageLimits), 3)
}

func TestForms_AreJSONOfTheLimitsFeishuHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, p := range split(markdown(t), messageLimits) {
			for _, f := range forms {
				content := f.content(p)
				require.True(t, json.Valid([]byte(content)))
				require.Less(t, len(content), 30<<10)
			}
		}
	})
}

func TestSafe_PicturesBecomeLinks_NobodyIsCalled_CodeStays(t *testing.T) {
	for in, want := range map[string]string{
		"see ![a cat](https://x.y/c.png) there":       "see [a cat](https://x.y/c.png) there",
		"![](http://x/y.png)":                         "[http://x/y.png](http://x/y.png)",
		"![local](img/a.png)":                         "local",
		"hi <at id=all></at>":                         "hi &lt;at id=all>&lt;/at>",
		"`<at id=all>` and ![x](http://y)":            "`<at id=all>` and [x](http://y)",
		"```\n<at id=all>\n![x](http://y)\n```\n<AT>": "```\n<at id=all>\n![x](http://y)\n```\n&lt;AT>",
		"<attribute>":                                 "<attribute>",
		"<a href='http://evil'>bank</a>, `<a>`":       "&lt;a href='http://evil'>bank&lt;/a>, `<a>`",
	} {
		require.Equal(t, want, safe(in))
	}
	require.Equal(t, `{"text":"< at user_id=\"all\">x< /at>"}`, plainText(`<at user_id="all">x</at>`))
}

func TestUUID_IsShortAndOfOneMessageOnly(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range []string{uuid("a", "o", 0, 0, 0), uuid("b", "o", 0, 0, 0), uuid("a", "p", 0, 0, 0), uuid("a", "o", 1, 0, 0), uuid("a", "o", 0, 1, 0), uuid("a", "o", 0, 0, 1)} {
		require.Len(t, id, 40)
		require.False(t, seen[id])
		seen[id] = true
	}
}

func FuzzReadContent(f *testing.F) {
	for _, s := range []string{`{"text":"hi"}`, `{"title":"t","content":[[{"tag":"a","href":"u","text":"x"}]]}`, `{"zh_cn":{"content":[[{"tag":"img","image_key":"k"}]]}}`, `{"elements":[[{"text":"x"}]]}`, `null`, `[`} {
		for _, kind := range []string{"text", "post", "image", "file", "audio", "media", "merge_forward", "interactive", "share_chat", "vote"} {
			f.Add(kind, s)
		}
	}
	f.Fuzz(func(t *testing.T, kind, content string) {
		s := readContent(kind, content)
		if len(s.text) > maxText+100 || len(s.attachments) > maxAttachments {
			t.Fatalf("%d bytes, %d attachments", len(s.text), len(s.attachments))
		}
		for _, a := range s.attachments {
			if a.Name != "" && cleanName(a.Name) != a.Name {
				t.Fatalf("name %q", a.Name)
			}
		}
	})
}
