package skills

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What stands in a folder while something is made or deleted there. A process that is
// killed meanwhile leaves it behind; no skill is called so, and it is swept up later.
const (
	newPrefix     = ".picobot-new-"
	deletedPrefix = ".picobot-deleted-"
	tempPrefix    = ".picobot-tmp-"

	abandoned = time.Hour // after which somebody else's beginning is swept up
)

func temporary(prefix string) string { return prefix + strings.ToLower(rand.Text()[:12]) }

// openDir opens the directory at rel below base, which is taken as it is, for writing.
// No link on the way is followed: what is written must be where it seems to be. Missing
// directories are made if create is set.
func openDir(base, rel string, create bool) (*os.Root, error) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be opened: %s", filepath.Base(base), reason(err))
	}
	for name := range strings.SplitSeq(rel, "/") {
		if name == "." {
			continue
		}
		next, err := openChild(root, name, create)
		_ = root.Close()
		if err != nil {
			return nil, err
		}
		root = next
	}
	return root, nil
}

func openChild(root *os.Root, name string, create bool) (*os.Root, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("the folder %s cannot be made: %w", name, plain(err))
		}
		info, err = root.Lstat(name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no folder %s: %w", name, fs.ErrNotExist)
	case err != nil:
		return nil, fmt.Errorf("the folder %s cannot be opened: %w", name, plain(err))
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s is a link, and skills are not written through links: change what it leads to yourself", name)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder", name)
	}
	child, err := root.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("the folder %s cannot be opened: %w", name, plain(err))
	}
	// Somebody may just have put a link in its place.
	if now, err := child.Stat("."); err != nil || !os.SameFile(info, now) {
		_ = child.Close()
		return nil, fmt.Errorf("%s was changed meanwhile: try again", name)
	}
	return child, nil
}

// replace puts data in a file's place: whoever reads it, also after a power failure,
// sees the old text or the new one.
func replace(root *os.Root, name string, data []byte) error {
	mode := fs.FileMode(0o644)
	before, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return plain(err)
	case before.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a link, and nothing is written through links: change what it leads to yourself", name)
	case !before.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", name)
	default:
		mode = before.Mode().Perm()
	}
	temp := temporary(tempPrefix)
	err = writeNew(root, temp, data, mode)
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
		return plain(err)
	}
	syncDir(root)
	return nil
}

func writeNew(root *os.Root, name string, data []byte, mode fs.FileMode) (err error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

// syncDir makes names in a directory last. Some file systems cannot do it.
func syncDir(root *os.Root) {
	if d, err := root.Open("."); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// makeFolder makes a folder with one file in it, whole or not at all.
func makeFolder(root *os.Root, name, file string, data []byte) error {
	temp := temporary(newPrefix)
	if err := root.Mkdir(temp, 0o755); err != nil {
		return plain(err)
	}
	err := writeNew(root, temp+"/"+file, data, 0o644)
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.RemoveAll(temp)
		return plain(err)
	}
	syncDir(root)
	return nil
}

// removeFolder deletes a folder. It is gone at once; what takes time is deleting what
// was in it.
func removeFolder(root *os.Root, name string) error {
	temp := temporary(deletedPrefix)
	if err := root.Rename(name, temp); err != nil {
		return plain(err)
	}
	syncDir(root)
	return plain(root.RemoveAll(temp))
}

// sweep removes what killed processes left behind.
func sweep(root *os.Root, now time.Time) {
	names, _, err := readNames(root.FS(), ".")
	if err != nil {
		return
	}
	for _, name := range names {
		old := strings.HasPrefix(name, deletedPrefix)
		if strings.HasPrefix(name, newPrefix) || strings.HasPrefix(name, tempPrefix) {
			info, err := root.Lstat(name)
			old = err == nil && now.Sub(info.ModTime()) > abandoned
		}
		if old {
			_ = root.RemoveAll(name)
		}
	}
}

// plain strips paths of this machine from an error.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}
