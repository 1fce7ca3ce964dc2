package skills

import (
	"time"

	"golang.org/x/sys/unix"
)

// mark tells one state of a file from another. It has the change time, which unlike
// the modification time nobody can set.
type mark struct {
	dev, ino   uint64
	size       int64
	mode       uint32
	mtim, ctim unix.Timespec
}

// markOf looks at what a path leads to.
func markOf(path string) (mark, bool) {
	var s unix.Stat_t
	for {
		err := unix.Stat(path, &s)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return mark{}, false
		}
		return mark{dev: uint64(s.Dev), ino: s.Ino, size: s.Size, mode: s.Mode, mtim: s.Mtim, ctim: s.Ctim}, true //nolint:unconvert // the width differs between architectures
	}
}

func (m mark) isDir() bool { return m.mode&unix.S_IFMT == unix.S_IFDIR }

func (m mark) isFresh(now time.Time) bool {
	border := now.Add(-settled)
	return time.Unix(m.mtim.Unix()).After(border) || time.Unix(m.ctim.Unix()).After(border)
}
