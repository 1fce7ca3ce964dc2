package load

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const mib = 1 << 20

// ceiling is what the gateway may take whatever is done to it, the embedded Temporal
// included. It is generous: what it must catch is growth without end.
const ceiling = 500 * mib

// memory returns what the gateway's process holds in memory now and what it held at
// most, in bytes; 0 where there is no /proc.
func (r *rig) memory() (now, most int64) {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(r.g.PID()), "status"))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			now = kib << 10
		case "VmHWM:":
			most = kib << 10
		}
	}
	return now, most
}

// report tells what the gateway takes, and fails the test when it is too much.
func (r *rig) report(when string) {
	r.Helper()
	now, most := r.memory()
	r.Logf("memory %s: %d MiB, at most %d MiB", when, now/mib, most/mib)
	if most > ceiling {
		r.Errorf("memory %s: %d MiB at most, the ceiling is %d MiB", when, most/mib, ceiling/mib)
	}
	if b, ok := r.TB.(*testing.B); ok {
		b.ReportMetric(float64(most)/mib, "rss-max-MiB")
	}
}

// open counts what the gateway's process has open, sockets included; -1 where there
// is no /proc.
func (r *rig) open() int {
	files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(r.g.PID()), "fd"))
	if err != nil {
		return -1
	}
	return len(files)
}
