package seen

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T, path string) *Seen {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func save(t *testing.T, s *Seen) {
	t.Helper()
	if err := s.Save(); err != nil {
		t.Fatal(err)
	}
}

func upto(t *testing.T, s *Seen, session string, want int64) {
	t.Helper()
	if got, known := s.Upto(session); got != want || known != (want > 0) {
		t.Errorf("%s: got %d (known: %v), want %d", session, got, known, want)
	}
}

func TestSeen_NextConversation_KnowsHowFarThisOneWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen")
	s := open(t, path)
	upto(t, s, "cli:a:1", 0)
	save(t, s)
	if _, err := os.Stat(path); err == nil {
		t.Error("a file about nothing")
	}
	s.See("cli:a:1", 7)
	s.See("cli:a:1", 5) // does not go back
	save(t, s)
	upto(t, open(t, path), "cli:a:1", 7)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestSeen_SeveralAtOnce_AddUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen")
	a, b := open(t, path), open(t, path)
	a.See("x", 3)
	a.See("y", 9)
	b.See("x", 5)
	b.See("z", 1)
	save(t, b)
	save(t, a)
	for session, want := range map[string]int64{"x": 5, "y": 9, "z": 1} {
		upto(t, open(t, path), session, want)
	}
}

func TestSeen_OfManyDialogs_TheLastStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen")
	s := open(t, path)
	for n := range 2 * most {
		s.See(fmt.Sprint("s", n), 1)
		s.See("first", int64(n+1)) // is used all the time
	}
	save(t, s)
	s = open(t, path)
	upto(t, s, "first", 2*most)
	upto(t, s, fmt.Sprint("s", 2*most-1), 1)
	upto(t, s, "s0", 0)
	if len(s.order) != most || len(s.upto) != most {
		t.Errorf("%d and %d are kept", len(s.order), len(s.upto))
	}
}

func TestSeen_FileThatMakesNoSense_IsEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen")
	if err := os.WriteFile(path, []byte("x\n5\n5 \nx y\n\x00\n7 cli:a:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	upto(t, s, "cli:a:1", 7)
	if len(s.order) != 1 {
		t.Errorf("read %q", s.order)
	}
}
