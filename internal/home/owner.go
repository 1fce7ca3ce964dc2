package home

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

const (
	maxOwnerSize = 64 << 10
	ownerTries   = 40
	ownerWait    = 5 * time.Millisecond
)

// Owner says which process owns a home and where its clients find it.
type Owner struct {
	PID int `json:"pid"`
	// Command is what was started: gateway, agent, temporal.
	Command string `json:"command,omitempty"`
	// Address is host:port of the gateway, empty until it listens.
	Address string `json:"address"`
	// StartedAt is in milliseconds since the epoch.
	StartedAt int64  `json:"started_at"`
	Version   string `json:"version"`
	// TemporalAddress is host:port of the engine, empty until it serves.
	TemporalAddress string `json:"temporal_address,omitempty"`
	// UIURL is the address of the engine's web UI.
	UIURL string `json:"ui_url,omitempty"`
}

// ReadOwner says who owns the home. alive is true only while a process really
// holds the lock: what a killed process left behind reads as not alive.
func (h Home) ReadOwner() (owner Owner, alive bool, err error) {
	if _, err := os.Stat(h.LockFile()); errors.Is(err, fs.ErrNotExist) {
		return Owner{}, false, nil // looking must not make the file
	}
	for try := range ownerTries {
		held, err := h.held()
		if err != nil || !held {
			return Owner{}, false, err
		}
		owner, err = readOwnerFile(h.LockFile())
		if err != nil {
			return Owner{}, false, err
		}
		// Between taking the lock and writing its name an owner is nameless, or
		// still carries the name of one that was killed.
		if owner.PID > 0 && processExists(owner.PID) {
			return owner, true, nil
		}
		if try < ownerTries-1 {
			<-time.After(ownerWait)
		}
	}
	// In another process namespace an owner's pid means nothing here; the lock
	// is what counts.
	return owner, true, nil
}

// held reports whether someone holds the lock. It has the lock shared for a
// moment, which is why Lock tries more than once.
func (h Home) held() (bool, error) {
	probe := flock.New(h.LockFile(), flock.SetFlag(os.O_RDONLY))
	got, err := probe.TryRLock()
	if err != nil {
		return false, fmt.Errorf("look at lock file %s: %w", h.LockFile(), err)
	}
	if err := probe.Close(); err != nil {
		return false, fmt.Errorf("look at lock file %s: %w", h.LockFile(), err)
	}
	return !got, nil
}

// readOwnerFile returns the zero Owner for a file that is empty or is being
// written just now.
func readOwnerFile(path string) (Owner, error) {
	f, err := os.Open(path)
	if err != nil {
		return Owner{}, fmt.Errorf("read lock file: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxOwnerSize))
	if err != nil {
		return Owner{}, fmt.Errorf("read lock file %s: %w", path, err)
	}
	// Only the first JSON value counts: a shorter text that has just been
	// written over a longer one has the longer one's tail for a moment.
	var owner Owner
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&owner); err != nil {
		return Owner{}, nil
	}
	return owner, nil
}

func processExists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
