package terminal

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/ergochat/readline"
)

// Readline is an Editor on the process's own terminal.
type Readline struct {
	rl         *readline.Instance
	raw        *rawMode
	history    string
	interrupts chan struct{}

	// writing is held by whoever writes above the prompt, and by ReadLine between the
	// end of a line and its own: the library would draw the prompt of a line that is over.
	writing sync.Mutex
	ending  bool // ReadLine holds writing
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
	r := &Readline{rl: rl, history: historyFile, interrupts: make(chan struct{}, 1)}
	cfg := rl.GetConfig() // now with the library's own functions
	r.raw = &rawMode{enter: cfg.FuncMakeRaw, exit: cfg.FuncExitRaw}
	cfg.FuncMakeRaw, cfg.FuncExitRaw = r.raw.Enter, r.raw.Exit
	cfg.FuncFilterInputRune = r.key
	if err := rl.SetConfig(cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("take the terminal: %w", err), r.Close())
	}
	_ = r.raw.Enter() // what is no terminal has no raw mode, and needs none
	return r, nil
}

// key looks at a key before the library does.
func (r *Readline) key(k rune) (rune, bool) {
	switch {
	case k == readline.CharInterrupt:
		select {
		case r.interrupts <- struct{}{}:
		default: // one that is not dealt with yet is as good as two
		}
		return readline.CharBell, true // which ends a search and leaves the line alone
	case k == readline.CharCtrlZ:
		r.raw.Suspend()
	case k == readline.CharEnter || k == readline.CharCtrlJ:
		r.writing.Lock()
		r.ending = true
	case k >= 0 && unwanted(k) && !edits(k):
		return 0, false
	}
	return k, true
}

// edits reports whether the library knows a control character as a key.
func edits(k rune) bool {
	switch k {
	case readline.CharLineStart, readline.CharBackward, readline.CharEOT, readline.CharLineEnd,
		readline.CharForward, readline.CharBell, readline.CharCtrlH, readline.CharKill, readline.CharCtrlL,
		readline.CharNext, readline.CharPrev, readline.CharBckSearch, readline.CharFwdSearch,
		readline.CharTranspose, readline.CharCtrlU, readline.CharCtrlW, readline.CharCtrlY, readline.CharBackspace:
		return true
	}
	return false
}

// ReadLine implements Editor.
func (r *Readline) ReadLine() (string, error) {
	text, err := r.rl.ReadLine()
	if r.ending {
		r.ending = false
		r.writing.Unlock()
	}
	return text, err
}

// Interrupts implements Editor.
func (r *Readline) Interrupts() <-chan struct{} { return r.interrupts }

// Write implements Editor.
func (r *Readline) Write(p []byte) (int, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	return r.rl.Write(p)
}

// Size returns how many columns and lines the terminal has now.
func (r *Readline) Size() (width, height int) { return r.rl.GetConfig().FuncGetSize() }

// Close gives the terminal back. It also ends a ReadLine that is waiting.
func (r *Readline) Close() error {
	err := errors.Join(r.rl.Close(), r.raw.Close())
	// The library rewrites a long history with the process's usual mode.
	return errors.Join(err, os.Chmod(r.history, 0o600))
}
