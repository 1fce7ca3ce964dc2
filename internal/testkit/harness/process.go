package harness

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Result is how a command line ended.
type Result struct {
	Stdout, Stderr string
	Code           int
	Took           time.Duration
}

// Run runs a command line to its end, with an empty standard input.
func (h *Harness) Run(args ...string) Result {
	h.tb.Helper()
	return h.RunInput("", args...)
}

// RunInput is Run with a standard input.
func (h *Harness) RunInput(input string, args ...string) Result {
	h.tb.Helper()
	p := h.start(strings.NewReader(input), args)
	return p.Wait()
}

// Process is a command line that is running.
type Process struct {
	h      *Harness
	args   []string
	cmd    *exec.Cmd
	Stdout *Output
	Stderr *Output
	begun  time.Time
	ended  chan struct{}
	code   int
	took   time.Duration
}

// Start starts a command line. It is killed when the test ends, or when the test's
// process dies.
func (h *Harness) Start(args ...string) *Process {
	h.tb.Helper()
	return h.start(strings.NewReader(""), args)
}

// StartInput is Start with a standard input, which may be a pipe.
func (h *Harness) StartInput(input io.Reader, args ...string) *Process {
	h.tb.Helper()
	return h.start(input, args)
}

// StartInto is Start with a standard output of the test's own.
func (h *Harness) StartInto(output *os.File, args ...string) *Process {
	h.tb.Helper()
	return h.startWith(args, func(cmd *exec.Cmd) { cmd.Stdout = output })
}

func (h *Harness) start(input io.Reader, args []string) *Process {
	h.tb.Helper()
	return h.startWith(args, func(cmd *exec.Cmd) { cmd.Stdin = input })
}

// startWith starts a command line after change has seen it.
func (h *Harness) startWith(args []string, change func(*exec.Cmd)) *Process {
	h.tb.Helper()
	p := &Process{h: h, args: args, Stdout: &Output{}, Stderr: &Output{}, begun: time.Now(), ended: make(chan struct{})}
	p.cmd = exec.Command(h.bin, append([]string{"--home", h.Home, "--config", h.ConfigFile()}, args...)...)
	p.cmd.Dir = h.WorkDir()
	p.cmd.Stdout, p.cmd.Stderr = p.Stdout, p.Stderr
	p.cmd.WaitDelay = time.Second // what outlives the process may hold its output open
	for name, value := range h.Env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	dieWithParent(p.cmd)
	change(p.cmd)
	if err := p.cmd.Start(); err != nil {
		h.tb.Fatalf("start picobot %s: %v", strings.Join(args, " "), err)
	}
	go func() {
		defer close(p.ended)
		err := p.cmd.Wait()
		p.took = time.Since(p.begun)
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			p.code = exit.ExitCode()
		}
	}()
	h.tb.Cleanup(func() {
		p.Kill9()
		if h.tb.Failed() {
			h.tb.Logf("picobot %s\nstdout:\n%s\nstderr:\n%s", strings.Join(args, " "), p.Stdout, tail(p.Stderr.String()))
		}
	})
	return p
}

// tail cuts a long log down to its end.
func tail(s string) string {
	const most = 16 << 10
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}

// Wait waits for the end and returns how it ended.
func (p *Process) Wait() Result {
	p.h.tb.Helper()
	select {
	case <-p.ended:
	case <-time.After(Patience):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // says where it hangs
		time.Sleep(time.Second)
		p.h.tb.Fatalf("picobot %s did not end within %s", strings.Join(p.args, " "), Patience)
	}
	return Result{Stdout: p.Stdout.String(), Stderr: p.Stderr.String(), Code: p.code, Took: p.took}
}

// Running reports whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Killed reports whether a signal ended the process, rather than the process itself.
func (p *Process) Killed() bool { return !p.Running() && p.code < 0 }

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) {
	if p.Running() {
		_ = p.cmd.Process.Signal(s)
	}
}

// Stop asks the process to stop and waits until it has.
func (p *Process) Stop() Result {
	p.h.tb.Helper()
	p.begun = time.Now()
	p.Signal(syscall.SIGTERM)
	r := p.Wait()
	r.Took = time.Since(p.begun)
	return r
}

// Kill9 kills the process and waits until it is gone.
func (p *Process) Kill9() {
	p.Signal(syscall.SIGKILL)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	select {
	case <-p.ended:
	case <-ctx.Done():
	}
}

// Output is what a process has written so far.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String returns all of it.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Lines returns its whole lines.
func (o *Output) Lines() []string {
	text := o.String()
	i := strings.LastIndexByte(text, '\n')
	if i < 0 {
		return nil
	}
	return strings.Split(text[:i], "\n")
}
