package skills

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// reason is an error of the file system without paths of this machine.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	switch {
	case strings.Contains(err.Error(), "escapes"): // os.Root has no error for it
		return "it is a link that leads out of its folder: copy what it leads to"
	case errors.Is(err, syscall.ELOOP):
		return "it is a link that leads in a circle"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied: make it readable for PicoBot"
	}
	return err.Error()
}

// readFile reads a regular file of at most max bytes, and never waits: not for the
// other end of a pipe, not for a device.
func readFile(root *os.Root, name string, max int64) ([]byte, error) {
	// Looking first keeps devices closed, whose opening alone can act.
	if info, err := root.Stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	} else if info.Size() > max {
		return nil, tooLarge(max)
	}
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(data)) > max {
		err = tooLarge(max)
	}
	return data, err
}

func tooLarge(max int64) error {
	return fmt.Errorf("it is larger than %d KiB: move parts into files of their own", max>>10)
}

// readNames lists a directory, sorted. more: there is too much in it to list.
func readNames(fsys fs.FS, dir string) (names []string, more bool, err error) {
	f, err := fsys.Open(dir)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, false, errors.New("it is not a folder")
	}
	entries, err := d.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	if len(names) > maxEntries {
		return names[:maxEntries], true, nil
	}
	return names, false, nil
}
