package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"picobot/cli/app"
	testkit "picobot/internal/testkit/harness"
)

// harness runs command lines in a world of its own: a temporary home, no
// environment, and a runtime that does what the test says.
type harness struct {
	t       *testing.T
	home    string
	workDir string
	env     map[string]string
	stdin   string
	stdout  io.Writer // nil = it is in the result
	screen  bool      // a person sees it
	signals chan os.Signal
	exited  chan int // codes of System.Exit
	runtime *fakeRuntime
}

func newHarness(t *testing.T) *harness {
	return &harness{
		t: t, home: filepath.Join(t.TempDir(), "home"), workDir: t.TempDir(), env: map[string]string{},
		signals: make(chan os.Signal, 4), exited: make(chan int, 4), runtime: &fakeRuntime{},
	}
}

type result struct {
	code           int
	stdout, stderr string
}

func (h *harness) run(args ...string) result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 30*time.Second)
	defer cancel()
	var out, errs testkit.Output
	stdout := h.stdout
	if stdout == nil {
		stdout = &out
	}
	code := Main(ctx, System{
		Args:    append([]string{"--home", h.home}, args...),
		Stdin:   strings.NewReader(h.stdin),
		Stdout:  stdout,
		Screen:  h.screen,
		Stderr:  &errs,
		Env:     func(name string) (string, bool) { v, ok := h.env[name]; return v, ok },
		WorkDir: h.workDir,
		Now:     time.Now,
		Signals: h.signals,
		Exit:    func(code int) { h.exited <- code },
		Build:   Build{Version: "v1.2.3", Commit: "abc", Go: "go1", TemporalServer: "v4", TemporalSDK: "v5"},
		Runtime: h.runtime,
	})
	return result{code: code, stdout: out.String(), stderr: errs.String()}
}

func (h *harness) config(text string) {
	h.t.Helper()
	if err := os.MkdirAll(h.home, 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.home, "config.json"), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// fakeRuntime stands for everything that stays up.
type fakeRuntime struct {
	mu      sync.Mutex
	calls   []string
	options app.Options
	serve   func(ctx context.Context, o app.Options, ready func(app.Addresses)) error
}

func (f *fakeRuntime) ran(what string, ctx context.Context, o app.Options, ready func(app.Addresses)) error {
	f.mu.Lock()
	f.calls = append(f.calls, what)
	f.options = o
	f.mu.Unlock()
	if f.serve != nil {
		return f.serve(ctx, o, ready)
	}
	ready(app.Addresses{Gateway: "http://g", Temporal: "t:1", UI: "http://u"})
	return nil
}

func (f *fakeRuntime) Gateway(ctx context.Context, o app.Options, ready func(app.Addresses)) error {
	return f.ran("gateway", ctx, o, ready)
}

func (f *fakeRuntime) Worker(ctx context.Context, o app.Options, ready func(app.Addresses)) error {
	return f.ran("worker", ctx, o, ready)
}

func (f *fakeRuntime) Temporal(ctx context.Context, o app.Options, ready func(app.Addresses)) error {
	return f.ran("temporal", ctx, o, ready)
}

func failing(context.Context, app.Options, func(app.Addresses)) error {
	return errors.New("the port is taken")
}

// interrupt stands for Ctrl-C.
const interrupt = syscall.SIGINT
