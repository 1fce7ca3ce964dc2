package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCopy_OfARecordThatIsWritten_IsOneMomentOfIt(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, "sessions.db"), filepath.Join(dir, "copy.db")
	s, err := Open(t.Context(), Options{Path: path, Now: time.Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	stop, done := make(chan struct{}), make(chan error)
	accept := func(id string) error {
		_, err := s.Accept(t.Context(), Inbound{Channel: "cli", ChatID: "c", ExternalID: id, SenderID: "me", Content: "hi"})
		return err
	}
	require.NoError(t, accept("first"))
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := accept(string(rune('a'+i%26)) + time.Now().String()); err != nil {
				done <- err
				return
			}
		}
	}()
	_, err = Copy(t.Context(), path, to)
	close(stop)
	require.NoError(t, <-done)
	require.NoError(t, err)
	info, err := os.Stat(to)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

	c, err := Open(t.Context(), Options{Path: to, Now: time.Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	var inbound, turns int
	require.NoError(t, c.view(t.Context(), func(q querier) error {
		return q.row(`SELECT (SELECT count(*) FROM inbound_messages), (SELECT count(*) FROM turns)`).Scan(&inbound, &turns)
	}))
	require.Positive(t, inbound)
	require.Equal(t, inbound, turns)

	_, err = Copy(t.Context(), path, to)
	require.ErrorIs(t, err, fs.ErrExist)
	_, err = Copy(t.Context(), filepath.Join(dir, "none.db"), filepath.Join(dir, "x"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}
