package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"picobot/internal/text"
)

// littleDisk is what PicoBot should have left: the record, Temporal's files and the
// results of tools grow.
const littleDisk = 1 << 30

func (e *examination) disk(context.Context) {
	var fs unix.Statfs_t
	if err := unix.Statfs(existing(e.Home.Dir), &fs); err != nil {
		e.warn("disk", text.DoctorDiskUnknown{Dir: e.Home.Dir}, err.Error())
		return
	}
	free := uint64(fs.Bavail) * uint64(fs.Bsize) //nolint:unconvert // the types differ between systems
	if free < littleDisk {
		e.warn("disk", text.DoctorMakeRoom{}, e.say(text.DoctorDiskLittle{MB: int(free >> 20)}))
		return
	}
	e.ok("disk", e.say(text.DoctorDisk{GB: int(free >> 30)}))
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
		e.ok("workspace", e.say(text.DoctorWorkspaceLater{Dir: dir}))
		return
	}
	if err != nil {
		e.fail("workspace", text.DoctorWorkspaceWrong{}, err.Error())
		return
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	e.ok("workspace", dir)
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
