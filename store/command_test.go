package store_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/testkit/strict"
	"picobot/store"
)

// sound judges the whole record, as anybody could who reads the file.
func sound(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	bad, err := strict.Record(db)
	require.NoError(t, err)
	require.Empty(t, bad)
}

func commandRun(t *testing.T, s *store.Store, m store.Inbound, name string, run func(*store.CommandTx) (store.CommandAnswer, error)) store.Accepted {
	t.Helper()
	got, err := s.RunCommand(t.Context(), m, name, run)
	require.NoError(t, err)
	return got
}

// stop is a /stop that says how often it was run.
func stop(runs *int) func(*store.CommandTx) (store.CommandAnswer, error) {
	return func(tx *store.CommandTx) (store.CommandAnswer, error) {
		*runs++
		got, err := tx.Cancel("")
		if errors.Is(err, store.ErrNotFound) {
			return store.CommandAnswer{Text: "nothing to stop"}, nil
		}
		return store.CommandAnswer{Text: "stopping", Data: json.RawMessage(`{"turn_id":"` + got.Turn.ID + `"}`)}, err
	}
}

func TestCommand_Redelivered_IsAnsweredAgainAndNotDoneAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	first := running(t, s)
	runs := 0
	got := commandRun(t, s, message("stop1", "/stop"), "stop", stop(&runs))
	require.False(t, got.Duplicate)
	require.True(t, got.Command.OK)
	require.Equal(t, first.SessionID, got.SessionID)
	asked, err := s.CancelRequested(t.Context(), first.ID)
	require.NoError(t, err)
	require.True(t, asked)
	_, err = s.FinishTurn(t.Context(), store.Finish{TurnID: first.ID, Status: chat.TurnCancelled})
	require.NoError(t, err)

	later := accept(t, s, message("m2", "hello"))
	begin(t, s, later.SessionID)
	again := commandRun(t, s, message("stop1", "/stop"), "stop", stop(&runs))
	require.True(t, again.Duplicate)
	require.Equal(t, got.Command, again.Command)
	require.Equal(t, 1, runs)
	asked, err = s.CancelRequested(t.Context(), later.ID)
	require.NoError(t, err)
	require.False(t, asked, "a later turn is none of its business")
	sound(t, path)
}

func TestCommand_TenTimesAtOnce_IsDoneOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	for _, id := range []string{"m1", "m2", "m3"} {
		accept(t, s, message(id, "hello"))
	}
	runs, fresh := make([]int, 10), make([]bool, 10)
	errs := make([]error, 10)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			got, err := s.RunCommand(t.Context(), message("stop1", "/stop"), "stop", stop(&runs[i]))
			fresh[i], errs[i] = !got.Duplicate, err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	done := 0
	for _, f := range fresh {
		if f {
			done++
		}
	}
	require.Equal(t, 1, done)
	require.Equal(t, int64(1), query[int64](t, path, `SELECT count(*) FROM turns WHERE status = 'cancelled'`))
	sound(t, path)
}

func TestCommand_IdOfAMessage_IsAnsweredByItsTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	turn := accept(t, s, message("m1", "hello"))
	runs := 0
	got := commandRun(t, s, message("m1", "/stop"), "stop", stop(&runs))
	require.True(t, got.Duplicate)
	require.Nil(t, got.Command)
	require.Equal(t, turn.ID, got.Turn.ID)
	require.Zero(t, runs)
	sound(t, path)
}

func TestAccept_IdOfACommand_IsAnsweredByTheCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	runs := 0
	command := commandRun(t, s, message("x", "/stop"), "stop", stop(&runs))
	got, err := s.Accept(t.Context(), message("x", "hello"))
	require.NoError(t, err)
	require.True(t, got.Duplicate)
	require.Equal(t, command.Command, got.Command)
	require.Equal(t, command.SessionID, got.SessionID)
	require.Empty(t, got.Turn.ID)
	require.Empty(t, turns(t, s))
	known, is, err := s.Known(t.Context(), message("x", "hello"))
	require.NoError(t, err)
	require.True(t, is)
	require.Equal(t, got, known)
	_, is, err = s.Known(t.Context(), message("y", "hello"))
	require.NoError(t, err)
	require.False(t, is)
	sound(t, path)
}

