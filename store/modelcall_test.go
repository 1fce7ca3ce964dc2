package store_test

import (
	"context"
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/store"
)

func modelCalls(t *testing.T, s *store.Store, turnID string) []store.ModelCall {
	t.Helper()
	out, err := s.ModelCalls(t.Context(), turnID)
	require.NoError(t, err)
	return out
}

func modelCall(s *store.Store, kind string, u chat.Usage) store.ModelCall {
	return store.ModelCall{ID: s.NewID(), Step: 1, ModelIndex: 1, Attempt: 2, Model: "m", Provider: "p", Error: kind, Usage: u, DurationMS: 7, CreatedAt: 5}
}

func TestCommitAnswer_WritesItsCallsAndAddsThemToTheTurn(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	failed := modelCall(s, "overloaded", chat.Usage{PromptTokens: 10, CachedTokens: 4})
	answered := modelCall(s, "", chat.Usage{PromptTokens: 20, CompletionTokens: 8, CachedTokens: 5, ReasoningTokens: 3})
	require.NoError(t, s.RecordCalls(t.Context(), turn.ID, []store.ModelCall{failed}))
	a := say("hi")
	a.Calls = []store.ModelCall{answered}
	got := answer(t, s, turn.ID, 1, a)
	require.Equal(t, chat.Usage{PromptTokens: 30, CompletionTokens: 8, CachedTokens: 9, ReasoningTokens: 3}, got.Turn.Usage)
	failed.TurnID, answered.TurnID = turn.ID, turn.ID
	require.Equal(t, []store.ModelCall{failed, answered}, modelCalls(t, s, turn.ID))
	require.Equal(t, []string{"failed", "completed"}, []string{failed.Status(), answered.Status()})
}

// A commit that got through unnoticed is tried again.
func TestCommitAnswer_Again_CountsItsCallsOnce(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	a := call("a")
	a.Calls = []store.ModelCall{modelCall(s, "", chat.Usage{PromptTokens: 20})}
	answer(t, s, turn.ID, 1, a)
	require.True(t, answer(t, s, turn.ID, 1, a).Existing)
	require.NoError(t, s.RecordCalls(t.Context(), turn.ID, a.Calls))
	require.Len(t, modelCalls(t, s, turn.ID), 1)
	got, err := s.Turn(t.Context(), turn.ID)
	require.NoError(t, err)
	require.EqualValues(t, 20, got.Usage.PromptTokens)
}

// Two processes may ask for the same step: one answer counts, both are paid for.
func TestCommitAnswer_StepHasItsAnswer_IsPaidForAllTheSame(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	answer(t, s, turn.ID, 1, call("a"))
	got := answer(t, s, turn.ID, 1, call("a"))
	require.True(t, got.Existing)
	require.Len(t, modelCalls(t, s, turn.ID), 2)
	now, err := s.Turn(t.Context(), turn.ID)
	require.NoError(t, err)
	require.Equal(t, chat.Usage{PromptTokens: 6, CompletionTokens: 4}, now.Usage)
	require.Equal(t, 1, now.Steps)
}

func TestRecordCalls_TurnHasEnded_KeepsTheCallAndLeavesTheTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	turn := running(t, s)
	before := answer(t, s, turn.ID, 1, say("hi")).Turn
	endsOnce(t, path)
	require.NoError(t, s.RecordCalls(t.Context(), turn.ID, []store.ModelCall{modelCall(s, "canceled", chat.Usage{PromptTokens: 9})}))
	after, err := s.Turn(t.Context(), turn.ID)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Len(t, modelCalls(t, s, turn.ID), 2)
	require.ErrorIs(t, s.RecordCalls(t.Context(), "nope", nil), store.ErrNotFound)
}

// A record of schema 2 keeps what it has, and a copy of it as it was.
func TestOpen_RecordOfTheSecondSchema_IsMigratedAndACopyKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	p, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS("migrations").(fs.ReadDirFS), goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	_, err = p.UpTo(t.Context(), 2)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `
		INSERT INTO sessions (id, channel, chat_id, dialog_id, created_at, last_active_at, active, last_seq, message_count, total_message_count) VALUES ('cli:c1:d', 'cli', 'c1', 'd', 1, 1, 1, 2, 1, 2);
		INSERT INTO messages (id, session_id, seq, role, content, turn_id, step, created_at) VALUES ('u', 'cli:c1:d', 1, 'user', 'hello', 't', 0, 1), ('a', 'cli:c1:d', 2, 'assistant', 'hi', 't', 1, 1);
		INSERT INTO inbound_messages (id, channel, chat_id, external_id, session_id, sender_id, content, status, turn_id, received_at) VALUES ('i', 'cli', 'c1', 'm1', 'cli:c1:d', 'me', 'hello', 'done', 't', 1);
		INSERT INTO turns (id, session_id, inbound_id, status, steps, prompt_tokens, completion_tokens, created_at, started_at, finished_at, queued_at, progress_at, rev)
			VALUES ('t', 'cli:c1:d', 'i', 'completed', 1, 30, 4, 1, 2, 3, 1, 1, 1);`)
	require.NoError(t, err)
	require.NoError(t, db.Close())

	s, _ := openAt(t, path)
	old, err := s.Turn(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, chat.Usage{PromptTokens: 30, CompletionTokens: 4}, old.Usage)
	require.Empty(t, modelCalls(t, s, "t"))
	a := say("hi")
	a.Calls[0].Usage.CachedTokens = 2
	next := accept(t, s, message("m2", "again"))
	begin(t, s, next.SessionID)
	require.EqualValues(t, 2, answer(t, s, next.ID, 1, a).Turn.Usage.CachedTokens)
	sound(t, path)
	require.Equal(t, int64(2), query[int64](t, kept(t, path), `SELECT max(version_id) FROM goose_db_version`))
}

