package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// entry is a file that goes into an archive.
type entry struct {
	name string // in the archive
	path string // on the disk
	size int64
	mode fs.FileMode // of its owner
	at   time.Time   // of its last change
}

// list finds what goes into the archive, the record (a copy of it) first.
func (o Options) list(record string) ([]entry, error) {
	info, err := os.Stat(record)
	if err != nil {
		return nil, err
	}
	out := []entry{{name: recordName, path: record, size: info.Size(), mode: 0o600, at: o.Now}}
	for _, name := range files {
		if out, err = o.found(out, name); err != nil {
			return nil, err
		}
	}
	all := dirs
	if o.Workspace {
		all = append([]string{workspaceName}, dirs...)
	}
	for _, dir := range all {
		err := filepath.WalkDir(filepath.Join(o.Home.Dir, dir), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it is gone again
			}
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(o.Home.Dir, path)
			if err != nil {
				return err
			}
			out, err = o.found(out, filepath.ToSlash(name))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// found adds a file of the home, if it is there and can be kept.
func (o Options) found(list []entry, name string) ([]entry, error) {
	path := filepath.Join(o.Home.Dir, filepath.FromSlash(name))
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return list, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		o.Note(name + " is no file but a link or something else: it is not in this backup")
		return list, nil
	case !belongs(name):
		o.Note(name + " has a name that an archive cannot hold: it is not in this backup")
		return list, nil
	}
	return append(list, entry{name: name, path: path, size: info.Size(), mode: info.Mode().Perm() & 0o700, at: info.ModTime()}), nil
}
