package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is a command line that runs on a terminal, with a person at it.
type Terminal struct {
	*Process
	keys   *os.File
	Screen *Output // all that was shown, terminal codes included
}

// StartTerminal starts a command line on a terminal of its own.
func (h *Harness) StartTerminal(args ...string) *Terminal {
	h.tb.Helper()
	master, slave, err := openTerminal()
	if err != nil {
		h.tb.Fatalf("open a terminal: %v", err)
	}
	defer slave.Close()
	t := &Terminal{keys: master, Screen: &Output{}}
	t.Process = h.startWith(args, func(cmd *exec.Cmd) {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.Env = append(cmd.Env, "TERM=xterm")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true, Setctty: true}
	})
	go t.show()
	h.tb.Cleanup(func() {
		_ = master.Close()
		if h.tb.Failed() {
			h.tb.Logf("screen:\n%q", t.Screen.String())
		}
	})
	return t
}

// show takes what is written until the last process has left the terminal, and
// answers the one question that programs ask: where is the cursor?
func (t *Terminal) show() {
	buf := make([]byte, 4096)
	for {
		n, err := t.keys.Read(buf)
		_, _ = t.Screen.Write(buf[:n])
		if strings.Contains(string(buf[:n]), "\x1b[6n") {
			_, _ = t.keys.WriteString("\x1b[1;1R")
		}
		if err != nil {
			return
		}
	}
}

// Type presses keys.
func (t *Terminal) Type(keys string) {
	t.h.tb.Helper()
	if _, err := t.keys.WriteString(keys); err != nil {
		t.h.tb.Fatalf("type %q: %v", keys, err)
	}
}

// Shows waits until text has been shown n times.
func (t *Terminal) Shows(text string, n int) {
	t.h.tb.Helper()
	t.h.Eventually(fmt.Sprintf("the terminal shows %q %d times", text, n), func() bool {
		return strings.Count(t.Screen.String(), text) >= n
	})
	time.Sleep(50 * time.Millisecond) // a prompt that is redrawn swallows keys
}

func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, slave, nil
}
