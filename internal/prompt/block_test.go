package prompt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const people = `You are PicoBot.

<!-- picobot:memory:begin -->
<!-- scope: cli:alice -->
Alice likes tea.

- and cats
<!-- scope: feishu:ou_1:x -->
Wei likes coffee.
<!-- picobot:memory:end -->

Be brief.`

func TestPersonal_GivesAChatOnlyThePartsOfItsPeople(t *testing.T) {
	require.Equal(t, people, Personal(people, []string{"cli:alice", "feishu:ou_1:x", "cli:nobody"}))
	require.Equal(t, strings.Replace(people, "<!-- scope: feishu:ou_1:x -->\nWei likes coffee.\n", "", 1), Personal(people, []string{"cli:alice"}))
	none := "You are PicoBot.\n\nBe brief."
	require.Equal(t, none, Personal(people, nil))
	require.Equal(t, none, Personal(people, []string{"cli:alic", "feishu:ou_1", "x", ""}))
	require.Equal(t, none, Personal(none, []string{"cli:alice"}))
	for name, text := range map[string]string{
		"no end":        "before\n<!-- picobot:memory:begin -->\n<!-- scope: cli:bob -->\nsecret\nafter",
		"two blocks":    people + "\n" + strings.ReplaceAll(people, "Wei likes coffee.", "secret"),
		"two begins":    "<!-- picobot:memory:begin -->\n<!-- scope: cli:bob -->\nsecret\n" + people,
		"CRLF":          strings.ReplaceAll(strings.ReplaceAll(people, "Wei likes coffee.", "secret"), "\n", "\r\n"),
		"indented":      strings.ReplaceAll(strings.ReplaceAll(people, "Wei likes coffee.", "secret"), "<!--", "  <!--"),
		"before a part": strings.ReplaceAll(people, "<!-- scope: cli:alice -->", "secret\n<!-- scope: cli:alice -->"),
	} {
		require.NotContains(t, Personal(text, []string{"cli:alice"}), "secret", name)
	}
	// A line that begins nothing is a line that people have written.
	require.Equal(t, "a\n<!-- picobot:memory:begin -->\nb", Personal("a\n<!-- picobot:memory:begin -->\nb", nil))
}

func TestWithBlock_ReplacesThePartsAndNothingElse(t *testing.T) {
	parts := []Part{{"feishu:ou_1", "Wei\n"}, {"cli:alice", "Alice"}}
	want := "<!-- picobot:memory:begin -->\n<!-- scope: cli:alice -->\nAlice\n<!-- scope: feishu:ou_1 -->\nWei\n<!-- picobot:memory:end -->"
	for before, after := range map[string]string{
		"":                      want + "\n",
		"hello\n":               "hello\n\n" + want + "\n",
		"hello":                 "hello\n\n" + want + "\n",
		people:                  "You are PicoBot.\n\n" + want + "\n\nBe brief.",
		"a\r\nb\r\n":            "a\r\nb\r\n\r\n" + strings.ReplaceAll(want, "\n", "\r\n") + "\r\n",
		blockEnd + "\nx\n":      blockEnd + "\nx\n\n" + want + "\n",
		blockBegin + "\nmine\n": blockBegin + "\nmine\n\n" + want + "\n",
		"see " + blockBegin + " and " + blockEnd + "\n": "see " + blockBegin + " and " + blockEnd + "\n\n" + want + "\n",
	} {
		require.Equal(t, after, withBlock(before, parts))
		require.Equal(t, after, withBlock(after, parts), "again it changes nothing")
	}
	require.Equal(t, "hello\n", withBlock("hello\n", nil))
	require.Equal(t, "You are PicoBot.\n\n"+blockBegin+"\n"+blockEnd+"\n\nBe brief.", withBlock(people, nil))
}

