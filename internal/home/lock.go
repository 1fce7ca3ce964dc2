package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockPatience = 500 * time.Millisecond
	lockRetry    = 10 * time.Millisecond
)

// Lock is the ownership of a home. The kernel gives it up when the process
// dies, however it dies; processes that it started do not inherit it.
type Lock struct {
	mu    sync.Mutex
	flock *flock.Flock
	file  *os.File // a second handle on the same file, to write the owner
}

// HeldError says that another process owns the home.
type HeldError struct {
	Dir string
	// Owner has a zero PID when the owner has not written its name.
	Owner Owner
}

// Error names the owner and says what to do.
func (e *HeldError) Error() string {
	who := "another process"
	switch {
	case e.Owner.PID > 0 && e.Owner.Address != "":
		who = fmt.Sprintf("process %d (gateway at %s)", e.Owner.PID, e.Owner.Address)
	case e.Owner.PID > 0:
		who = fmt.Sprintf("process %d (still starting)", e.Owner.PID)
	}
	return fmt.Sprintf("home %s is in use by %s: stop it first, or choose another home with --home", e.Dir, who)
}

// Lock makes this process the owner of the home, or fails with *HeldError. A
// zero PID stands for this process.
func (h Home) Lock(owner Owner) (*Lock, error) {
	fl := flock.New(h.LockFile(), flock.SetPermissions(filePerm))
	// Someone who only looks (ReadOwner) has the lock for an instant: that must
	// not make a start fail, so a refusal counts only when it lasts.
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	got, err := fl.TryLockContext(ctx, lockRetry)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("lock home with %s: %w", h.LockFile(), err)
	}
	if !got {
		holder, err := readOwnerFile(h.LockFile())
		if err != nil {
			return nil, err
		}
		return nil, &HeldError{Dir: h.Dir, Owner: holder}
	}
	file, err := os.OpenFile(h.LockFile(), os.O_RDWR, 0)
	if err != nil {
		_ = fl.Close()
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	l := &Lock{flock: fl, file: file}
	if err := l.Update(owner); err != nil {
		_ = l.Unlock()
		return nil, err
	}
	return l, nil
}

// Update changes what clients read about the owner.
func (l *Lock) Update(owner Owner) error {
	if owner.PID == 0 {
		owner.PID = os.Getpid()
	}
	data, err := json.Marshal(owner)
	if err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	data = append(data, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return errors.New("write lock file: the lock has been given up")
	}
	// Not a rename: the lock belongs to this very file.
	if _, err := l.file.WriteAt(data, 0); err != nil {
		return fmt.Errorf("write lock file %s: %w", l.file.Name(), err)
	}
	if err := l.file.Truncate(int64(len(data))); err != nil {
		return fmt.Errorf("write lock file %s: %w", l.file.Name(), err)
	}
	return nil
}

// Unlock gives the home up. The file stays, empty: removing it would let two
// processes hold two locks of the same name. Calling it again does nothing.
func (l *Lock) Unlock() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.file.Truncate(0), l.file.Close(), l.flock.Close())
	l.file = nil
	if err != nil {
		return fmt.Errorf("give up home: %w", err)
	}
	return nil
}
