package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"
)

// System is everything of the outside world that commands use.
type System struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Env looks up an environment variable.
	Env func(name string) (string, bool)
	// WorkDir is where ./config.json is looked for; "" = the process's own.
	WorkDir string
	Now     func() time.Time
	// Signals carries requests to stop: the first is a polite one, the second is not.
	Signals <-chan os.Signal
	// Exit ends the process at once.
	Exit func(code int)
	// Terminal reports whether a person sits at both Stdin and Stdout.
	Terminal bool
	// Screen reports whether a person sees Stdout.
	Screen  bool
	Build   Build
	Runtime Runtime

	tty io.Writer // Stdout for whoever draws on it
}

// OS returns the real System of this process.
func OS(build Build, runtime Runtime) System {
	// A reader that goes away is an error of the write, not the end of the gateway
	// that this process may be for others.
	// (Caught rather than ignored: what is ignored here would be ignored by commands.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // nohup means that the terminal's end is not ours
			signal.Notify(signals, s)
		}
	}
	return System{
		Args:     os.Args[1:],
		Stdin:    os.Stdin,
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Env:      os.LookupEnv,
		Now:      time.Now,
		Signals:  signals,
		Exit:     os.Exit,
		Terminal: term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())),
		Screen:   term.IsTerminal(int(os.Stdout.Fd())),
		Build:    build,
		Runtime:  runtime,
	}
}

func (s System) getenv(name string) string {
	value, _ := s.Env(name)
	return value
}

// workDir is where this process runs; "" = nobody can tell.
func (s System) workDir() string {
	dir, err := filepath.Abs(s.WorkDir) // of "" it is the process's own
	if err != nil {
		return ""
	}
	return dir
}

// exitKilled is what a shell reports for a process that a Ctrl-C ended.
const exitKilled = 130

// lastResort is how long after a signal a process ends that has not stopped by itself.
// Each part of a stop has a limit, together less than the 10 s that are promised: this
// is for one that does not keep it. What was going on is a crash then, and goes on from
// the record.
const lastResort = 15 * time.Second

// untilSignal returns a context that ends with the first signal. A second one ends
// the process at once: whoever asks twice does not want to wait.
func (s System) untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	released := make(chan struct{})
	go func() {
		select {
		case <-s.Signals:
			cancel()
		case <-released:
			return
		}
		late := time.NewTimer(lastResort)
		defer late.Stop()
		select {
		case <-s.Signals:
			s.Exit(exitKilled)
		case <-late.C:
			_, _ = fmt.Fprintf(s.Stderr, "picobot: something does not stop: ending it after %s; what was going on goes on at the next start\n", lastResort)
			s.Exit(exitFailure)
		case <-released:
		}
	}()
	return ctx, func() { close(released); cancel() }
}
