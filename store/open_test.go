package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/store"
)

func TestOpen_PragmasAreInForce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	running(t, s)
	require.Equal(t, "wal", query[string](t, path, `PRAGMA journal_mode`))
	require.Equal(t, "ok", query[string](t, path, `PRAGMA integrity_check`))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestOpen_PathWithOddCharacters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%20é")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, "sessions.db")
	s, _ := openAt(t, path)
	running(t, s)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Positive(t, info.Size(), "the record must be in the file that was named")
}

func TestOpen_NewerSchema_IsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	running(t, s)
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
	require.ErrorIs(t, err, store.ErrSchemaTooNew)
}

func TestOpen_NotADatabase_SaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	require.NoError(t, os.WriteFile(path, []byte("this is no database, it is a text file of some length, and it stays as it is"), 0o600))
	_, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
	require.ErrorContains(t, err, "sessions.db")
}

func TestWrite_LockedByAnother_IsRetriedThenUnavailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	lock, err := db.Begin()
	require.NoError(t, err)
	_, err = s.Accept(t.Context(), message("m1", "hello"))
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.Error(t, s.Ping(t.Context()))
	require.NoError(t, lock.Rollback())
	require.NoError(t, s.Ping(t.Context()), "a probe that gets through is good health again")
	accept(t, s, message("m1", "hello"))
}

// retries is a log of the store that only says when a write is about to be tried again.
type retries func()

func (retries) Enabled(context.Context, slog.Level) bool { return true }

func (r retries) Handle(_ context.Context, rec slog.Record) error {
	if rec.Level == slog.LevelWarn {
		r()
	}
	return nil
}

func (r retries) WithAttrs([]slog.Attr) slog.Handler { return r }
func (r retries) WithGroup(string) slog.Handler      { return r }

func TestWrite_LockReleasedBetweenTwoTries_Succeeds(t *testing.T) {
	t.Parallel() // it waits for SQLite's own timeout
	path := filepath.Join(t.TempDir(), "sessions.db")
	tries := 0
	var lock *sql.Tx
	s, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now, RetryDelays: []time.Duration{time.Millisecond, time.Millisecond},
		Logger: slog.New(retries(func() {
			tries++
			_ = lock.Rollback()
		}))})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	lock, err = db.Begin()
	require.NoError(t, err)
	turn := accept(t, s, message("m1", "hello"))
	require.Equal(t, 1, tries)
	require.Len(t, turns(t, s), 1)
	require.Equal(t, turn.ID, turns(t, s)[0].ID)
}

func TestWrite_RuleOfOurs_IsNotTriedAgain(t *testing.T) {
	tries := 0
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "sessions.db"), Now: time.Now,
		RetryDelays: []time.Duration{time.Millisecond}, Logger: slog.New(retries(func() { tries++ }))})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, err = s.Cancel(t.Context(), "cli:c1:nope", "")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Zero(t, tries)
}

func turns(t *testing.T, s *store.Store) []store.Turn {
	t.Helper()
	out, err := s.Turns(t.Context(), store.TurnFilter{})
	require.NoError(t, err)
	return out
}

func TestClosed_ReadsAndWrites_FailAtOnce(t *testing.T) {
	s, err := store.Open(context.Background(), store.Options{Path: filepath.Join(t.TempDir(), "x.db"), Now: time.Now})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = s.Turn(context.Background(), "x")
	require.ErrorContains(t, err, "closed")
	_, err = s.Accept(context.Background(), store.Inbound{Channel: "cli", ChatID: "a", ExternalID: "1", SenderID: "me", Content: "hello"})
	require.Error(t, err)
	require.Error(t, s.Ping(context.Background()))
}

func TestOpen_DamagedPages_AreRefusedWithWhatToDo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
	require.NoError(t, err)
	for i := range 50 {
		_, err := s.Accept(t.Context(), store.Inbound{Channel: "cli", ChatID: fmt.Sprint(i), ExternalID: "1", SenderID: "me", Content: strings.Repeat("hello ", 100)})
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, 8*4096), 3*4096)
	require.NoError(t, errors.Join(err, f.Close()))
	began := time.Now()
	_, err = store.Open(t.Context(), store.Options{Path: path, Now: time.Now, RetryDelays: []time.Duration{time.Hour}})
	require.ErrorIs(t, err, store.ErrDamaged)
	require.Less(t, time.Since(began), time.Minute, "no other try can help")
}

// Damage that shows later ends the operation at once, with what to do.
func TestWrite_DamageFoundLater_IsToldAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
	require.NoError(t, err)
	defer s.Close() // which finds it damaged, too
	accept(t, s, message("1", "hello"))
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	for _, q := range []string{`PRAGMA wal_checkpoint(TRUNCATE)`, `PRAGMA writable_schema = 1`,
		`UPDATE sqlite_master SET rootpage = 99999 WHERE name = 'inbound_messages'`,
		`PRAGMA schema_version = 4711`} {
		_, err = db.ExecContext(t.Context(), q)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	_, err = s.Accept(t.Context(), message("2", "hello"))
	require.ErrorIs(t, err, store.ErrDamaged)
}
