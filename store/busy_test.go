package store_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/store"
)

// holdRecord takes the write lock of a new record, as another process would.
func holdRecord(t *testing.T) (path string, release func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sessions.db")
	first, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
	require.NoError(t, err)
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "_txlock=immediate&_pragma=busy_timeout(10000)"}
	other, err := sql.Open("sqlite", u.String())
	require.NoError(t, err)
	tx, err := other.Begin()
	require.NoError(t, err)
	release = sync.OnceFunc(func() { _ = tx.Rollback() })
	t.Cleanup(func() {
		release()
		require.NoError(t, other.Close())
		require.NoError(t, first.Close())
	})
	return path, release
}

// A worker that starts beside a busy gateway must not fail because of that.
func TestOpen_AnotherProcessIsWriting_WaitsForIt(t *testing.T) {
	path, release := holdRecord(t)
	time.AfterFunc(time.Second, release)
	second, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
	require.NoError(t, err)
	require.NoError(t, second.Close())
}

func TestOpen_StoppedWhileItWaits_GivesUp(t *testing.T) {
	path, _ := holdRecord(t)
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, stop)
	_, err := store.Open(ctx, store.Options{Path: path, Now: time.Now})
	require.Error(t, err)
}