// drain reads a tally to its end.
func drain(t *testing.T, tally *store.Tally) store.Ended {
	t.Helper()
	var all store.Ended
	for {
		e, err := tally.Next(t.Context())
		require.NoError(t, err)
		if e.Empty() {
			return all
		}
		all.Turns, all.Calls, all.Runs = append(all.Turns, e.Turns...), append(all.Calls, e.Calls...), append(all.Runs, e.Runs...)
	}
}

func TestTally_TellsWhatHasEndedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, clock := openAt(t, path)
	tally := s.Tally()
	require.True(t, drain(t, tally).Empty())
	turn := running(t, s)
	answer(t, s, turn.ID, 1, call("a", "b"))
	for pos, id := range []string{"a", "b"} {
		_, _, err := s.ClaimTool(t.Context(), toolRun(turn.ID, 1, pos, id))
		require.NoError(t, err)
	}
	require.Equal(t, store.Ended{Calls: []store.EndedCall{{Model: "m", Provider: "p", Usage: chat.Usage{PromptTokens: 3, CompletionTokens: 2}}}}, drain(t, tally))
	clock.move(2 * time.Second)
	done := toolRun(turn.ID, 1, 1, "b")
	done.Status = chat.ToolFailed
	_, err := s.CommitTool(t.Context(), done)
	require.NoError(t, err)
	got := drain(t, tally)
	require.Len(t, got.Runs, 1, "the other has no result yet")
	require.Equal(t, chat.ToolFailed, got.Runs[0].Status)
	require.GreaterOrEqual(t, got.Runs[0].Took, int64(2000))
	_, err = s.FinishTurn(t.Context(), store.Finish{TurnID: turn.ID, Status: chat.TurnFailed, Code: "c", Text: "broken", NotRun: "no", Unknown: "who knows"})
	require.NoError(t, err)
	got = drain(t, tally)
	require.Len(t, got.Runs, 1)
	require.Equal(t, chat.ToolUnknown, got.Runs[0].Status)
	require.Len(t, got.Turns, 1)
	require.Equal(t, "cli", got.Turns[0].Channel)
	require.Equal(t, chat.TurnFailed, got.Turns[0].Status)
	require.True(t, got.Turns[0].Began)
	require.True(t, drain(t, tally).Empty())

	withdrawn := accept(t, s, message("m2", "never mind"))
	_, err = s.Cancel(t.Context(), withdrawn.SessionID, "")
	require.NoError(t, err)
	got = drain(t, tally)
	require.Len(t, got.Turns, 1)
	require.False(t, got.Turns[0].Began)
	fresh := drain(t, s.Tally())
	require.Len(t, fresh.Turns, 2, "another reader gets it all")
	require.Len(t, fresh.Runs, 2)
}

func TestTally_MoreThanOnePage_IsReadWhole(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	const many = 12_001
	calls := make([]store.ModelCall, many)
	for i := range calls {
		calls[i] = modelCall(s, "timeout", chat.Usage{PromptTokens: 1})
	}
	require.NoError(t, s.RecordCalls(t.Context(), turn.ID, calls))
	require.Len(t, drain(t, s.Tally()).Calls, many)
}

func TestTally_RecordCannotBeRead_ReadsTheSameAgain(t *testing.T) {
	s := open(t)
	tally := s.Tally()
	turn := running(t, s)
	answer(t, s, turn.ID, 1, say("hi"))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tally.Next(over)
	require.Error(t, err)
	require.Len(t, drain(t, tally).Turns, 1)
}

func TestBacklog_CountsWhatWaits(t *testing.T) {
	s := open(t)
	m := message("m1", "hi")
	m.Channel = "feishu"
	turn := accept(t, s, m)
	begin(t, s, turn.SessionID)
	m.ExternalID = "m2"
	accept(t, s, m)
	a := say("hello")
	a.Deliver = true
	answer(t, s, turn.ID, 1, a)
	got, err := s.Backlog(t.Context())
	require.NoError(t, err)
	require.Equal(t, store.Backlog{QueuedTurns: 1, PendingOutbox: 1}, got)
}

func TestPayMaintenance_CountsWhatItIsToldTwiceOnce(t *testing.T) {
	s := open(t)
	_, err := s.NextMaintenance(t.Context(), store.NextMaintenance{Run: "r", MaxTokens: 1000})
	require.NoError(t, err)
	calls := []store.ModelCall{
		modelCall(s, "", chat.Usage{PromptTokens: 20, CompletionTokens: 8}),
		modelCall(s, "overloaded", chat.Usage{PromptTokens: 3}),
	}
	for range 2 {
		require.NoError(t, s.PayMaintenance(t.Context(), "r", calls))
	}
	got, err := s.Maintenance(t.Context(), "r")
	require.NoError(t, err)
	require.EqualValues(t, 31, got.Tokens)
}
