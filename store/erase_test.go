package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
	"picobot/internal/testkit/record"
	"picobot/internal/testkit/strict"
	"picobot/store"
)

// deleteDialog soft-deletes the session by a command.
func deleteDialog(t testing.TB, s *store.Store, session, command string) {
	t.Helper()
	m := message(command, "/delete")
	m.SessionID = session
	_, err := s.RunCommand(t.Context(), m, "delete", func(tx *store.CommandTx) (store.CommandAnswer, error) {
		next, _, err := tx.Delete(store.Finish{NotRun: "Error: no", Unknown: "Unknown outcome: gone"})
		return store.CommandAnswer{Text: "deleted", SessionID: next.ID}, err
	})
	require.NoError(t, err)
}

// erase takes steps until the session is gone.
func erase(t testing.TB, s *store.Store, session string, before time.Time) {
	t.Helper()
	for range 10_000 {
		gone, err := s.EraseStep(t.Context(), session, before)
		require.NoError(t, err)
		if gone {
			return
		}
	}
	t.Fatal("the session is never gone")
}

// totals is everything a tally that begins now counts.
func totals(t testing.TB, tally *store.Tally) (turns, calls, runs, tokens int) {
	t.Helper()
	for {
		e, err := tally.Next(context.Background())
		require.NoError(t, err)
		if e.Empty() {
			return turns, calls, runs, tokens
		}
		turns, calls, runs = turns+len(e.Turns), calls+len(e.Calls), runs+len(e.Runs)
		for _, c := range e.Calls {
			tokens += int(c.Usage.PromptTokens)
		}
	}
}

// converse has n messages answered, each with a tool call.
func converse(t testing.TB, s *store.Store, session, prefix string, n int) {
	t.Helper()
	for i := range n {
		m := message(fmt.Sprint(prefix, i), "hello")
		m.SessionID = session
		m.Media = []chat.MediaRef{{Type: "image", Path: fmt.Sprint(prefix, i, ".png")}}
		a, err := s.Accept(t.Context(), m)
		require.NoError(t, err)
		_, err = s.BeginTurn(t.Context(), store.Begin{SessionID: session, WorkflowID: "w", RunID: "r"})
		require.NoError(t, err)
		id := fmt.Sprint(prefix, i, "c")
		c := chat.NewToolCall(id, "x", "{}")
		_, err = s.CommitAnswer(t.Context(), a.Turn.ID, 1, store.Answer{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{c}}, Model: "m",
			Calls: []store.ModelCall{{Step: 1, Model: "m", Provider: "p", Usage: chat.Usage{PromptTokens: 3}}}})
		require.NoError(t, err)
		_, err = s.CommitTool(t.Context(), store.ToolRun{TurnID: a.Turn.ID, Step: 1, CallID: id, Name: "x", Effect: "read_only", Status: chat.ToolCompleted, Result: "r"})
		require.NoError(t, err)
		_, err = s.CommitAnswer(t.Context(), a.Turn.ID, 2, store.Answer{Message: chat.Message{Role: chat.RoleAssistant, Content: "done"}, Model: "m",
			Calls: []store.ModelCall{{Step: 2, Model: "m", Provider: "p", Usage: chat.Usage{PromptTokens: 4}}}})
		require.NoError(t, err)
	}
}

func judge(t testing.TB, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	bad, err := strict.Record(db)
	require.NoError(t, err)
	require.Empty(t, bad)
}

