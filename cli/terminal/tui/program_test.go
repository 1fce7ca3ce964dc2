package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"picobot/cli/client"
	"picobot/cli/terminal/history"
	"picobot/internal/text"
)

// shown is what was written, for whoever looks at it meanwhile.
type shown struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (s *shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func (s *shown) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// seat is a person at a program that runs.
type seat struct {
	keys  *io.PipeWriter
	out   *shown
	p     *Program
	ended chan error
}

func sit(t *testing.T, ctx context.Context, c *talk, inside bool) *seat {
	t.Helper()
	typed, err := history.Open(filepath.Join(t.TempDir(), "history"))
	if err != nil {
		t.Fatal(err)
	}
	in, keys := io.Pipe()
	s := &seat{keys: keys, out: &shown{}, ended: make(chan error, 1)}
	s.p = NewProgram(Options{
		Settings: Settings{Words: text.For(text.English), MaxMessageBytes: 1 << 20},
		In:       in, Out: s.out, Env: func(string) (string, bool) { return "", false }, Typed: typed, Now: time.Now,
	})
	go func() { s.ended <- s.p.Run(ctx, c, func() bool { return inside }) }()
	t.Cleanup(func() { _ = keys.Close() })
	return s
}

func (s *seat) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(s.keys, keys); err != nil {
		t.Fatal(err)
	}
}

func TestProgram_WhoLeaves_IsToldWhatGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		inside, running bool
		unsent          int
		arrives         bool
		want, not       string
	}{
		"nothing runs":          {want: "", not: "goes on"},
		"another gateway":       {running: true, want: "goes on in the gateway"},
		"our own gateway":       {running: true, inside: true, want: "started again"},
		"a message just typed":  {unsent: 1, arrives: true, not: "did not reach"},
		"a message that's lost": {unsent: 2, want: "2 messages did not reach"},
	} {
		tk := &talk{running: c.running, unsent: c.unsent, arrives: c.arrives}
		s := sit(t, t.Context(), tk, c.inside)
		s.p.Frame(welcome())
		s.types(t, "\x04")
		if err := <-s.ended; err != nil {
			t.Fatal(err)
		}
		if got := s.out.String(); !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: shown %q", name, got)
		}
		if got := s.out.String(); strings.Count(got, pasteOn) != strings.Count(got, pasteOff) || strings.Count(got, keysOn) != strings.Count(got, keysOff) {
			t.Errorf("%s: the terminal was not given back: %q", name, got)
		}
	}
}

func TestProgram_TerminalThatAnswersNothing_IsAskedNothing(t *testing.T) {
	tk := &talk{news: make(chan struct{}, 1)}
	s := sit(t, t.Context(), tk, false)
	s.p.Frame(welcome())
	s.types(t, "hello\r")
	<-tk.news
	s.types(t, "\x03\x03")
	if err := <-s.ended; err != nil {
		t.Fatal(err)
	}
	for _, question := range []string{"\x1b[6n", "\x1b[5n", "\x1b[c", "\x1b[>c", "$p", "\x1b[?u", "\x1b]10;?", "\x1b]11;?"} {
		if strings.Contains(s.out.String(), question) {
			t.Errorf("asked %q", question)
		}
	}
}

func TestProgram_WhileItWaits_SomethingMoves(t *testing.T) {
	s := sit(t, t.Context(), &talk{}, false)
	for until := time.Now().Add(time.Minute); !strings.Contains(s.out.String(), spinner[2]); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("nothing moves: %q", s.out.String())
		}
	}
	s.types(t, "\x04")
	if err := <-s.ended; err != nil {
		t.Fatal(err)
	}
}

func TestProgram_ToldToEnd_LeavesAndShowsWhatWasWritten(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := sit(t, ctx, &talk{}, false)
	s.p.Frame(welcome())
	s.p.Frame(piece("t", "half an answer"))
	cancel()
	if err := <-s.ended; err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.out.String(), "half an answer") {
		t.Errorf("shown %q", s.out.String())
	}
	s.p.Say("too late, and nobody waits") // returns
}

func TestProgram_ConversationThatBreaksOff_IsAnError(t *testing.T) {
	broken := errors.New("connection lost for good")
	s := sit(t, t.Context(), &talk{outcome: func(string) (client.Outcome, error) { return client.Outcome{}, broken }}, false)
	s.types(t, "hi\r")
	if err := <-s.ended; !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	s = sit(t, t.Context(), &talk{}, false)
	s.p.End(broken)
	if err := <-s.ended; !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
