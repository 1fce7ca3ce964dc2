package terminal

import "sync"

// rawMode keeps the terminal raw from the first line to the last. The library would
// give it back after each line; a Ctrl-D that is pressed in between then becomes a NUL
// in front of the next line, and other keys are echoed where the cursor happens to be.
type rawMode struct {
	enter, exit func() error

	mu      sync.Mutex
	raw     bool
	suspend bool // the next Exit is meant
	closed  bool
}

// Enter makes the terminal raw unless it is, or has been given back for good.
func (m *rawMode) Enter() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.raw || m.closed {
		return nil
	}
	err := m.enter()
	m.raw = err == nil
	return err
}

// Exit gives the terminal back only after Suspend: it is what the library calls after
// each line, and when the process goes to the background.
func (m *rawMode) Exit() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.suspend {
		return nil
	}
	m.suspend = false
	return m.leave()
}

// Suspend tells that the next Exit is one for the background.
func (m *rawMode) Suspend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suspend = true
}

// Close gives the terminal back for good.
func (m *rawMode) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return m.leave()
}

func (m *rawMode) leave() error {
	if !m.raw {
		return nil
	}
	m.raw = false
	return m.exit()
}
