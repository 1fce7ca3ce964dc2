// Package id makes the ids of the record: ULIDs, sortable by the time they were made.
// It must not know what its ids name.
package id

import (
	"crypto/rand"
	"io"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Maker makes ULIDs that grow strictly within one process. The zero value is not
// ready for use; call NewMaker. Safe for concurrent use.
type Maker struct {
	mu      sync.Mutex
	now     func() time.Time
	entropy io.Reader
}

// NewMaker returns a Maker that takes its time from now.
func NewMaker(now func() time.Time) *Maker {
	return &Maker{now: now, entropy: ulid.Monotonic(rand.Reader, 0)}
}

// New returns a fresh id of 26 characters.
func (m *Maker) New() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	// MustNew fails when the random source fails or 2^80 ids were made within
	// one millisecond: neither can be answered sensibly.
	return ulid.MustNew(ulid.Timestamp(m.now()), m.entropy).String()
}
