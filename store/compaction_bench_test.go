package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/compact"
	"picobot/internal/prompt"
	"picobot/store"
)

// A compaction in a session of 100,000 rows, of which 50 turns (200 rows) stay: the look
// at what there is and the commit, against the commit of one answer.
func BenchmarkCompaction_100000Rows(b *testing.B) {
	const rows, keep = 100_000, 50
	ctx := context.Background()
	var look, commit, one float64
	for b.Loop() {
		b.StopTimer()
		s, path := openBench(b)
		first := begun(b, s, "first")
		one += milliseconds(func() {
			_, err := s.CommitAnswer(ctx, first.ID, 1, store.Answer{Message: chat.Message{Role: chat.RoleAssistant, Content: "done"}})
			require.NoError(b, err)
		})
		fill(b, path, first.SessionID, rows)
		b.StartTimer()
		var p store.CompactionPlan
		look += milliseconds(func() {
			var err error
			p, err = s.PlanCompaction(ctx, first.SessionID, keep, prompt.Weight, compact.NewTranscript(100_000).Add)
			require.NoError(b, err)
		})
		c, err := s.AddSummary(ctx, planned(p), nil, nil)
		require.NoError(b, err)
		commit += milliseconds(func() {
			done, err := s.CommitCompaction(ctx, c.ID, nil)
			require.NoError(b, err)
			require.Equal(b, store.CompactionCommitted, done.State)
		})
	}
	n := float64(b.N)
	b.ReportMetric(look/n, "look-ms")
	b.ReportMetric(commit/n, "commit-ms")
	b.ReportMetric(one/n, "one-answer-ms")
	b.ReportMetric(commit/one, "of-one-answer")
	b.ReportMetric(0, "ns/op") // means nothing here
}

func milliseconds(what func()) float64 {
	began := time.Now()
	what()
	return float64(time.Since(began)) / float64(time.Millisecond)
}
