package markdown

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func lines(t *testing.T, width int, colour bool, text string) []string {
	t.Helper()
	r, err := New(width, colour)
	if err != nil {
		t.Fatal(err)
	}
	return r.Lines(text)
}

const sample = "# Title\n\nHello **bold** `code` 这是一个很长的中文句子，用来测试换行是否正确，因为中文没有空格。\n\n" +
	"- one\n- two\n  - nested\n\n3. c\n4. d\n\n```go\nfunc main() { println(\"hi\") } // longer than the line is\n```\n\n" +
	"> quote\n\n| a | b |\n|---|---|\n| 1 | 中文 |\n\n[link](https://example.com/x) https://auto.example\n"

func TestLines_WithoutColour_AreAsWritten(t *testing.T) {
	got := strings.Join(lines(t, 30, false, sample), "\n")
	want := strings.TrimPrefix(`
Title

Hello bold `+"`code`"+` 这是一个很长
的中文句子，用来测试换行是否正
确，因为中文没有空格。

• one
• two
  • nested


3. c
4. d

  func main() { println("hi")
  } // longer than the line is

│ quote

a │ b
──┼─────
1 │ 中文

link https://example.com/x
https://auto.example`, "\n")
	if plain := ansi.Strip(got); plain != want {
		t.Errorf("got\n%s\nwant\n%s", plain, want)
	}
	if strings.Contains(got, "\x1b[3") || strings.Contains(got, ";3") && strings.Contains(got, "38;") || strings.Contains(got, "\x1b]") {
		t.Errorf("colours or links in %q", got)
	}
}

func TestLines_NothingOfATextIsLeftOut(t *testing.T) {
	for _, text := range []string{
		"use List<String> and Map<K, V>", "<b>bold</b> & &amp; text", "<div>\nblock\n</div>\n", "a <!-- comment --> b", "if a < b && c > d",
		"<script>alert(1)</script>", "x<y", "vector<int> v;\n<pre>\nkeep\n</pre>\nafter",
		"see [x] and [this][y]\n\n[x]: http://a.b/c\n[y]: <d> \"t\"\nafter", "[^1]: note",
	} {
		got := strings.Join(strings.Fields(ansi.Strip(strings.Join(lines(t, 78, false, text), " "))), " ")
		want := strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "&amp;", "&")
		if strings.ReplaceAll(got, "&amp;", "&") != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

// What is nested without end would take the library minutes.
func TestLines_NestedTooDeep_AreAsWritten(t *testing.T) {
	for _, mark := range []string{"> ", "- ", "1. "} {
		text := strings.Repeat(mark, 200) + "中文 end"
		got := lines(t, 40, true, text)
		if want := Wrap(text, 40, ""); !slices.Equal(got, want) {
			t.Errorf("%q: got %q", mark, got)
		}
	}
	if got := strings.Join(lines(t, 40, false, strings.Repeat("> ", 12)+"x"), "\n"); strings.Contains(got, ">") {
		t.Errorf("got %q", got)
	}
}

// Models forget the line's end behind a fence. The library looks for a language of that
// name, the longer the longer.
func TestLines_CodeBesideItsFence_IsShownAtOnce(t *testing.T) {
	code := `{"some":"json", "key":"` + strings.Repeat("value", 20000) + `"}`
	got := strings.Join(lines(t, 100, false, "```"+code+"\nmore\n```\nafter"), "")
	if want := code + "more" + "after"; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got %.300q", got)
	}
	for _, in := range []string{"> ", "- "} {
		got := lines(t, 100, false, in+"```"+strings.Repeat("x", 100_000)+"\n")
		if len(got) > 2 {
			t.Errorf("%q: got %.300q", in, got)
		}
	}
}

