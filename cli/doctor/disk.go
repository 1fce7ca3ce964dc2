package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// littleDisk is what PicoBot should have left: the record, Temporal's files and the
// results of tools grow.
const littleDisk = 1 << 30

func (e *examination) disk(context.Context) {
	var fs unix.Statfs_t
	if err := unix.Statfs(existing(e.Home.Dir), &fs); err != nil {
		e.warn("disk", "look at the disk that "+e.Home.Dir+" is on", "%v", err)
		return
	}
	free := uint64(fs.Bavail) * uint64(fs.Bsize) //nolint:unconvert // the types differ between systems
	if free < littleDisk {
		e.warn("disk", "make room: a full disk stops PicoBot", "%d MB are free", free>>20)
		return
	}
	e.ok("disk", "%d GB are free", free>>30)
}

func (e *examination) workspaceDir() string {
	if e.Config.Workspace != "" {
		return e.Config.Workspace
	}
	return e.Home.WorkspaceDir()
}

// workspace checks that tools can work where they are to work.
func (e *examination) workspace(context.Context) {
	dir := e.workspaceDir()
	f, err := os.CreateTemp(dir, ".picobot-doctor-*")
	if errors.Is(err, os.ErrNotExist) && unix.Access(existing(dir), unix.W_OK) == nil {
		e.ok("workspace", "%s, made at the first start", dir)
		return
	}
	if err != nil {
		e.fail("workspace", "make the directory writable, or set workspace to another one", "%v", err)
		return
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	e.ok("workspace", "%s", dir)
}

// existing returns the directory, or the nearest one above it that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
