package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running process; started tells it from a later one of the same id.
type process struct {
	pid     int
	parent  int
	started string
}

func processes() []process {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	all := make([]process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil {
			continue
		}
		if p, ok := look(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

// look reads /proc/PID/stat: "pid (name) state parent …", where the name may
// hold anything, and the 22nd field is the time of start.
func look(pid int) (process, bool) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return process{}, false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return process{}, false
	}
	return process{pid: pid, parent: parent, started: fields[19]}, true
}

// descendants returns everything below ancestor.
func descendants(ancestor int) []process {
	children := map[int][]process{}
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []process
	for queue := []int{ancestor}; len(queue) > 0; queue = queue[1:] {
		found = append(found, children[queue[0]]...)
		for _, p := range children[queue[0]] {
			queue = append(queue, p.pid)
		}
	}
	return found
}

func signalAll(ps []process, s syscall.Signal) {
	for _, p := range ps {
		// FindProcess holds the process (by pidfd) before we look again, so that
		// the signal cannot reach a stranger that got the id meanwhile.
		h, err := os.FindProcess(p.pid)
		if err != nil {
			continue
		}
		if now, ok := look(p.pid); ok && now.started == p.started {
			_ = h.Signal(s)
		}
		_ = h.Release()
	}
}

// KillMarked kills every process that carries the mark of a command, supervisor
// included, and returns when none is left or ctx has ended. It is for what an
// earlier process of ours left behind, which normally is nothing.
func KillMarked(ctx context.Context, mark string) error {
	if mark == "" {
		return errors.New("kill marked: the mark is empty")
	}
	entry := []byte(MarkName + "=" + mark)
	self := os.Getpid()
	for range 400 {
		var found []process
		for _, p := range processes() {
			if p.pid != self && carries(p.pid, entry) {
				found = append(found, p)
			}
		}
		if len(found) == 0 {
			return nil
		}
		signalAll(found, syscall.SIGSTOP)
		signalAll(found, syscall.SIGKILL)
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill marked: %w", context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
	return errors.New("kill marked: processes remain that cannot be killed")
}

// carries reads a process's environment, which is empty once it is dead.
func carries(pid int, entry []byte) bool {
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return false
	}
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(variable, entry) {
			return true
		}
	}
	return false
}