func TestLines_AreNeverWiderThanTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab `*_#>-|1.中文宽字符\n\t[]()<&😀é"))).Draw(t, "text")
		width := rapid.IntRange(8, 40).Draw(t, "width")
		r, err := New(width, rapid.Bool().Draw(t, "colour"))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range r.Lines(text) {
			if strings.Contains(l, "\n") || ansi.StringWidth(l) > width {
				t.Fatalf("%q: %q is %d wide, more than %d", text, l, ansi.StringWidth(l), width)
			}
		}
	})
}

func TestStable_EndsWhereABlockIsOver(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"one":                               "",
		"one\n\n":                           "",
		"one\n\ntwo":                        "one\n\n",
		"one\ntwo\n\nthree\n\nfour":         "one\ntwo\n\nthree\n\n",
		"```\na\n\nb\n\nc":                  "",
		"```\na\n\nb\n```\n\nc":             "```\na\n\nb\n```\n\n",
		"~~~go\n```\n\n~~~\n\nc":            "~~~go\n```\n\n~~~\n\n",
		"- a\n\n- b\n\n  more\n\n- c":       "",
		"- a\n\nafter the whole list":       "- a\n\n",
		"- a\n\n1":                          "",
		"text\n\n- a\n\n- b":                "text\n\n",
		"1. a\n\n   code\n\n2. b\n\nEnd of": "",
		"1. a\n\n2. b\n\nThe end of it all": "1. a\n\n2. b\n\n",
		"para\n\n    indented\n\nnext":      "para\n\n    indented\n\n",
	} {
		if got := text[:Stable(text)]; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// What is shown for good is never taken back, and shown piece by piece it is what the
// whole would be.
func TestStable_PiecesMakeTheWhole(t *testing.T) {
	block := rapid.SampledFrom([]string{"para one\nmore", "中文段落", "- a\n- b", "1. x\n2. y", "```\ncode\n\nmore\n```", "> q", "# H", "    indented", "* s\n\n  in s"})
	r, err := New(30, false)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(block, 1, 6).Draw(t, "blocks"), "\n\n")
		whole := r.Lines(text)
		var got []string
		add := func(piece string) {
			if lines := r.Lines(piece); len(lines) > 0 {
				if len(got) > 0 {
					got = append(got, "")
				}
				got = append(got, lines...)
			}
		}
		shown := 0
		for end := 1; end <= len(text); end++ {
			n := Stable(text[:end])
			if n < shown {
				t.Fatalf("%q was shown, now only %q is stable", text[:shown], text[:n])
			}
			if n > shown {
				add(text[shown:n])
				shown = n
			}
		}
		add(text[shown:])
		if squeeze(got) != squeeze(whole) {
			t.Fatalf("%q\ngot\n%s\nwant\n%s", text, squeeze(got), squeeze(whole))
		}
	})
}

// squeeze leaves out empty lines: how many stand between blocks is not the matter.
func squeeze(lines []string) string {
	var out []string
	for _, l := range lines {
		if l = ansi.Strip(l); l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

func FuzzLines(f *testing.F) {
	f.Add(sample, 30)
	f.Add("<b>\n\n- [ ] x\n![i](u)\n[^1]: x\n***", 8)
	made := map[int]*Renderer{}
	f.Fuzz(func(t *testing.T, text string, width int) {
		if width < 8 || len(text) > 4096 {
			return // not what it is for
		}
		width = 8 + width%5*17
		text = strings.Map(func(r rune) rune {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f {
				return -1
			}
			return r
		}, text)
		r := made[width]
		if r == nil {
			var err error
			if r, err = New(width, true); err != nil {
				t.Fatal(err)
			}
			made[width] = r
		}
		for _, l := range r.Lines(text) {
			if strings.ContainsAny(l, "\n\r") || ansi.StringWidth(l) > width {
				t.Fatalf("%q: %q", text, l)
			}
		}
		if n := Stable(text); n < 0 || n > len(text) || n > 0 && text[n-1] != '\n' {
			t.Fatalf("%q: stable up to %d", text, n)
		}
	})
}

func TestLines_LongOnes_BreakBetweenWideCharactersAndHangBelowTheirItem(t *testing.T) {
	got := ansi.Strip(strings.Join(lines(t, 24, true, "warn: 模型没有回答，请稍后再试一次。\n\n- one two three four five six\n- 列表项很长很长很长很长很长\n\n> quoted words that go on and on\n\n```\nsome code that is longer than it\n```"), "\n"))
	want := `warn: 模型没有回答，请稍
后再试一次。

• one two three four
  five six
• 列表项很长很长很长很长
  很长

│ quoted words that go
│ on and on

  some code that is
  longer than it`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLines_CodeWithAVeryLongLine_IsShownWithoutColours(t *testing.T) {
	for _, tt := range []struct {
		code    string
		colours bool
	}{
		{"func f() { return }", true},
		{strings.Repeat("func f() { return } ", 6000), false},
	} {
		got := strings.Join(lines(t, 40, true, "```go\n"+tt.code+"\n```"), "\n")
		plain := strings.Fields(ansi.Strip(got))
		if strings.Join(plain, " ") != strings.Join(strings.Fields(tt.code), " ") {
			t.Errorf("%.40q: not the whole code is shown: %.100q", tt.code, got)
		}
		if has := strings.Contains(got, "\x1b[3") || strings.Contains(got, "\x1b[9"); has != tt.colours {
			t.Errorf("%.40q: colours %v: %.200q", tt.code, has, got)
		}
	}
}