func TestErase_EveryStepLeavesASoundRecordAndTheCountsStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	c := &clock{t: time.Unix(1_700_000_000, 0)}
	s, err := store.Open(t.Context(), store.Options{Path: path, Now: c.now, EraseRows: 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	keep, _, err := s.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "keep"})
	require.NoError(t, err)
	converse(t, s, keep.ID, "k", 3)
	sess, _, err := s.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "c1", Welcome: "hi"})
	require.NoError(t, err)
	converse(t, s, sess.ID, "a", 15) // several steps
	running := s.Tally()
	before, _, _, _ := totals(t, running)
	w := message("waits", "withdrawn")
	w.SessionID = sess.ID
	accept(t, s, w)
	deleteDialog(t, s, sess.ID, "d")
	_, err = s.Accept(t.Context(), message("next", "in the next dialog"))
	require.NoError(t, err)
	rev := query[int64](t, path, `SELECT max(rev) FROM turns`)
	turns, calls, runs, tokens := totals(t, s.Tally())

	limit := c.now().Add(time.Hour)
	ids, err := s.Erasable(t.Context(), limit, 10)
	require.NoError(t, err)
	require.Equal(t, []string{sess.ID}, ids)
	none, err := s.Erasable(t.Context(), c.now().Add(-time.Hour), 10)
	require.NoError(t, err)
	require.Empty(t, none)
	steps := 0
	for gone := false; !gone; steps++ {
		gone, err = s.EraseStep(t.Context(), sess.ID, limit)
		require.NoError(t, err)
		judge(t, path)
		a, b, c, d := totals(t, s.Tally())
		require.Equal(t, []int{turns, calls, runs, tokens}, []int{a, b, c, d}, "what was counted stays")
	}
	require.Greater(t, steps, 3)
	for _, table := range []string{"messages", "turns", "inbound_messages"} {
		require.Zero(t, query[int](t, path, `SELECT count(*) FROM `+table+` WHERE session_id = '`+sess.ID+`'`), table)
	}
	require.Zero(t, query[int](t, path, `SELECT count(*) FROM sessions WHERE id = '`+sess.ID+`'`))
	require.Equal(t, 3, query[int](t, path, `SELECT count(*) FROM turns WHERE session_id = '`+keep.ID+`'`), "others keep theirs")

	// What comes after is counted once, by who has counted on and by who begins anew.
	converse(t, s, keep.ID, "z", 2)
	require.Greater(t, query[int64](t, path, `SELECT max(rev) FROM turns`), rev)
	fresh, c2, r2, _ := totals(t, running)
	require.Equal(t, []int{1 + 2, 4, 2}, []int{fresh, c2, r2}) // the withdrawn one and two more
	all, _, _, _ := totals(t, s.Tally())
	require.Equal(t, before+3, all)
	gone, err := s.EraseStep(t.Context(), sess.ID, limit)
	require.NoError(t, err)
	require.True(t, gone, "again is harmless")
}

func TestErase_WithTheNewestRowsErased_NumbersAreNotGivenOutAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, c := openAt(t, path)
	sess, _, err := s.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "c1"})
	require.NoError(t, err)
	converse(t, s, sess.ID, "a", 4)
	running := s.Tally()
	totals(t, running)
	deleteDialog(t, s, sess.ID, "d")
	erase(t, s, sess.ID, c.now().Add(time.Hour)) // everything there was
	other, _, err := s.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "c2"})
	require.NoError(t, err)
	converse(t, s, other.ID, "b", 3)
	turns, calls, runs, tokens := totals(t, running)
	require.Equal(t, []int{3, 6, 3, 21}, []int{turns, calls, runs, tokens})
	judge(t, path)
}

func TestErase_SessionWithSomethingToAnswerOrToSend_Stays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, c := openAt(t, path)
	sess, _, err := s.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "c1"})
	require.NoError(t, err)
	converse(t, s, sess.ID, "a", 1)
	limit := c.now().Add(time.Hour)
	_, err = s.EraseStep(t.Context(), sess.ID, limit)
	require.ErrorIs(t, err, store.ErrReadOnlySession, "it was not deleted")
	deleteDialog(t, s, sess.ID, "d")
	stays := func(why string) {
		t.Helper()
		ids, err := s.Erasable(t.Context(), limit, 10)
		require.NoError(t, err)
		require.Empty(t, ids, why)
		_, err = s.EraseStep(t.Context(), sess.ID, limit)
		require.ErrorIs(t, err, store.ErrReadOnlySession, why)
	}
	turn := query[string](t, path, `SELECT id FROM turns`)
	run := query[string](t, path, `SELECT id FROM tool_runs`)
	for _, o := range []store.Outbound{
		{Channel: "cli", ChatID: "c1", SessionID: sess.ID, Origin: "o1", Content: "x"},
		{Channel: "cli", ChatID: "other", Origin: turn, TurnID: turn, Content: "x"},
		{Channel: "feishu", ChatID: "oc", Origin: run, TurnID: turn, Content: "x"},
	} {
		id, err := s.Enqueue(t.Context(), o)
		require.NoError(t, err)
		stays(o.Origin)
		require.NoError(t, s.MarkOutbound(t.Context(), id, "sent", "", ""))
	}
	erase(t, s, sess.ID, limit)
	require.Equal(t, 2, query[int](t, path, `SELECT count(*) FROM outbound_messages`), "what went to other chats is theirs")
}

