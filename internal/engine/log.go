package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// failure keeps the first fault that the server could not live with.
type failure struct {
	once sync.Once
	done chan struct{}
	err  error
}

func newFailure() *failure { return &failure{done: make(chan struct{})} }

func (f *failure) set(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.done)
	})
}

// get returns nil while nothing has failed.
func (f *failure) get() error {
	select {
	case <-f.done:
		return f.err
	default:
		return nil
	}
}

// phase says what the server's words are worth.
type phase int32

const (
	phaseServing phase = iota
	// phaseStopping: every poll and every connection now fails, as it should.
	phaseStopping
	// phaseStopped: goroutines that the server leaves behind still talk.
	phaseStopped
)

// logState is shared by all loggers of one server.
type logState struct {
	fail  *failure
	phase atomic.Int32
}

func (s *logState) enter(p phase) { s.phase.Store(int32(p)) }

// serverLog passes the server's warnings and errors on to slog. The rest is
// dropped: it is written for people who operate a cluster.
type serverLog struct {
	out   *slog.Logger
	state *logState
}

var _ log.WithLogger = serverLog{}

func (l serverLog) Debug(string, ...tag.Tag) {}
func (l serverLog) Info(string, ...tag.Tag)  {}

func (l serverLog) Warn(msg string, tags ...tag.Tag) {
	l.write(slog.LevelWarn, msg, tags)
}

func (l serverLog) Error(msg string, tags ...tag.Tag) {
	l.write(slog.LevelError, msg, tags)
}

func (l serverLog) DPanic(msg string, tags ...tag.Tag) {
	l.write(slog.LevelError, msg, tags)
}

func (l serverLog) Panic(msg string, tags ...tag.Tag) {
	l.write(slog.LevelError, msg, tags)
	panic(msg)
}

// Fatal must not return and, in the server's own loggers, ends the process.
// PicoBot has turns to finish and a terminal to restore, so only the calling
// goroutine ends here and the failure is left for the owner of the process.
func (l serverLog) Fatal(msg string, tags ...tag.Tag) {
	l.write(slog.LevelError, msg, tags)
	l.state.fail.set(&fatalError{msg: msg, cause: causeOf(tags)})
	runtime.Goexit()
}

func (l serverLog) With(tags ...tag.Tag) log.Logger {
	return serverLog{out: slog.New(l.out.Handler().WithAttrs(attrs(tags))), state: l.state}
}

func (l serverLog) write(level slog.Level, msg string, tags []tag.Tag) {
	switch phase(l.state.phase.Load()) {
	case phaseStopped:
		return
	case phaseStopping:
		level = slog.LevelDebug
	case phaseServing:
		if isNoise(msg, tags) {
			level = slog.LevelDebug
		}
	}
	ctx := context.Background()
	if !l.out.Enabled(ctx, level) {
		return
	}
	l.out.LogAttrs(ctx, level, "temporal: "+msg, attrs(tags)...)
}

// isNoise knows what the server warns of although it is as it should be here.
func isNoise(msg string, tags []tag.Tag) bool {
	// We open no port for HTTP.
	if strings.HasPrefix(msg, "HTTP API port has not been set") {
		return true
	}
	// A worker that stops polling, a client that hangs up.
	return strings.Contains(causeOf(tags), context.Canceled.Error())
}

func attrs(tags []tag.Tag) []slog.Attr {
	out := make([]slog.Attr, len(tags))
	for i, t := range tags {
		out[i] = slog.Any(t.Key(), t.Value())
	}
	return out
}

// fatalError is what the server called fatal.
type fatalError struct {
	msg   string
	cause string
}

func (e *fatalError) Error() string {
	if e.cause == "" {
		return "temporal server: " + e.msg
	}
	return fmt.Sprintf("temporal server: %s: %s", e.msg, e.cause)
}

func causeOf(tags []tag.Tag) string {
	for _, t := range tags {
		if strings.EqualFold(t.Key(), "error") {
			return fmt.Sprint(t.Value())
		}
	}
	return ""
}
