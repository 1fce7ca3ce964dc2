package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// confinedName is argv[0] of the process that confines itself and then becomes the
// command. It is not the supervisor itself: what a command shares its confinement
// with it can stop and look into, and the supervisor is what ends the command.
const confinedName = "picobot-confine"

const (
	orderFD   = 3
	failureFD = 4
)

// startConfined starts the command by way of a process that confines itself.
func startConfined(o order, null *os.File) (int, error) {
	orderRead, orderWrite, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = orderWrite.Close() }()
	failureRead, failureWrite, err := os.Pipe()
	if err != nil {
		_ = orderRead.Close()
		return 0, err
	}
	defer func() { _ = failureRead.Close() }()
	pid, err := syscall.ForkExec("/proc/self/exe", []string{confinedName}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   markOf(o.Env),
		Files: []uintptr{null.Fd(), 1, 2, orderRead.Fd(), failureWrite.Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	_, _ = orderRead.Close(), failureWrite.Close()
	if err != nil {
		return 0, fmt.Errorf("start confined: %w", err)
	}
	err = json.NewEncoder(orderWrite).Encode(o)
	_ = orderWrite.Close()
	// It ends when the command takes the process over.
	failure, readErr := io.ReadAll(io.LimitReader(failureRead, 4096))
	if err = errors.Join(err, readErr); err == nil && len(failure) > 0 {
		err = errors.New(string(failure))
	}
	if err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		return 0, err
	}
	return pid, nil
}

// markOf is the part of an environment by which KillMarked finds a process.
func markOf(env []string) []string {
	for _, variable := range env {
		if len(variable) > len(MarkName) && variable[:len(MarkName)+1] == MarkName+"=" {
			return []string{variable}
		}
	}
	return nil
}

// becomeCommand confines this thread and becomes the command. It returns only to
// say why it could not.
func becomeCommand() {
	unix.CloseOnExec(orderFD)
	unix.CloseOnExec(failureFD)
	if err := confineAndExec(os.NewFile(orderFD, "order")); err != nil {
		_, _ = io.WriteString(os.NewFile(failureFD, "failure"), err.Error())
	}
}

func confineAndExec(orders *os.File) error {
	var o order
	if err := json.NewDecoder(orders).Decode(&o); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	if o.Confine == nil {
		return errors.New("confine the command: no rules were given")
	}
	if err := o.Confine.enforce(); err != nil {
		return fmt.Errorf("confine the command: %w", err)
	}
	if err := os.Chdir(o.Dir); err != nil {
		return err
	}
	if err := syscall.Exec(o.Args[0], o.Args, o.Env); err != nil {
		return fmt.Errorf("start %s: %w", o.Args[0], err)
	}
	return nil
}

// enforce confines the calling thread as far as the kernel can. How far that is
// ConfinementSupport says, and whether it is enough is the caller's to decide.
func (c Confinement) enforce() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	abi := ConfinementSupport().ABI
	if abi < 1 {
		return nil
	}
	if err := c.Check(); err != nil {
		return err
	}
	r, err := newRuleset(abi)
	if err != nil {
		return err
	}
	defer r.close()
	if err := c.rules(r); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return r.enforce()
}
