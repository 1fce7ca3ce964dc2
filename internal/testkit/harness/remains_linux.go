package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

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