// A command that led to the erased dialog was said elsewhere: there it stays done.
func TestErase_CommandThatLedThere_IsStillNotDoneAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, c := openAt(t, path)
	home, _, err := s.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "c1"})
	require.NoError(t, err)
	n := message("n", "/new")
	n.SessionID = home.ID
	runs := 0
	open := func() store.Accepted {
		got, err := s.RunCommand(t.Context(), n, "new", func(tx *store.CommandTx) (store.CommandAnswer, error) {
			runs++
			sess, err := tx.Open("b")
			return store.CommandAnswer{Text: "new", SessionID: sess.ID}, err
		})
		require.NoError(t, err)
		return got
	}
	led := open()
	deleteDialog(t, s, led.Command.SessionID, "d")
	erase(t, s, led.Command.SessionID, c.now().Add(time.Hour))
	again := open()
	require.True(t, again.Duplicate)
	require.Equal(t, 1, runs)
	require.Equal(t, home.ID, again.Command.SessionID)
	judge(t, path)
}

// Whoever adds a table that refers to what is erased has to say what becomes of its rows.
func TestErase_EveryTableThatRefersToASession_IsKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	openAt(t, path)
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.Query(`SELECT m.name || '.' || f."from" || ' > ' || f."table" FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table' ORDER BY 1`)
	require.NoError(t, err)
	defer rows.Close()
	var refs []string
	for rows.Next() {
		var ref string
		require.NoError(t, rows.Scan(&ref))
		refs = append(refs, ref)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{
		"commands.inbound_id > inbound_messages",
		"commands.session_id > sessions",
		"compactions.session_id > sessions",
		"inbound_messages.session_id > sessions",
		"messages.session_id > sessions",
		"model_calls.turn_id > turns",
		"tool_runs.turn_id > turns",
		"turn_reactions.turn_id > turns",
		"turns.inbound_id > inbound_messages",
		"turns.session_id > sessions",
	}, refs, "add what becomes of its rows to ofTurn or ofSession in erase.go, and then the table here")
}

func TestErase_AnyHistory_AnyOtherWorkBetweenTheSteps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	c := &clock{t: time.Unix(1_700_000_000, 0)}
	s, err := store.Open(t.Context(), store.Options{Path: path, Now: c.now, EraseRows: 5})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	other, _, err := s.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "other"})
	require.NoError(t, err)
	names := 0
	name := func() string { names++; return fmt.Sprint("n", names, "-") }
	live := s.Tally()
	counted := 0
	look := func() {
		more, _, _, _ := totals(t, live)
		counted += more
	}
	want := 0
	rapid.Check(t, func(rt *rapid.T) {
		var open []string
		for range 2 {
			sess, _, err := s.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: name(), Welcome: "hi"})
			require.NoError(rt, err)
			n := rapid.IntRange(0, 3).Draw(rt, "turns")
			converse(t, s, sess.ID, name(), n)
			want += n
			deleteDialog(t, s, sess.ID, name())
			open = append(open, sess.ID)
		}
		for len(open) > 0 {
			if rapid.IntRange(0, 3).Draw(rt, "work") == 0 {
				converse(t, s, other.ID, name(), 1)
				want++
			}
			if rapid.Bool().Draw(rt, "look") {
				look()
			}
			i := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
			gone, err := s.EraseStep(t.Context(), open[i], c.now().Add(time.Hour))
			require.NoError(rt, err)
			if gone {
				open = append(open[:i], open[i+1:]...)
			}
		}
		look()
		require.Equal(rt, want, counted, "who has counted on")
		all, _, _, _ := totals(t, s.Tally())
		require.Equal(rt, want, all, "who begins anew")
	})
	judge(t, path)
}

func TestMediaPaths_AreThoseOfRowsAndOfMessagesThatWait(t *testing.T) {
	s, c := openAt(t, record.At(t, filepath.Join(t.TempDir(), "sessions.db")))
	sess, _, err := s.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "c1"})
	require.NoError(t, err)
	converse(t, s, sess.ID, "a", 1)
	m := message("w", "look")
	m.ChatID, m.Media = "c2", []chat.MediaRef{{Type: "image", URL: "https://x/y.png"}, {Type: "image", Path: "waits.png"}}
	accept(t, s, m)
	paths, err := s.MediaPaths(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"a0.png": true, "waits.png": true}, paths)
	deleteDialog(t, s, sess.ID, "d")
	erase(t, s, sess.ID, c.now().Add(time.Hour))
	paths, err = s.MediaPaths(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"waits.png": true}, paths)
}
