package logging

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gopkg.in/natefinch/lumberjack.v2"
)

// A log file that has this many megabytes is put aside, with the time in its name, and
// a new one begun; so many of those are kept.
const (
	maxMegabytes = 16
	maxBackups   = 5
)

// OpenFile opens a log file (0600) for appending, which is put aside when it has grown
// large. It is for one process: another one would go on writing to what was put aside.
func OpenFile(path string) (io.WriteCloser, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make log directory: %w", err)
	}
	// Whoever cannot be written to is to be known now, not with the first line.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log file: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("open log file: %w", err)
	}
	return &lumberjack.Logger{Filename: path, MaxSize: maxMegabytes, MaxBackups: maxBackups}, nil
}
