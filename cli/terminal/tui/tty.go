package tui

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// tty is the terminal as a device. What is no terminal is left as it is.
type tty struct {
	in  *os.File // nil = not a terminal
	out io.Writer

	mu    sync.Mutex
	saved *term.State // nil = not taken
}

func newTTY(in io.Reader, out io.Writer) *tty {
	t := &tty{out: out}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		t.in = f
	}
	return t
}

const (
	// pasteOn has pastes marked as such; keysOn has keys told apart that are alike
	// otherwise, by terminals that know how (kitty's protocol). Neither is answered.
	pasteOn, pasteOff = "\x1b[?2004h", "\x1b[?2004l"
	keysOn, keysOff   = "\x1b[>1u", "\x1b[<u"
	showCursor        = "\x1b[?25h"
)

// take has keys come as they are pressed.
func (t *tty) take() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.in != nil && t.saved == nil {
		saved, err := term.MakeRaw(int(t.in.Fd()))
		if err != nil {
			return fmt.Errorf("take the terminal: %w", err)
		}
		t.saved = saved
	}
	_, err := io.WriteString(t.out, pasteOn+keysOn)
	return err
}

// giveBack leaves the terminal as it was.
func (t *tty) giveBack() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := io.WriteString(t.out, keysOff+pasteOff+showCursor)
	if t.saved != nil {
		err = errors.Join(err, term.Restore(int(t.in.Fd()), t.saved))
		t.saved = nil
	}
	return err
}

// size returns columns and lines; what is no terminal, or does not know, has 80 by 24.
func (t *tty) size() (width, height int) {
	if f, ok := t.out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 80, 24
}
