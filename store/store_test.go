package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/testkit/record"
	"picobot/store"
)

// clock is a clock that moves a millisecond each time it is read.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(time.Millisecond)
	return c.t
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func open(t *testing.T) *store.Store {
	t.Helper()
	s, _ := openAt(t, record.At(t, filepath.Join(t.TempDir(), "sessions.db")))
	return s
}

func openAt(t *testing.T, path string) (*store.Store, *clock) {
	t.Helper()
	c := &clock{t: time.Unix(1_700_000_000, 0)}
	s, err := store.Open(t.Context(), store.Options{Path: path, Now: c.now, RetryDelays: []time.Duration{time.Millisecond, 2 * time.Millisecond}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, c
}

func message(id, content string) store.Inbound {
	return store.Inbound{Channel: "cli", ChatID: "c1", ExternalID: id, SenderID: "me", Content: content, New: store.NewSession{Title: "New chat"}}
}

// accept writes a message down and returns its turn.
func accept(t *testing.T, s *store.Store, m store.Inbound) store.Turn {
	t.Helper()
	a, err := s.Accept(t.Context(), m)
	require.NoError(t, err)
	require.False(t, a.Duplicate)
	return a.Turn
}

func begin(t *testing.T, s *store.Store, sessionID string) *store.Position {
	t.Helper()
	p, err := s.BeginTurn(t.Context(), store.Begin{SessionID: sessionID, WorkflowID: "session/x", RunID: "r", AgentPrompt: "be good", ReinjectEvery: 2})
	require.NoError(t, err)
	return p
}

// running accepts a message and begins its turn.
func running(t *testing.T, s *store.Store) store.Turn {
	t.Helper()
	turn := accept(t, s, message("m1", "hello"))
	p := begin(t, s, turn.SessionID)
	require.Equal(t, turn.ID, p.Turn.ID)
	return p.Turn
}

func say(text string) store.Answer {
	return store.Answer{Message: chat.Message{Role: chat.RoleAssistant, Content: text}, Model: "m",
		Calls: []store.ModelCall{{Step: 1, Model: "m", Provider: "p", Usage: chat.Usage{PromptTokens: 3, CompletionTokens: 2}}}}
}

func call(ids ...string) store.Answer {
	a := say("")
	for _, id := range ids {
		a.Message.ToolCalls = append(a.Message.ToolCalls, chat.NewToolCall(id, "bash", `{"command":"true"}`))
	}
	return a
}

func answer(t *testing.T, s *store.Store, turnID string, step int, a store.Answer) store.Committed {
	t.Helper()
	c, err := s.CommitAnswer(t.Context(), turnID, step, a)
	require.NoError(t, err)
	return c
}

func toolRun(turnID string, step, pos int, callID string) store.ToolRun {
	return store.ToolRun{TurnID: turnID, Step: step, Position: pos, CallID: callID, Name: "bash", Effect: "outside"}
}

func rows(t *testing.T, s *store.Store, sessionID string) []store.Row {
	t.Helper()
	r, err := s.Messages(t.Context(), sessionID, 0, 0)
	require.NoError(t, err)
	for i, m := range r {
		require.EqualValues(t, i+1, m.Seq, "seq has a gap")
	}
	return r
}

func roles(r []store.Row) (out []string) {
	for _, m := range r {
		out = append(out, string(m.Role))
	}
	return out
}

// query reads one value from the file itself, as an outside reader does.
func query[T any](t *testing.T, path, q string, args ...any) T {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var v T
	require.NoError(t, db.QueryRowContext(context.Background(), q, args...).Scan(&v))
	return v
}

// kept returns the copy of a record that was made before its migration.
func kept(t *testing.T, path string) string {
	t.Helper()
	files, err := os.ReadDir("migrations")
	require.NoError(t, err)
	number, _, _ := strings.Cut(files[len(files)-1].Name(), "_")
	schema, err := strconv.Atoi(number)
	require.NoError(t, err)
	copied := fmt.Sprintf("%s.before-%d", path, schema)
	require.FileExists(t, copied)
	return copied
}
