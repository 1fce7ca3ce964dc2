package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/store"
)

// context returns what a request of the turn is built from, in at most so many bytes.
func contextOf(t *testing.T, s *store.Store, turn store.Turn, maxBytes int) []store.Row {
	t.Helper()
	c, err := s.TurnContext(t.Context(), turn.ID, func(store.Session) int { return maxBytes })
	require.NoError(t, err)
	return c.Rows
}

// talk makes turns of two rows of about size bytes each, and begins one more.
func talk(t *testing.T, s *store.Store, turns, size int) store.Turn {
	t.Helper()
	for i := range turns {
		turn := accept(t, s, message(fmt.Sprint("old", i), strings.Repeat("q", size)))
		_, err := s.BeginTurn(t.Context(), store.Begin{SessionID: turn.SessionID, AgentPrompt: "you are PicoBot"})
		require.NoError(t, err)
		_, err = s.CommitAnswer(t.Context(), turn.ID, 1, store.Answer{Message: chat.Message{Role: chat.RoleAssistant, Content: strings.Repeat("a", size)}})
		require.NoError(t, err)
	}
	turn := accept(t, s, message("now", "now"))
	_, err := s.BeginTurn(t.Context(), store.Begin{SessionID: turn.SessionID, AgentPrompt: "you are PicoBot"})
	require.NoError(t, err)
	return turn
}

func seqs(rows []store.Row) (out []int64) {
	for _, r := range rows {
		out = append(out, r.Seq)
	}
	return out
}

func TestTurnContext_LongSession_NewestWholeTurnsAndThePrompt(t *testing.T) {
	s, _ := openAt(t, t.TempDir()+"/x.db")
	turn := talk(t, s, 5, 100) // seq 1 the prompt, 2..11 five turns, 12 the question
	require.Len(t, contextOf(t, s, turn, 10_000), 12)
	for limit, cut := range map[int]bool{10_000: false, 410: true} {
		c, err := s.TurnContext(t.Context(), turn.ID, func(store.Session) int { return limit })
		require.NoError(t, err)
		require.Equal(t, cut, c.Cut)
	}
	require.Equal(t, []int64{1, 8, 9, 10, 11, 12}, seqs(contextOf(t, s, turn, 410)))
	require.Equal(t, []int64{1, 8, 9, 10, 11, 12}, seqs(contextOf(t, s, turn, 599)), "half a turn is none")
	require.Equal(t, []int64{1, 12}, seqs(contextOf(t, s, turn, 150)))
	require.Equal(t, []int64{1, 12}, seqs(contextOf(t, s, turn, 0)), "the running turn and the prompt are always there")
}

// Clients hang up at any moment. Whatever a read was at, the next one must work.
func TestReads_CallersHangUpAtAnyMoment_LaterReadsWork(t *testing.T) {
	s, _ := openAt(t, t.TempDir()+"/x.db")
	turn := accept(t, s, message("1", "hello"))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 0))
			for range 4000 {
				ctx, hangUp := context.WithCancel(context.Background())
				stop := time.AfterFunc(time.Duration(rnd.IntN(60))*time.Microsecond, hangUp)
				_, _ = s.Session(ctx, turn.SessionID)
				stop.Stop()
				hangUp()
			}
		})
	}
	all.Wait()
	for range 40 {
		_, err := s.Session(context.Background(), turn.SessionID)
		require.NoError(t, err)
	}
}
