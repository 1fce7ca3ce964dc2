package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// childName is the supervisor's argv[0], by which it is recognised.
const childName = "picobot-exec"

const (
	controlFD = 3
	reportFD  = 4
)

// crowd is how many processes a command may have and still get stopGrace.
const crowd = 100

// IsChild reports whether this process was started as a supervisor, or to become
// a confined command.
func IsChild() bool {
	return len(os.Args) == 1 && (os.Args[0] == childName || os.Args[0] == confinedName)
}

// Main makes this process a supervisor, or a confined command, if it was started as
// one, and then never returns. It must come first in main and in TestMain: before flags, logs,
// configuration.
func Main() {
	if !IsChild() {
		return
	}
	// The death signal of a child goes with the thread that started it, so the
	// command must be started from one that lives as long as this process.
	runtime.LockOSThread()
	if os.Args[0] == confinedName {
		becomeCommand()
	} else {
		supervise()
	}
	// Not os.Exit: under the race detector it takes a second.
	syscall.Exit(0)
}

func supervise() {
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(reportFD)
	closeInherited()
	reports := os.NewFile(reportFD, "report")
	r, err := superviseOne(os.NewFile(controlFD, "control"))
	if err != nil {
		r.Error = err.Error()
	}
	// Nobody may be there to read it.
	_ = json.NewEncoder(reports).Encode(r)
}

func superviseOne(control *os.File) (report, error) {
	parent := os.Getppid()
	signals := make(chan os.Signal, 4)
	// Caught and not ignored: the command would inherit ignored signals.
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)

	decoder := json.NewDecoder(control)
	var o order
	if err := decoder.Decode(&o); err != nil {
		return report{}, fmt.Errorf("read order: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return report{}, fmt.Errorf("become subreaper: %w", err)
	}
	stop := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, control) // ends with the parent, or when it wants so
		close(stop)
	}()
	if err := restrain(); err != nil {
		return report{}, fmt.Errorf("restrain the command: %w", err)
	}
	pid, err := start(o)
	if err != nil {
		return report{}, err
	}
	f := family{shell: pid, exited: make(chan syscall.WaitStatus, 1), empty: make(chan struct{})}
	go f.reap()
	for {
		select {
		case status := <-f.exited:
			f.end()
			return describe(status), nil
		case <-stop:
			f.end()
			return report{Code: -1}, nil
		case <-signals:
			// The parent's death sends one; so may anybody, and then it is the
			// parent's to decide what happens.
			if os.Getppid() != parent {
				f.end()
				return report{Code: -1}, nil
			}
		}
	}
}

// restrain takes from this thread, and so from the command that is started from it
// and all that comes after, what no command shall have.
func restrain() error {
	// Set-uid programs could not be killed by us, and would escape every rule.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

// start starts the command in a process group of its own. It does not use
// os/exec, which would wait for the command itself, while reap waits for all.
func start(o order) (int, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer func() { _ = null.Close() }()
	if o.Confine != nil {
		return startConfined(o, null)
	}
	pid, err := syscall.ForkExec(o.Args[0], o.Args, &syscall.ProcAttr{
		Dir:   o.Dir,
		Env:   o.Env,
		Files: []uintptr{null.Fd(), 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", o.Args[0], err)
	}
	return pid, nil
}

// family is the command and everything that descends from it.
type family struct {
	shell  int
	exited chan syscall.WaitStatus // how the shell ended
	empty  chan struct{}           // closed when nobody is left
}

// reap waits for every child: the shell, and the orphans that became children.
// No child left means no descendant left, since orphans come here.
func (f family) reap() {
	defer close(f.empty)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return
		}
		if pid == f.shell {
			f.exited <- status
		}
	}
}

// end asks everybody to stop, then kills until nobody is left.
func (f family) end() {
	members := descendants(os.Getpid())
	// So many are not given time: they may be multiplying.
	if len(members) < crowd {
		signalAll(members, syscall.SIGTERM)
		signalAll(members, syscall.SIGCONT) // the stopped ones hear it only then
		grace := time.NewTimer(stopGrace)
		defer grace.Stop()
		select {
		case <-f.empty:
			return
		case <-grace.C:
		}
	}
	for {
		signalAll(f.freeze(), syscall.SIGKILL)
		select {
		case <-f.empty:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// freeze stops everybody until a look finds nobody new: frozen, they cannot make
// children faster than they are killed.
func (f family) freeze() []process {
	frozen := map[process]bool{}
	for {
		members := descendants(os.Getpid())
		fresh := members[:0:0]
		for _, p := range members {
			if !frozen[p] {
				frozen[p] = true
				fresh = append(fresh, p)
			}
		}
		if len(fresh) == 0 {
			return members
		}
		signalAll(fresh, syscall.SIGSTOP)
	}
}

func describe(status syscall.WaitStatus) report {
	if status.Signaled() {
		return report{Code: -1, Signal: status.Signal().String()}
	}
	return report{Code: status.ExitStatus()}
}

// closeInherited closes what the parent itself inherited without knowing: files
// that close on exec are Go's own, everything else above ours is a leak, perhaps
// a lock that would outlive its owner.
func closeInherited() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= reportFD {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}
