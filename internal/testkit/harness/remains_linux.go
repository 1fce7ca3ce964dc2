package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Descendants lists the processes that a process started, and those started by them.
func (p *Process) Descendants() []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // fails for bad patterns only
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if parent, alive := parentOf(pid); alive {
			children[parent] = append(children[parent], pid)
		}
	}
	out := children[p.PID()]
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i]]...)
	}
	return out
}

// Alive reports whether a process is there and not a mere entry that nobody reaped.
func Alive(pid int) bool {
	_, alive := parentOf(pid)
	return alive
}

func parentOf(pid int) (parent int, alive bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	// The name, in parentheses, may hold anything: state and parent come after the last one.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
		return 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, err == nil
}

// Remains lists processes that belong to this installation, except the given ones:
// those that work in its home, or whose command line or environment names its
// temporary directory. After a kill there must soon be none.
func (h *Harness) Remains(except ...int) []string {
	h.tb.Helper()
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		h.tb.Fatal(err)
	}
	known := map[int]bool{os.Getpid(): true}
	for _, pid := range except {
		known[pid] = true
	}
	var out []string
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || known[pid] {
			continue
		}
		dir := filepath.Join("/proc", d.Name())
		// Any of these may fail: the process is another user's, or gone by now.
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if strings.HasPrefix(cwd, h.root) || strings.Contains(string(cmdline), h.root) || strings.Contains(string(environ), h.root) {
			out = append(out, fmt.Sprintf("%d in %s: %s", pid, cwd, strings.ReplaceAll(string(cmdline), "\x00", " ")))
		}
	}
	return out
}
