package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxUpdates bounds how often the block is written anew because the file has changed
// in the meantime.
const maxUpdates = 20

// SetParts writes what is known of people between the marker lines, at the end of the
// file where there are none. What stands outside of them is never touched: a file that
// somebody changes at the same time is read again. changed tells whether anything had
// to be written. Parts for which there is no room are left out; left counts them.
func (a AgentFile) SetParts(parts []Part) (changed bool, left int, err error) {
	for range maxUpdates {
		old, mode, err := a.raw()
		if err != nil {
			return false, 0, err
		}
		fitting := fit(string(old), parts)
		fresh := []byte(withBlock(string(old), fitting))
		if bytes.Equal(old, fresh) {
			return false, len(parts) - len(fitting), nil
		}
		done, err := a.replace(old, fresh, mode)
		if done || err != nil {
			return done, len(parts) - len(fitting), err
		}
	}
	return false, 0, fmt.Errorf("%s changes all the time: what is remembered of people was not written into it", a.path)
}

// fit drops the last parts of those that the file has no room for.
func fit(text string, parts []Part) []Part {
	room := maxFileBytes - maxAgentFile - len(blockBegin) - len(blockEnd)
	for i, p := range parts {
		if room -= len(heading(p.Scope)) + 2*len(p.Markdown) + 4; room < 0 {
			return parts[:i]
		}
	}
	return parts
}

// raw reads the file as it is, and makes one that is missing.
func (a AgentFile) raw() ([]byte, fs.FileMode, error) {
	text, mode, err := a.bytes()
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := a.create(); err != nil {
			return nil, 0, err
		}
		return a.bytes()
	}
	return text, mode, err
}

// replace puts fresh in the place of the file, in one step, unless it is not old any
// more. A link stays one: what it leads to is replaced.
func (a AgentFile) replace(old, fresh []byte, mode fs.FileMode) (done bool, err error) {
	path, err := filepath.EvalSymlinks(a.path)
	if err != nil {
		return false, fmt.Errorf("write the agent's prompt: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".AGENT-*")
	if err != nil {
		return false, fmt.Errorf("write the agent's prompt: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // gone after the rename; a leftover harms nobody
	_, err = f.Write(fresh)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return false, fmt.Errorf("write the agent's prompt: %w", err)
	}
	if now, _, err := a.bytes(); err != nil || !bytes.Equal(now, old) {
		return false, nil //nolint:nilerr // it has changed or gone: it is read again
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return false, fmt.Errorf("write the agent's prompt: %w", err)
	}
	return true, nil
}
