package harness

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
)

// Terminal is a command line that runs on a terminal, with a person at it. The
// terminal never answers what it is asked.
type Terminal struct {
	*Process
	keys   *os.File
	Output *Output // all that was written, terminal codes included

	mu     sync.Mutex
	screen *vt.Emulator
}

// Columns and rows of a Terminal at first.
const (
	Columns = 120
	Rows    = 40
)

// StartTerminal starts a command line on a terminal of its own, an xterm unless Env
// has another TERM.
func (h *Harness) StartTerminal(args ...string) *Terminal {
	h.tb.Helper()
	master, slave, err := openTerminal()
	if err != nil {
		h.tb.Fatalf("open a terminal: %v", err)
	}
	defer slave.Close()
	t := &Terminal{keys: master, Output: &Output{}, screen: vt.NewEmulator(Columns, Rows)}
	t.Process = h.startWith(args, func(cmd *exec.Cmd) {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		if h.Env["TERM"] == "" {
			cmd.Env = append(cmd.Env, "TERM=xterm")
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true, Setctty: true}
	})
	go func() { _, _ = io.Copy(io.Discard, t.screen) }() // its answers
	go t.show()
	h.tb.Cleanup(func() {
		_ = master.Close()
		_ = t.screen.Close()
		if h.tb.Failed() {
			h.tb.Logf("screen:\n%s\nall that was written:\n%q", strings.Join(t.Lines(), "\n"), t.Output.String())
		}
	})
	return t
}

// show takes what is written until the last process has left the terminal.
func (t *Terminal) show() {
	buf := make([]byte, 4096)
	for {
		n, err := t.keys.Read(buf)
		_, _ = t.Output.Write(buf[:n])
		t.mu.Lock()
		_, _ = t.screen.Write(buf[:n])
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Lines are what a person can see and scroll up to, oldest first.
func (t *Terminal) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for y := range t.screen.ScrollbackLen() {
		var l strings.Builder
		for x := range t.screen.Width() {
			if c := t.screen.ScrollbackCellAt(x, y); c != nil {
				l.WriteString(c.Content)
			}
		}
		out = append(out, strings.TrimRight(l.String(), " "))
	}
	for _, l := range strings.Split(t.screen.String(), "\n") {
		out = append(out, strings.TrimRight(l, " "))
	}
	return out
}

// Count is in how many lines a text is.
func (t *Terminal) Count(text string) int {
	n := 0
	for _, l := range t.Lines() {
		if strings.Contains(l, text) {
			n++
		}
	}
	return n
}

// Resize gives the terminal another size.
func (t *Terminal) Resize(columns, rows uint16) {
	t.h.tb.Helper()
	t.mu.Lock()
	t.screen.Resize(int(columns), int(rows))
	t.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(t.keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		t.h.tb.Fatalf("resize the terminal: %v", err)
	}
}

// Type presses keys.
func (t *Terminal) Type(keys string) {
	t.h.tb.Helper()
	if _, err := t.keys.WriteString(keys); err != nil {
		t.h.tb.Fatalf("type %q: %v", keys, err)
	}
}

// Shows waits until text is in n lines.
func (t *Terminal) Shows(text string, n int) {
	t.h.tb.Helper()
	t.h.Eventually(fmt.Sprintf("the terminal shows %q in %d lines", text, n), func() bool { return t.Count(text) >= n })
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
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: Rows, Col: Columns}); err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, slave, nil
}
