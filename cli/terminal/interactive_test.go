package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"picobot/cli/client"
)

// keyboard types what a test says, when it says it.
type keyboard struct {
	keys       chan inputLine
	interrupts chan struct{}

	mu    sync.Mutex
	shown bytes.Buffer
}

func newKeyboard() *keyboard {
	return &keyboard{keys: make(chan inputLine), interrupts: make(chan struct{})}
}

func (k *keyboard) ReadLine() (string, error) {
	l, more := <-k.keys
	if !more {
		return "", io.EOF
	}
	return l.text, l.err
}

func (k *keyboard) Interrupts() <-chan struct{} { return k.interrupts }

func (k *keyboard) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shown.Write(p)
}

func (k *keyboard) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shown.String()
}

func (k *keyboard) shows(t *testing.T, text string) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); !strings.Contains(k.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%q is missing in %q", text, k.String())
		}
	}
}

// talk is a gateway that answers messages when it is told to.
type talk struct {
	script
	mu         sync.Mutex
	sent       []string
	news       chan struct{}
	answers    chan struct{} // closed: answer at once
	cancelled  int
	running    bool
	unsent     int
	unsentOnce bool // unsent ones arrive when they were asked for
}

func newTalk() *talk { return &talk{news: make(chan struct{}, 100), answers: make(chan struct{})} }

func (c *talk) Send(text string) func(context.Context) (client.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, text)
	c.news <- struct{}{}
	return func(ctx context.Context) (client.Outcome, error) {
		select {
		case <-c.answers:
		case <-ctx.Done():
			return client.Outcome{}, ctx.Err()
		}
		return new(script).Do(ctx, text)
	}
}

func (c *talk) CancelRunning() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.running
	c.running = false
	if was {
		c.cancelled++
	}
	return was
}

func (c *talk) Outstanding() (unsent, open int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	unsent = c.unsent
	if c.unsentOnce {
		c.unsent = 0
	}
	if c.running {
		open = 1
	}
	return unsent, open
}

func converseWith(t *testing.T, c *talk, k *keyboard, inside bool) (ended chan error) {
	t.Helper()
	ended = make(chan error, 1)
	go func() {
		ended <- Interactive(t.Context(), c, k, NewScreen(k), func() bool { return inside })
	}()
	return ended
}

func TestMessagesAreSentWhileOthersAreAnswered(t *testing.T) {
	k, c := newKeyboard(), newTalk()
	ended := converseWith(t, c, k, false)
	for _, text := range []string{" one ", "", "two", "/stop", "\x00thr\x1b\x07ee\t3\u009b"} {
		k.keys <- inputLine{text: text}
	}
	for range 4 {
		<-c.news // nothing is answered yet
	}
	c.mu.Lock()
	if want := []string{"one", "two", "/stop", "three\t3"}; !slices.Equal(c.sent, want) {
		t.Errorf("sent %q, want %q", c.sent, want)
	}
	c.mu.Unlock()
	close(c.answers)
	for _, text := range []string{"fail", "refuse"} {
		k.keys <- inputLine{text: text}
	}
	k.shows(t, "it went wrong")
	k.shows(t, "read_only")
	close(k.keys)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestInteractiveEndsWithTheConversationOrTheTerminal(t *testing.T) {
	for _, last := range []inputLine{{text: "cut"}, {err: errors.New("terminal is gone")}} {
		k, c := newKeyboard(), newTalk()
		close(c.answers)
		ended := converseWith(t, c, k, false)
		k.keys <- last
		if err := <-ended; err == nil {
			t.Errorf("%v: no error", last)
		}
	}
}

func TestFirstInterruptStopsTheTurnAndTheSecondLeaves(t *testing.T) {
	k, c := newKeyboard(), newTalk()
	c.running = true
	ended := converseWith(t, c, k, false)
	k.interrupts <- struct{}{}
	k.shows(t, "stopping the turn")
	c.mu.Lock()
	c.running = true // the next one
	c.mu.Unlock()
	k.interrupts <- struct{}{}
	if err := <-ended; err != nil || c.cancelled != 1 {
		t.Errorf("got %v, %d turns were stopped", err, c.cancelled)
	}
}

func TestWhatAnInterruptMeans(t *testing.T) {
	c := newTalk()
	s := stopping{c: c}
	at := time.Now()
	if _, leave := s.pressed(at); leave {
		t.Error("the first one left")
	}
	s.reset() // a message was sent
	if say, leave := s.pressed(at.Add(time.Second)); leave || !strings.Contains(say, "Ctrl-D") {
		t.Errorf("after a message: %q, %v", say, leave)
	}
	c.running = true
	if say, leave := s.pressed(at.Add(time.Minute)); leave || !strings.Contains(say, "stopping") {
		t.Errorf("much later, with a turn: %q, %v", say, leave)
	}
	if _, leave := s.pressed(at.Add(2 * time.Minute)); !leave {
		t.Error("the second one, with nothing running, did not leave")
	}
}

func TestWhoLeavesIsToldWhatGoesOn(t *testing.T) {
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
		k, tk := newKeyboard(), newTalk()
		tk.running, tk.unsent, tk.unsentOnce = c.running, c.unsent, c.arrives
		ended := converseWith(t, tk, k, c.inside)
		close(k.keys)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if got := k.String(); !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: shown %q", name, got)
		}
	}
}

func TestTerminalStaysRawBetweenLines(t *testing.T) {
	entered, left := 0, 0
	m := &rawMode{enter: func() error { entered++; return nil }, exit: func() error { left++; return nil }}
	for range 3 { // lines
		_, _ = m.Enter(), m.Exit()
	}
	if entered != 1 || left != 0 {
		t.Errorf("entered %d times, left %d times", entered, left)
	}
	m.Suspend()
	_, _ = m.Exit(), m.Enter()
	if entered != 2 || left != 1 {
		t.Errorf("after a pause: entered %d times, left %d times", entered, left)
	}
	_, _, _ = m.Close(), m.Close(), m.Enter()
	if entered != 2 || left != 2 {
		t.Errorf("at the end: entered %d times, left %d times", entered, left)
	}
}
