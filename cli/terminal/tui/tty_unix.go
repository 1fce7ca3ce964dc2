//go:build unix

package tui

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// watchSize tells changed of each change of the size until it is stopped.
func (t *tty) watchSize(changed func(width, height int)) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-signals:
				changed(t.size())
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(signals); close(done) }
}

// suspend stops this process as Ctrl-Z does, and returns when it goes on.
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
	<-goesOn
	return t.take()
}