// Whatever a model writes and whatever an id is made of: each person gets their own
// part back, and nobody else's.
func TestBlock_AnyMarkdownAndIDs_StayInTheirPart(t *testing.T) {
	evil := rapid.SampledFrom([]string{"x", "\n", blockBegin, blockEnd, "<!-- scope: cli:a -->", "<!--", "-->", "\r", "\u2028", "%", "é", "<!-<!---- scope: cli:a -->", "\x00", "\xff"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(evil, 0, 6).Draw(t, "text"), "") })
	rapid.Check(t, func(t *rapid.T) {
		mine, theirs := "cli:a"+text.Draw(t, "mine"), "cli:b"+text.Draw(t, "theirs")
		before := strings.TrimRight(text.Draw(t, "before"), "\r")
		parts := []Part{{mine, "MINE " + text.Draw(t, "my markdown")}, {theirs, "THEIRS " + text.Draw(t, "their markdown")}}
		whole := withBlock(before, parts)
		got := Personal(whole, []string{mine})
		if !strings.Contains(got, "MINE") || strings.Contains(got, "THEIRS") {
			t.Fatalf("%q of %q", got, whole)
		}
		if again := withBlock(whole, parts); again != whole {
			t.Fatalf("%q became %q", whole, again)
		}
		if none := Personal(whole, nil); strings.Contains(none, "MINE") {
			t.Fatalf("%q", none)
		}
	})
}

func TestSetParts_WritesAtomicallyAndKeepsModeLinkAndText(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real.md")
	require.NoError(t, os.WriteFile(real, []byte(people), 0o640))
	link := filepath.Join(dir, "AGENT.md")
	require.NoError(t, os.Symlink(real, link))
	a := NewAgentFile(link)
	changed, left, err := a.SetParts([]Part{{"cli:alice", "Alice moved."}})
	require.NoError(t, err)
	require.True(t, changed)
	require.Zero(t, left)
	text, err := os.ReadFile(real)
	require.NoError(t, err)
	require.Equal(t, "You are PicoBot.\n\n<!-- picobot:memory:begin -->\n<!-- scope: cli:alice -->\nAlice moved.\n<!-- picobot:memory:end -->\n\nBe brief.", string(text))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
	info, err = os.Stat(link)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	changed, _, err = a.SetParts([]Part{{"cli:alice", "Alice moved."}})
	require.NoError(t, err)
	require.False(t, changed)
	left0, err := filepath.Glob(filepath.Join(dir, ".AGENT-*"))
	require.NoError(t, err)
	require.Empty(t, left0)
}

func TestSetParts_MissingFile_IsMadeWithTheDefault(t *testing.T) {
	a := NewAgentFile(filepath.Join(t.TempDir(), "agent", "AGENT.md"))
	_, _, err := a.SetParts([]Part{{"cli:alice", "Alice"}})
	require.NoError(t, err)
	text, err := a.Read()
	require.NoError(t, err)
	require.Contains(t, text, "You are PicoBot")
	require.Contains(t, text, "<!-- scope: cli:alice -->\nAlice\n")
}

// Somebody who saves the file at the same time loses nothing, whoever is first.
func TestSetParts_FileChangedMeanwhile_IsReadAgain(t *testing.T) {
	a := NewAgentFile(filepath.Join(t.TempDir(), "AGENT.md"))
	require.NoError(t, os.WriteFile(a.path, []byte("one\n"), 0o600))
	old, mode, err := a.bytes()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(a.path, []byte("two\n"), 0o600)) // an editor, in between
	done, err := a.replace(old, []byte("one and block\n"), mode)
	require.NoError(t, err)
	require.False(t, done, "what was read is not there any more")
	_, _, err = a.SetParts([]Part{{"cli:alice", "Alice"}})
	require.NoError(t, err)
	text, err := os.ReadFile(a.path)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "two\n\n<!-- picobot"), string(text))
}

// What PicoBot writes into the file must not make it too large for PicoBot.
func TestSetParts_MoreThanThereIsRoomFor_IsLeftOut(t *testing.T) {
	a := NewAgentFile(filepath.Join(t.TempDir(), "AGENT.md"))
	require.NoError(t, os.WriteFile(a.path, []byte("be brief\n"), 0o600))
	var parts []Part
	for i := range 1000 {
		parts = append(parts, Part{"cli:" + strings.Repeat("x", i%50) + "é", strings.Repeat("字", 3000)})
	}
	_, left, err := a.SetParts(parts)
	require.NoError(t, err)
	require.Positive(t, left)
	text, err := a.Read()
	require.NoError(t, err)
	require.Equal(t, "be brief", Personal(text, nil))
	require.NoError(t, os.WriteFile(a.path, []byte(strings.Repeat("x", 300<<10)+text), 0o600))
	_, err = a.Read()
	require.ErrorContains(t, err, "shorten it")
}
