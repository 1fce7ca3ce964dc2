package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ergochat/readline"
)

// Readline is an Editor on the process's own terminal.
type Readline struct {
	rl      *readline.Instance
	history string
}

// NewReadline takes the terminal. Its history is kept in a file that only its
// owner may read.
func NewReadline(prompt, historyFile string) (*Readline, error) {
	f, err := os.OpenFile(historyFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	rl, err := readline.NewFromConfig(&readline.Config{Prompt: prompt, HistoryFile: historyFile})
	if err != nil {
		return nil, fmt.Errorf("take the terminal: %w", err)
	}
	return &Readline{rl: rl, history: historyFile}, nil
}

// ReadLine implements Editor.
func (r *Readline) ReadLine() (string, error) {
	text, err := r.rl.ReadLine()
	switch {
	case errors.Is(err, readline.ErrInterrupt):
		return "", ErrInterrupt
	case errors.Is(err, io.EOF):
		return "", io.EOF
	default:
		return text, err
	}
}

// Write implements Editor.
func (r *Readline) Write(p []byte) (int, error) { return r.rl.Write(p) }

// Close gives the terminal back. It also ends a ReadLine that is waiting.
func (r *Readline) Close() error {
	err := r.rl.Close()
	// The library rewrites a long history with the process's usual mode.
	return errors.Join(err, os.Chmod(r.history, 0o600))
}
