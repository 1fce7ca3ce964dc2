package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"picobot/internal/home"
	"picobot/store"
)

// Restore says what is restored where.
type Restore struct {
	Home home.Home
	File string
	// Replace a home in which there is something already: it is kept beside the new one.
	Replace bool
	Now     time.Time
}

// Restored is what became of it.
type Restored struct {
	Home      string `json:"home"`
	CreatedAt int64  `json:"created_at"` // ms, of the backup
	Version   string `json:"version"`    // of the PicoBot that made it
	Files     int64  `json:"files"`
	Sessions  int64  `json:"sessions"`
	Messages  int64  `json:"messages"`
	Waiting   int64  `json:"waiting"`        // messages that the next start will answer
	Workspace bool   `json:"workspace"`      // whether the backup had one
	Kept      string `json:"kept,omitempty"` // where the home that was there before is now
}

// Run makes a home of a backup. The home changes in one step at the end, or not at
// all. Fails with *home.HeldError when a gateway has it.
func (r Restore) Run(ctx context.Context) (out Restored, err error) {
	archive, err := os.Open(r.File)
	if err != nil {
		return out, fmt.Errorf("restore: %w", err)
	}
	defer func() { _ = archive.Close() }()
	dir := r.Home.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // a link to a home stays one
	}
	lock, err := r.seize()
	if err != nil {
		return out, err
	}
	if lock != nil {
		defer func() { err = errors.Join(err, lock.Unlock()) }()
	}
	empty, err := unused(dir)
	if err != nil {
		return out, fmt.Errorf("restore: %w", err)
	}
	if !empty && !r.Replace {
		return out, fmt.Errorf("there is a home in %s already: name another one with --home, or replace it with --force (it is kept beside the new one)", r.Home.Dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return out, fmt.Errorf("restore: %w", err)
	}
	// Beside the home, so that one rename makes it the home.
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".picobot-restore-*")
	if err != nil {
		return out, fmt.Errorf("restore: the directory above the home must be writable: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()

	m, err := unpack(ctx, archive, fresh)
	if err != nil {
		return out, fmt.Errorf("%s cannot be restored: %w", r.File, err)
	}
	report, err := store.Inspect(ctx, filepath.Join(fresh, filepath.FromSlash(recordName)))
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("it holds no record")
	}
	if err == nil && report.Damage != "" {
		err = fmt.Errorf("its record is damaged: %s", report.Damage)
	}
	if err != nil {
		return out, fmt.Errorf("%s cannot be restored: %w", r.File, err)
	}
	for _, beside := range []string{"-wal", "-shm"} { // left by the look; they hold nothing
		if err := os.Remove(filepath.Join(fresh, filepath.FromSlash(recordName)) + beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return out, fmt.Errorf("restore: %w", err)
		}
	}
	if _, err := home.Open(fresh); err != nil { // the directories that nothing was in
		return out, err
	}
	out = Restored{
		Home: r.Home.Dir, CreatedAt: m.CreatedAt, Version: m.Version, Files: m.Files, Workspace: m.Workspace,
		Sessions: report.Sessions, Messages: report.Messages, Waiting: report.Waiting,
	}
	if !empty {
		out.Kept = unusedName(dir + ".before-restore-" + r.Now.Format("20060102-150405"))
	}
	if lock == nil { // there was no home, so nothing may be replaced
		if err := os.Rename(fresh, dir); err != nil {
			return out, fmt.Errorf("restore: %w", err)
		}
		return out, syncDir(filepath.Dir(dir))
	}
	return out, swap(fresh, dir, out.Kept)
}

// unusedName is path, or with a number behind it where something has that name already.
func unusedName(path string) string {
	name := path
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s-%d", path, n)
	}
}

// seize takes the home, if there is one: nothing may run in it.
func (r Restore) seize() (*home.Lock, error) {
	if _, err := os.Stat(r.Home.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r.Home.Lock(home.Owner{Command: "restore", StartedAt: r.Now.UnixMilli()})
}

// unused reports whether nothing is in a home but directories and locks: what a start
// makes that came to nothing.
func unused(dir string) (bool, error) {
	empty := true
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() || strings.HasSuffix(path, ".lock"):
			return nil
		}
		empty = false
		return fs.SkipAll
	})
	return empty, err
}

// swap makes fresh the directory at dir. What is there goes to kept, or away if that
// is "".
func swap(fresh, dir, kept string) error {
	err := exchange(fresh, dir)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		err = twoSteps(fresh, dir) // the file system cannot do it in one
	}
	if err != nil {
		return fmt.Errorf("restore: the home cannot be replaced (is it where a disk is mounted? then restore to a directory in it): %w", err)
	}
	if kept == "" {
		err = os.RemoveAll(fresh)
	} else {
		err = os.Rename(fresh, kept)
	}
	if err != nil {
		return fmt.Errorf("the home is restored, but what was there before could not be put away: %w", err)
	}
	return syncDir(filepath.Dir(dir))
}

// twoSteps is exchange where there is no such thing. A crash between the steps leaves
// both directories: b under the name of a, with ".old" behind it.
func twoSteps(a, b string) error {
	if err := os.Rename(b, a+".old"); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(a+".old", b))
	}
	return os.Rename(a+".old", a)
}
