package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	dirPerm     = 0o700
	asidePrefix = "set-aside-"
	asideKept   = 2
)

// files are the engine's files in one directory.
type files struct{ dir string }

func (f files) main() string       { return filepath.Join(f.dir, "temporal.db") }
func (f files) visibility() string { return filepath.Join(f.dir, "visibility.db") }
func (f files) meta() string       { return filepath.Join(f.dir, "engine.json") }
func (f files) lock() string       { return filepath.Join(f.dir, "engine.lock") }

func (f files) databases() []string { return []string{f.main(), f.visibility()} }

// set is every file that belongs together: databases, what SQLite keeps beside
// them, and our record of them.
func (f files) set() []string {
	all := []string{f.meta()}
	for _, db := range f.databases() {
		all = append(all, db, db+"-wal", db+"-shm", db+"-journal")
	}
	return all
}

// present returns those of the set that are there.
func (f files) present() ([]string, error) {
	var there []string
	for _, path := range f.set() {
		_, err := os.Lstat(path)
		switch {
		case err == nil:
			there = append(there, path)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("look at the engine's files: %w", err)
		}
	}
	return there, nil
}

// setAside moves the set into a directory of its own and removes the oldest of
// such directories. It returns "" when there was nothing to move.
func (f files) setAside(now time.Time) (string, error) {
	there, err := f.present()
	if err != nil || len(there) == 0 {
		return "", err
	}
	name := filepath.Join(f.dir, asidePrefix+now.UTC().Format("20060102T150405.000"))
	dir := name
	for n := 2; ; n++ {
		err := os.Mkdir(dir, dirPerm)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("set the engine's old files aside: %w", err)
		}
		dir = fmt.Sprintf("%s-%d", name, n)
	}
	for _, path := range there {
		if err := os.Rename(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			return "", fmt.Errorf("set the engine's old files aside: %w", err)
		}
	}
	return dir, f.prune()
}

// prune keeps the newest set-aside directories.
func (f files) prune() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("remove the engine's oldest files: %w", err)
	}
	var aside []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), asidePrefix) {
			aside = append(aside, e.Name())
		}
	}
	slices.Sort(aside)
	for len(aside) > asideKept {
		if err := os.RemoveAll(filepath.Join(f.dir, aside[0])); err != nil {
			return fmt.Errorf("remove the engine's oldest files: %w", err)
		}
		aside = aside[1:]
	}
	return nil
}
