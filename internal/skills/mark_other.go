//go:build !linux

package skills

import (
	"io/fs"
	"os"
	"time"
)

// mark tells one state of a file from another, as far as that can be told anywhere.
type mark struct {
	size    int64
	mode    fs.FileMode
	modTime int64 // ns
}

// markOf looks at what a path leads to.
func markOf(path string) (mark, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return mark{}, false
	}
	return mark{size: info.Size(), mode: info.Mode(), modTime: info.ModTime().UnixNano()}, true
}

func (m mark) isDir() bool { return m.mode.IsDir() }

func (m mark) isFresh(now time.Time) bool { return m.modTime > now.Add(-settled).UnixNano() }
