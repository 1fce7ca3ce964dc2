package history

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "history") }

func open(t *testing.T, path string) *History {
	t.Helper()
	h, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHistory_NextConversation_HasWhatWasTyped(t *testing.T) {
	path := file(t)
	h := open(t, path)
	for _, text := range []string{"calc 12*7", "two\nlines \\n and 中文", "two\nlines \\n and 中文", "  ", strings.Repeat("x", maxText+1), "last"} {
		if err := h.Add(text); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"calc 12*7", "two\nlines \\n and 中文", "last"}
	if got := open(t, path).Texts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if data, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(data), "calc 12*7\n") {
		t.Errorf("a plain line is no longer plain: %q, %v", data, err)
	}
}

func TestHistory_File_IsPrivate(t *testing.T) {
	path := file(t)
	if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h := open(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, err %v", info.Mode(), err)
	}
	if got := h.Texts(); !slices.Equal(got, []string{"old"}) {
		t.Errorf("got %q", got)
	}
}

func TestHistory_LongFile_IsCutToItsEnd(t *testing.T) {
	path := file(t)
	var lines strings.Builder
	for n := range 2*most + 5 {
		fmt.Fprintf(&lines, "text %d\n", n)
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	got := open(t, path).Texts()
	if len(got) != most || got[most-1] != fmt.Sprintf("text %d", 2*most+4) {
		t.Errorf("%d texts, the last %q", len(got), got[len(got)-1])
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Count(string(data), "\n") != most {
		t.Errorf("the file has %d lines, %v", strings.Count(string(data), "\n"), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, err %v", info.Mode(), err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

func TestHistory_AnyText_ComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("an\\\n 中\t"))).Draw(t, "text")
		if line := encode(text); strings.Contains(line, "\n") || decode(line) != text {
			t.Fatalf("%q is written %q and read %q", text, line, decode(line))
		}
	})
}
