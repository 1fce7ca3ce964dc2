package prompt

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

//go:embed AGENT.md
var defaultAgent string

// maxAgentFile bounds what people write in AGENT.md, in bytes: it goes into every
// request. Of what PicoBot writes there between its marker lines a request gets little.
const (
	maxAgentFile = 256 << 10
	maxFileBytes = 4 << 20
)

// AgentFile is the prompt every session starts with: a file people edit.
type AgentFile struct{ path string }

// NewAgentFile returns the AGENT.md at path.
func NewAgentFile(path string) AgentFile { return AgentFile{path: path} }

// Read returns the file's present text, with the memory of everybody: Personal says
// what of it a chat may be given. A missing file is made with a good default.
func (a AgentFile) Read() (string, error) {
	raw, _, err := a.bytes()
	if errors.Is(err, fs.ErrNotExist) {
		return a.create()
	}
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(raw), "\uFFFD"))
	if len(text) > maxAgentFile && len(outside(text)) > maxAgentFile {
		return "", a.tooLarge()
	}
	return text, nil
}

func (a AgentFile) tooLarge() error {
	return fmt.Errorf("%s is larger than %d bytes: shorten it, it goes into every request", a.path, maxAgentFile)
}

// bytes reads the file as it is.
func (a AgentFile) bytes() ([]byte, fs.FileMode, error) {
	// Non-blocking: a named pipe in its place must not hang every session.
	f, err := os.OpenFile(a.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("read the agent's prompt: %w", err)
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0, errors.Join(fmt.Errorf("read the agent's prompt: %s is no file: put a text file in its place", a.path), err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, 0, fmt.Errorf("read the agent's prompt: %w", err)
	}
	if len(text) > maxFileBytes {
		return nil, 0, a.tooLarge()
	}
	return text, info.Mode().Perm(), nil
}

func (a AgentFile) create() (string, error) {
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		return "", fmt.Errorf("make the agent's prompt: %w", err)
	}
	// Written aside and linked into place: nobody ever reads half a file, and a file
	// that somebody else has made meanwhile stays.
	f, err := os.CreateTemp(filepath.Dir(a.path), ".AGENT-*")
	if err != nil {
		return "", fmt.Errorf("make the agent's prompt: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // a leftover harms nobody
	_, err = f.WriteString(defaultAgent)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("make the agent's prompt: %w", err)
	}
	if err := os.Link(f.Name(), a.path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the agent's prompt: %w", err)
	}
	return a.Read()
}
