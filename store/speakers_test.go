package store_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/store"
)

// spoken runs a turn of a person in a group chat and returns the prompts of its session
// so far. The prompt is what personal makes of it: the scopes it is for.
func spoken(t *testing.T, s *store.Store, path, sender, agentPrompt string, n int) []string {
	t.Helper()
	m := message(fmt.Sprint(sender, n), "hi")
	m.SenderID = sender
	turn := accept(t, s, m)
	p, err := s.BeginTurn(t.Context(), store.Begin{SessionID: turn.SessionID, AgentPrompt: agentPrompt, ReinjectEvery: 3,
		Personal: func(prompt string, scopes []string) string {
			slices.Sort(scopes)
			var mine []string
			for _, part := range strings.Split(prompt, ",") {
				if scope, _, private := strings.Cut(part, "="); !private || slices.Contains(scopes, scope) {
					mine = append(mine, part)
				}
			}
			return strings.Join(mine, ",")
		}})
	require.NoError(t, err)
	answer(t, s, p.Turn.ID, 1, say("hello"))
	return strings.Fields(query[string](t, path, `SELECT group_concat(content, ' ') FROM (SELECT content FROM messages WHERE marker = 'agent_prompt' ORDER BY seq)`))
}

func TestBeginTurn_Prompt_HasOnlyThePartsOfThoseWhoSpeakThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	const all = "base,cli:alice=1,cli:bob=1"
	require.Equal(t, []string{"base,cli:alice=1"}, spoken(t, s, path, "alice", all, 1))
	// Others change: nothing of it is this chat's, however long it goes on.
	for n := range 5 {
		require.Equal(t, []string{"base,cli:alice=1"}, spoken(t, s, path, "alice", fmt.Sprint("base,cli:alice=1,cli:bob=", n), 10+n))
	}
	// Somebody else speaks: they are in it from the next time on that a prompt is due.
	require.Equal(t, []string{"base,cli:alice=1", "base,cli:alice=1,cli:bob=1"}, spoken(t, s, path, "bob", all, 1))
	require.Len(t, spoken(t, s, path, "alice", "base,cli:alice=2,cli:bob=1", 20), 2, "not due yet")
	require.Len(t, spoken(t, s, path, "alice", "base,cli:alice=2,cli:bob=1", 21), 2)
	require.Equal(t, "base,cli:alice=2,cli:bob=1", spoken(t, s, path, "alice", "base,cli:alice=2,cli:bob=1", 22)[2])
	// After a reset only those count who speak from then on.
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(`UPDATE sessions SET reset_cutoff_seq = last_seq`)
	require.NoError(t, err)
	require.Equal(t, "base,cli:bob=1", spoken(t, s, path, "bob", all, 30)[3])
}