func TestCommand_WaitsForNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	runs := 0
	got := commandRun(t, s, message("x", "/stop"), "stop", stop(&runs))
	require.Empty(t, unfinished(t, s, 0))
	require.Nil(t, begin(t, s, got.SessionID))
	counts, err := s.Counts(t.Context(), time.Unix(0, 0))
	require.NoError(t, err)
	require.Zero(t, counts.PendingInbound)
	require.Empty(t, rows(t, s, got.SessionID), "commands are no rows")
}

func TestCommand_Fails_LeavesNothingAndMayComeAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	turn := accept(t, s, message("m1", "hello"))
	broken := errors.New("broken")
	_, err := s.RunCommand(t.Context(), message("x", "/stop"), "stop", func(tx *store.CommandTx) (store.CommandAnswer, error) {
		_, err := tx.Cancel("")
		return store.CommandAnswer{}, errors.Join(err, broken)
	})
	require.ErrorIs(t, err, broken)
	now, err := s.Turn(t.Context(), turn.ID)
	require.NoError(t, err)
	require.Equal(t, chat.TurnQueued, now.Status)
	runs := 0
	require.False(t, commandRun(t, s, message("x", "/stop"), "stop", stop(&runs)).Duplicate)
	require.Equal(t, 1, runs)
	sound(t, path)
}

func TestCommand_AnswerToDeliver_IsInTheOutboxOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	m := message("x", "/help")
	m.Channel = "feishu"
	help := func(*store.CommandTx) (store.CommandAnswer, error) {
		return store.CommandAnswer{Failed: true, Text: "no", Deliver: true}, nil
	}
	got := commandRun(t, s, m, "help", help)
	require.False(t, got.Command.OK)
	commandRun(t, s, m, "help", help)
	out, err := s.PendingOutbound(t.Context(), "feishu", "c1")
	require.NoError(t, err)
	require.Len(t, out, 1)
	require.Equal(t, got.Command.ID, out[0].Origin)
	require.Equal(t, "no", out[0].Content)
	require.Equal(t, []string{got.SessionID}, unfinished(t, s, 0), "a lost nudge loses no answer")
	sound(t, path)
}

func TestCommand_InASessionOfAnotherChannel_IsUpToTheCommand(t *testing.T) {
	s := open(t)
	m := message("m1", "hi")
	m.Channel = "feishu"
	other := accept(t, s, m)
	c := message("x", "/stop")
	c.SessionID = other.SessionID
	got := commandRun(t, s, c, "stop", func(tx *store.CommandTx) (store.CommandAnswer, error) {
		require.Equal(t, "feishu", tx.Session.Channel)
		_, err := tx.Cancel("")
		return store.CommandAnswer{}, err
	})
	require.Equal(t, other.SessionID, got.SessionID)
	c.ExternalID, c.SessionID = "y", "cli:c1:nope"
	_, err := s.RunCommand(t.Context(), c, "stop", func(*store.CommandTx) (store.CommandAnswer, error) { return store.CommandAnswer{}, nil })
	require.ErrorIs(t, err, store.ErrNotFound)
}

// Records that were written before there were commands are taken over.
func TestOpen_RecordOfTheFirstSchema_IsMigratedAndACopyKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	p, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS("migrations").(fs.ReadDirFS), goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	_, err = p.UpTo(t.Context(), 1)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `
		INSERT INTO sessions (id, channel, chat_id, dialog_id, created_at, last_active_at, active) VALUES ('cli:c1:d', 'cli', 'c1', 'd', 1, 1, 1);
		INSERT INTO inbound_messages (id, channel, chat_id, external_id, session_id, sender_id, content, status, turn_id, received_at) VALUES ('i', 'cli', 'c1', 'm1', 'cli:c1:d', 'me', 'hello', 'received', 't', 1);
		INSERT INTO turns (id, session_id, inbound_id, status, created_at, queued_at, progress_at, rev) VALUES ('t', 'cli:c1:d', 'i', 'queued', 1, 1, 1, 1);`)
	require.NoError(t, err)
	require.NoError(t, db.Close())

	s, _ := openAt(t, path)
	got, err := s.Accept(t.Context(), message("m1", "hello"))
	require.NoError(t, err)
	require.Equal(t, "t", got.Turn.ID)
	runs := 0
	commandRun(t, s, message("x", "/stop"), "stop", stop(&runs))
	require.Equal(t, "cancelled", query[string](t, path, `SELECT status FROM turns`))
	sound(t, path)
	require.Equal(t, int64(1), query[int64](t, kept(t, path), `SELECT count(*) FROM turns WHERE status = 'queued'`))
}
