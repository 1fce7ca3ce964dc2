package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxSiblings bounds how many neighbours of something hidden are made readable.
const maxSiblings = 10_000

// rules writes a confinement as rules. Landlock only knows what is allowed, and what
// is allowed on a directory is allowed on all below it: so whatever lies on the way
// to something hidden is opened entry by entry, leaving that out. Entries that come
// later, and lists of those directories, are not readable then.
func (c Confinement) rules(r ruleset) error {
	hidden := make([]string, len(c.Hide))
	for i, path := range c.Hide {
		hidden[i] = resolve(path)
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /: %w", err)
	}
	defer func() { _ = unix.Close(root) }()
	// Devices are opened one by one below: a disk has all files on it.
	if err := readAround(r, root, "/", append(hidden, "/dev")); err != nil {
		return err
	}
	if err := devices(r); err != nil {
		return err
	}
	for _, path := range c.Read {
		if err := allowPath(r, path, accessRead); err != nil {
			return err
		}
	}
	for _, path := range c.Write {
		if err := allowPath(r, path, accessWrite); err != nil {
			return err
		}
	}
	for _, path := range c.Scratch {
		if filepath.IsAbs(path) && resolve(path) != "/" && !c.Holds(path) {
			if err := allowPath(r, path, accessWrite); err != nil {
				return err
			}
		}
	}
	return nil
}

// readAround makes all in dir readable but what is hidden. fd is dir; entries are
// opened relative to it and links not followed, since commands can change names.
func readAround(r ruleset, fd int, dir string, hidden []string) error {
	ways := map[string][]string{} // entries that hold, or are, something hidden
	for _, path := range hidden {
		if path == dir {
			return nil
		}
		if within(dir, path) {
			name := next(dir, path)
			ways[name] = append(ways[name], path)
		}
	}
	if len(ways) == 0 {
		return r.allow(fd, accessRead)
	}
	for _, name := range list(fd) {
		entry, err := unix.Openat(fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // gone, or not ours to see
		}
		err = readAround(r, entry, filepath.Join(dir, name), ways[name])
		_ = unix.Close(entry)
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns the names in a directory; none where it cannot be listed.
func list(fd int) []string {
	open, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(open), "directory")
	defer func() { _ = f.Close() }()
	names, _ := f.Readdirnames(maxSiblings)
	return names
}

// devices are those that hold nothing and lead nowhere. Not among them: disks,
// memory, and terminals, where the user may be typing.
func devices(r ruleset) error {
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if err := allowPath(r, "/dev/"+name, accessDevice); err != nil {
			return err
		}
	}
	return nil
}

// allowPath gives rights on what a path leads to now; nothing where there is none.
func allowPath(r ruleset, path string, rights uint64) error {
	fd, err := unix.Open(resolve(path), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open what may be used: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	return r.allow(fd, rights)
}
