package store_test

import (
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/store"
)

func TestOpenReader_ReadsBesideAWriterAndAfterIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
	require.NoError(t, err)
	turn := running(t, s)
	read := func() {
		r, err := store.OpenReader(t.Context(), path, time.Now)
		require.NoError(t, err)
		got, err := r.Turn(t.Context(), turn.ID)
		require.NoError(t, err)
		require.Equal(t, turn.ID, got.ID)
		_, _, err = r.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "another"})
		require.ErrorContains(t, err, "for reading only")
		require.NoError(t, r.Close())
	}
	read()
	require.NoError(t, s.Close())
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	read()
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestOpenReader_NoRecordOrOneOfAnotherSchema_SaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	_, err := store.OpenReader(t.Context(), path, time.Now)
	require.ErrorIs(t, err, fs.ErrNotExist)
	s, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
	require.NoError(t, err)
	running(t, s)
	require.NoError(t, s.Close())
	for statement, want := range map[string]error{
		`DELETE FROM goose_db_version WHERE version_id > 1`:                      store.ErrSchemaTooOld,
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`: store.ErrSchemaTooNew,
	} {
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = db.Exec(statement)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		_, err = store.OpenReader(t.Context(), path, time.Now)
		require.ErrorIs(t, err, want)
	}
}
