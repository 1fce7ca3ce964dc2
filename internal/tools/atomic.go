package tools

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// replacement is what to put in a file's place.
type replacement struct {
	data []byte
	// expect is the file as it was read; nil = whatever is there. When somebody
	// else wrote to it since, nothing is written.
	expect fs.FileInfo
}

// write replaces a file, or creates it and the directories above it. Whoever
// reads it, also after a power failure, sees the old file or the new one. It
// returns the state before, nil if there was none.
func (p place) write(r replacement) (before fs.FileInfo, err error) {
	p, err = p.target()
	if err != nil {
		return nil, err
	}
	dir := p.dir()
	if err := p.root.MkdirAll(dir, 0o755); err != nil {
		return nil, p.explain(err)
	}
	mode := fs.FileMode(0o644)
	before, err = p.root.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before = nil
	case err != nil:
		return nil, p.explain(err)
	default:
		if err := p.checkRegular(before); err != nil {
			return before, err
		}
		if before.Mode()&0o200 == 0 {
			return before, fmt.Errorf("%s is read-only: make it writable first, if that is meant", p.shown)
		}
		mode = before.Mode().Perm()
	}
	if r.expect != nil && (before == nil || !sameState(before, r.expect)) {
		return before, fmt.Errorf("%s was changed by somebody else meanwhile: read it again", p.shown)
	}
	temp := under(dir, ".picobot-"+rand.Text()[:12]+".tmp")
	if err := p.writeTemp(temp, r.data, mode, before != nil); err != nil {
		_ = p.root.Remove(temp)
		return before, p.explain(err)
	}
	if err := p.root.Rename(temp, p.name); err != nil {
		_ = p.root.Remove(temp)
		return before, p.explain(err)
	}
	return before, p.explain(syncDir(p.root, dir))
}

// writeTemp writes and syncs the file that is then renamed. keepMode sets the
// mode exactly; a new file's is left to the umask.
func (p place) writeTemp(name string, data []byte, mode fs.FileMode, keepMode bool) (err error) {
	f, err := p.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if keepMode {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	// Some file systems cannot sync directories; the rename has happened anyway.
	_ = d.Sync()
	return nil
}

func sameState(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// readAll reads a regular file of at most max bytes.
func (p place) readAll(max int64) ([]byte, fs.FileInfo, error) {
	f, info, err := p.open()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	if info.Size() > max {
		return nil, nil, p.tooLarge(info.Size(), max)
	}
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return nil, nil, p.explain(err)
	}
	if int64(len(data)) > max {
		return nil, nil, p.tooLarge(int64(len(data)), max)
	}
	return data, info, nil
}

func (p place) tooLarge(size, max int64) error {
	return fmt.Errorf("%s is too large (%s, at most %s): use bash on it (sed, head, split)", p.shown, bytesText(size), bytesText(max))
}

func bytesText(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d bytes", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/unit/unit)
}
