package proc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// order is what the supervisor is told through the control pipe.
type order struct {
	Args []string `json:"args"`
	Dir  string   `json:"dir"`
	Env  []string `json:"env"`
	// Confine is nil for a command that is not confined.
	Confine *Confinement `json:"confine,omitempty"`
}

// report is what the supervisor says before it exits.
type report struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
	Error  string `json:"error,omitempty"` // the command could not be started
}

// supervisor is the parent's view of it.
type supervisor struct {
	cmd     *exec.Cmd
	mark    string
	control *os.File // closing it stops the command
	reports *os.File
}

func run(ctx context.Context, c Command) (Exit, error) {
	s, err := startSupervisor(c)
	if err != nil {
		return Exit{}, err
	}
	defer func() { _ = s.reports.Close() }()
	ended := make(chan struct{})
	go func() {
		_ = s.cmd.Wait() // what it has to say is in its report
		close(ended)
	}()
	if err := s.send(order{Args: c.Args, Dir: c.Dir, Env: append(c.Env[:len(c.Env):len(c.Env)], MarkName+"="+c.Mark), Confine: c.Confine}); err != nil {
		_ = s.control.Close()
		s.waitStopped(ended)
		return Exit{}, errors.Join(err, s.explainSilence())
	}
	select {
	case <-ended:
		_ = s.control.Close()
		return s.outcome()
	case <-ctx.Done():
		_ = s.control.Close()
		s.waitStopped(ended)
		return Exit{Code: -1}, context.Cause(ctx)
	}
}

func startSupervisor(c Command) (*supervisor, error) {
	if IsChild() {
		// This is the supervisor that nobody handed over to: starting another one
		// would go on for ever.
		return nil, ErrNotHandedOver
	}
	controlRead, controlWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = controlRead.Close() }()
	reportRead, reportWrite, err := os.Pipe()
	if err != nil {
		_ = controlWrite.Close()
		return nil, err
	}
	defer func() { _ = reportWrite.Close() }()
	cmd := &exec.Cmd{
		Path:       "/proc/self/exe", // also when the file was replaced by a newer one
		Args:       []string{childName},
		Env:        []string{MarkName + "=" + c.Mark},
		Dir:        "/",
		Stdout:     c.Output,
		Stderr:     c.Output, // the same value: exec uses one pipe for both
		ExtraFiles: []*os.File{controlRead, reportWrite},
		WaitDelay:  outputGrace,
		SysProcAttr: &syscall.SysProcAttr{
			Setsid: true,
			// Belt: the control pipe tells the same. See supervise.
			Pdeathsig: syscall.SIGTERM,
		},
	}
	if err := cmd.Start(); err != nil {
		_ = controlWrite.Close()
		_ = reportRead.Close()
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	return &supervisor{cmd: cmd, mark: c.Mark, control: controlWrite, reports: reportRead}, nil
}

// send writes the order; the pipe stays open, since its end means stop.
func (s *supervisor) send(o order) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if err := json.NewEncoder(s.control).Encode(o); err != nil {
		return fmt.Errorf("instruct supervisor: %w", err)
	}
	return nil
}

// waitStopped waits for a supervisor that was told to stop, and does its work
// when it does not.
func (s *supervisor) waitStopped(ended <-chan struct{}) {
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-ended:
		if !s.reported() {
			_ = KillMarked(context.Background(), s.mark)
		}
	case <-timer.C:
		_ = KillMarked(context.Background(), s.mark)
		_ = s.cmd.Process.Kill()
		<-ended
	}
}

// outcome reads the report of a supervisor that ended by itself.
func (s *supervisor) outcome() (Exit, error) {
	r, err := s.report()
	if err != nil {
		// Somebody killed it, most likely the command: its orphans are ours now.
		return Exit{}, errors.Join(s.explainSilence(), KillMarked(context.Background(), s.mark))
	}
	if r.Error != "" {
		return Exit{}, errors.New(r.Error)
	}
	return Exit{Code: r.Code, Signal: r.Signal}, nil
}

func (s *supervisor) reported() bool {
	_, err := s.report()
	return err == nil
}

// report is read after the supervisor's end, so it is complete or missing.
func (s *supervisor) report() (report, error) {
	var r report
	if err := s.reports.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return r, err
	}
	err := json.NewDecoder(io.LimitReader(s.reports, 64<<10)).Decode(&r)
	return r, err
}

func (s *supervisor) explainSilence() error {
	state := s.cmd.ProcessState
	if state != nil && state.Exited() {
		return fmt.Errorf("the supervisor ended without a report (%s): %w", state, ErrNotHandedOver)
	}
	return fmt.Errorf("the supervisor was killed (%s)", state)
}
