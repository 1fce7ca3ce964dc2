package logging

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFile is the size above which a log file is put aside before it is appended to.
const maxFile = 16 << 20

// OpenFile opens a log file (0600) for appending. One that has grown large is kept
// as FILE.1, in place of the one that was kept before.
func OpenFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make log directory: %w", err)
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("open log file: %w", err)
	case info.Size() > maxFile:
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("put log file aside: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log file: %w", err)
	}
	return f, nil
}
