package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/store"
)

// fill gives a session so many rows, four to a turn, straight into the table.
func fill(b *testing.B, path, sessionID string, rows int) {
	b.Helper()
	db := openRaw(b, path)
	_, err := db.ExecContext(context.Background(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		INSERT INTO messages (id, session_id, seq, role, content, tool_calls, tool_call_id, tool_name, turn_id, step, created_at)
		SELECT 'row' || i, ?1, (SELECT last_seq FROM sessions WHERE id = ?1) + i,
			CASE i % 4 WHEN 1 THEN 'user' WHEN 3 THEN 'tool' ELSE 'assistant' END, ?3,
			CASE i % 4 WHEN 2 THEN '[{"id":"c","type":"function","function":{"name":"x","arguments":"{}"}}]' END,
			CASE i % 4 WHEN 3 THEN 'c' END, CASE i % 4 WHEN 3 THEN 'x' END, 'turn' || ((i - 1) / 4), i % 4, 1 FROM n`,
		sessionID, rows, strings.Repeat("all work and no play ", 20))
	require.NoError(b, err)
	_, err = db.ExecContext(context.Background(), `UPDATE sessions SET last_seq = last_seq + ? WHERE id = ?`, rows, sessionID)
	require.NoError(b, err)
}

// The context of a model call in a session with 100,000 rows: compacted as it should
// be, and never compacted.
func BenchmarkTurnContext_100000Rows(b *testing.B) {
	const rows = 100_000
	const window = 4 * 128_000 // bytes of a usual window
	for name, active := range map[string]int{"compacted": 400, "never-compacted": rows} {
		b.Run(name, func(b *testing.B) {
			s, path := openBench(b)
			first := begun(b, s, "first")
			_, err := s.CommitAnswer(context.Background(), first.ID, 1, store.Answer{Message: chat.Message{Role: chat.RoleAssistant, Content: "done"}})
			require.NoError(b, err)
			fill(b, path, first.SessionID, rows)
			db := openRaw(b, path)
			_, err = db.ExecContext(context.Background(), `UPDATE sessions SET reset_cutoff_seq = last_seq - ?`, active)
			require.NoError(b, err)
			turn := begun(b, s, "now")
			var n int
			for b.Loop() {
				c, err := s.TurnContext(context.Background(), turn.ID, func(store.Session) int { return window })
				require.NoError(b, err)
				n = len(c.Rows)
			}
			b.ReportMetric(float64(n), "rows")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms")
		})
	}
}

// Messages written down, one after the other and many at once: what waits for the
// disk waits together.
func BenchmarkAccept(b *testing.B) {
	for _, people := range []int{1, 16} {
		b.Run(fmt.Sprintf("%d-at-once", people), func(b *testing.B) {
			s, _ := openBench(b)
			var n atomic.Int64
			b.SetParallelism(people) // times GOMAXPROCS
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := n.Add(1)
					_, err := s.Accept(context.Background(), store.Inbound{Channel: "cli", ChatID: fmt.Sprint(i % 16), ExternalID: fmt.Sprint(i), SenderID: "me", Content: "hello"})
					require.NoError(b, err)
				}
			})
		})
	}
}

// A step's answer with the call that it took, and as it was before calls were recorded.
func BenchmarkCommitAnswer(b *testing.B) {
	for name, calls := range map[string][]store.ModelCall{"no-call": nil, "one-call": {{Model: "m", Provider: "p", Usage: chat.Usage{PromptTokens: 100, CompletionTokens: 10}}}} {
		b.Run(name, func(b *testing.B) {
			s, _ := openBench(b)
			turn := begun(b, s, "m1")
			answer := store.Answer{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{chat.NewToolCall("c", "x", "{}")}}, Model: "m", Calls: calls}
			step := 0
			for b.Loop() {
				step++
				_, err := s.CommitAnswer(context.Background(), turn.ID, step, answer)
				require.NoError(b, err)
			}
		})
	}
}

// A scrape of a record that nobody has scraped: it is read from its beginning.
func BenchmarkTally_100000Calls(b *testing.B) {
	s, _ := openBench(b)
	turn := begun(b, s, "m1")
	calls := make([]store.ModelCall, 100_000)
	for i := range calls {
		calls[i] = store.ModelCall{Model: "m", Provider: "p"}
	}
	require.NoError(b, s.RecordCalls(context.Background(), turn.ID, calls))
	for b.Loop() {
		tally := s.Tally()
		for {
			e, err := tally.Next(context.Background())
			require.NoError(b, err)
			if e.Empty() {
				break
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms")
}

func begun(b *testing.B, s *store.Store, id string) store.Turn {
	b.Helper()
	a, err := s.Accept(context.Background(), store.Inbound{Channel: "cli", ChatID: "bench", ExternalID: id, SenderID: "me", Content: "hello"})
	require.NoError(b, err)
	_, err = s.BeginTurn(context.Background(), store.Begin{SessionID: a.Turn.SessionID, AgentPrompt: "you are PicoBot"})
	require.NoError(b, err)
	return a.Turn
}

func openBench(b *testing.B) (*store.Store, string) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "sessions.db")
	s, err := store.Open(context.Background(), store.Options{Path: path, Now: time.Now})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return s, path
}

func openRaw(b *testing.B, path string) *sql.DB {
	b.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	return db
}
