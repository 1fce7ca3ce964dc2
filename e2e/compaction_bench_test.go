package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/catalog"
	"picobot/store"
)

// lateSummaries are models that take their time for what is asked without tools.
type lateSummaries struct {
	*catalog.Catalog
	takes *atomic.Int64
}

func (m lateSummaries) Model(name string) (llm.Provider, llm.Model, int, error) {
	p, model, window, err := m.Catalog.Model(name)
	return lateSummary{p, m.takes}, model, window, err
}

type lateSummary struct {
	llm.Provider
	takes *atomic.Int64
}

func (p lateSummary) Complete(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	if len(req.Tools) == 0 {
		t := time.NewTimer(time.Duration(p.takes.Load()))
		defer t.Stop()
		<-t.C
	}
	return p.Provider.Complete(ctx, req, onDelta)
}

// Turns with one tool call in a session of 400 rows, one after the other from the start
// of a compaction of that session until it is done, against as many in a session that
// is left alone. The model takes a second for the summary, which is little.
func BenchmarkTurn_WhileItsSessionIsCompacted(b *testing.B) {
	s := newStack(b)
	s.summaryTakes.Store(int64(time.Second))
	n, said := 0, strings.Repeat("all work and no play ", 50)
	session := func() (chatID, id string) {
		n++
		chatID = fmt.Sprint("compact", n)
		for range 200 {
			t := s.accept(chatID, said)
			s.fill(t)
			id = t.SessionID
		}
		s.answer(chatID, "calc 12*7") // the first one makes caches
		s.idle(id)
		return chatID, id
	}
	one := func(chatID, id string) time.Duration {
		took := timed(func() { s.answer(chatID, "calc 12*7") })
		s.idle(id)
		return took
	}
	var with, without []time.Duration
	for b.Loop() {
		chatID, id := session()
		s.compact(id)
		turns := 0
		for done := false; !done; turns++ {
			with = append(with, one(chatID, id))
			all, err := s.record.Compactions(context.Background(), id)
			require.NoError(s, err)
			if done = len(all) > 0 && all[0].State != store.CompactionSummarised; done {
				require.Equal(s, store.CompactionCommitted, all[0].State)
			}
		}
		chatID, id = session()
		for range turns {
			without = append(without, one(chatID, id))
		}
	}
	report(b, "ms", milliseconds(mean(with)), milliseconds(mean(without)))
}

func mean(all []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(len(all))
}

// compact asks for a compaction and starts it, as /compact does.
func (s *stack) compact(sessionID string) {
	_, err := s.record.RunCommand(context.Background(), store.Inbound{Channel: "cli", ChatID: "operator", ExternalID: fmt.Sprint("compact", s.seq.Add(1)), SessionID: sessionID, Content: "/compact"}, "compact",
		func(tx *store.CommandTx) (store.CommandAnswer, error) {
			_, err := tx.AskCompaction(3, func(chat.Message) int { return 1 }, func(store.CompactionPlan) bool { return true })
			return store.CommandAnswer{}, err
		})
	require.NoError(s, err)
	s.dispatch.Compact(sessionID)
}
