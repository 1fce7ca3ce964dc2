//go:build unix

package tui

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// settled is how long a size must have lasted. A window that is dragged has dozens on
// its way, and many terminals keep each screen that is cleared in their scrollback.
const settled = 60 * time.Millisecond

// watchSize tells changed of each size that lasts, until it is stopped.
func (t *tty) watchSize(changed func(width, height int)) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		var lasts <-chan time.Time
		for {
			select {
			case <-signals:
				lasts = time.After(settled)
			case <-lasts:
				changed(t.size())
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(signals); close(done) }
}

// stopsWithin is how long a process runs on after the signal that stops it. Where no
// shell has jobs (as the first process of a container, or of a terminal's window) the
// system ignores that signal.
const stopsWithin = time.Second

// suspend stops this process as Ctrl-Z does, and returns when it goes on, or when it has
// not been stopped.
func (t *tty) suspend() error {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	if err := t.giveBack(); err != nil {
		return err
	}
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return errors.Join(err, t.take())
	}
	select {
	case <-goesOn:
	case <-time.After(stopsWithin):
	}
	return t.take()
}
