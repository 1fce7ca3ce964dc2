package activities

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// doomed begins the name that a file has while it is looked at for the last time.
const doomed = ".doomed-"

// unfinished begins the name of a file that is still being written.
const unfinished = ".new-"

// eraseFiles erases attachments that nothing in the record names and that nobody has
// put there, or again, since the given moment. Who keeps an attachment makes its file
// young before the row that names it is written.
func (c *cleaning) eraseFiles(before time.Time) error {
	dir := c.Cleanup.MediaDir
	if err := c.unfinishedErasures(); err != nil {
		return err
	}
	var old []string
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for attachments: %w", err)
	}
	for _, e := range entries {
		if youngerThan(filepath.Join(dir, e.Name()), before) {
			continue
		}
		if !strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), unfinished) {
			old = append(old, e.Name())
		}
	}
	if len(old) == 0 {
		return nil
	}
	named, err := c.Record.MediaPaths(c.ctx)
	if err != nil {
		return err
	}
	for _, name := range old {
		if named[name] {
			continue
		}
		if err := c.goOn(); err != nil {
			return err
		}
		if err := c.eraseFile(dir, name, before); err != nil {
			return err
		}
	}
	return nil
}

// eraseFile erases a file unless it has become young: whoever keeps the same contents
// meanwhile either has made it young before it got its other name, or does not find it
// and writes it anew.
func (c *cleaning) eraseFile(dir, name string, before time.Time) error {
	path, aside := filepath.Join(dir, name), filepath.Join(dir, doomed+name)
	err := os.Rename(path, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && youngerThan(aside, before) {
		return restore(aside, path)
	}
	if err == nil {
		err = os.Remove(aside)
	}
	if err != nil {
		return fmt.Errorf("erase an attachment: %w", err)
	}
	c.files++
	return nil
}

// unfinishedErasures puts back what a process that was killed had taken aside: it is
// looked at again like any other.
func (c *cleaning) unfinishedErasures() error {
	left, err := filepath.Glob(filepath.Join(c.Cleanup.MediaDir, doomed+"*"))
	for _, aside := range left {
		name := strings.TrimPrefix(filepath.Base(aside), doomed)
		err = errors.Join(err, restore(aside, filepath.Join(c.Cleanup.MediaDir, name)))
	}
	return err
}

// restore gives a file its name back. Where there is a file of that name again, the
// same contents were kept anew.
func restore(aside, path string) error {
	err := os.Link(aside, path) // unlike a rename it replaces nothing
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("put an attachment back: %w", err)
	}
	if err := os.Remove(aside); err != nil {
		return fmt.Errorf("put an attachment back: %w", err)
	}
	return nil
}

// youngerThan reports whether a file must be left alone: it was written or kept again
// since, it is not there any more, or it is no file.
func youngerThan(path string, moment time.Time) bool {
	info, err := os.Lstat(path)
	return err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(moment)
}
