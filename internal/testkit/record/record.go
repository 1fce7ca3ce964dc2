// Package record makes empty records for tests that need many: the migrations run
// once in a process, and each test gets a copy of the file they made. It must not be
// used where migrating is what is tested.
package record

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"picobot/store"
)

// migrated is the file of an empty record with the newest schema.
var migrated = sync.OnceValues(migrate)

// At writes an empty record to path, which must not be there yet, and returns path.
func At(tb testing.TB, path string) string {
	tb.Helper()
	file, err := migrated()
	if err != nil {
		tb.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	_, err = f.Write(file)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func migrate() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "picobot-record-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "sessions.db")
	s, err := store.Open(context.Background(), store.Options{Path: path, Now: time.Now})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // folds the write-ahead log into the file
		return nil, err
	}
	return os.ReadFile(path)
}
