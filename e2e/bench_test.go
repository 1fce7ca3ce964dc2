package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/store"
)

// A turn with one tool call and an instant model, from the message to its
// recorded answer, turn about with the baseline. Each begins when nothing else is
// at work, as with a person who types.
func BenchmarkTurn_OneTool(b *testing.B) {
	s, base := newStack(b), newBaseline(b)
	var ours, theirs []time.Duration
	one := func() {
		var turn store.Turn
		ours = append(ours, timed(func() { turn = s.answer("bench", "calc 12*7") }))
		s.idle(turn.SessionID)
		theirs = append(theirs, timed(func() { base.answer("bench", fmt.Sprint(len(theirs))) }))
		base.idle("bench")
	}
	one() // the first ones make caches
	ours, theirs = nil, nil
	for b.Loop() {
		one()
	}
	report(b, "ms", milliseconds(median(ours)), milliseconds(median(theirs)))
}

// Sixteen sessions at once, each with turn after turn.
func BenchmarkTurn_OneTool_16Sessions(b *testing.B) {
	const sessions, each = 16, 8
	s, base := newStack(b), newBaseline(b)
	rate := func(answer func(chatID string, n int)) float64 {
		took := timed(func() {
			var all sync.WaitGroup
			for i := range sessions {
				all.Go(func() {
					for n := range each {
						answer(fmt.Sprintf("bench%d", i), n)
					}
				})
			}
			all.Wait()
		})
		return sessions * each / took.Seconds()
	}
	hall := base.hall()
	ourTurn := func(chatID string, _ int) { s.answer(chatID, "calc 12*7") }
	theirTurn := func(chatID string, n int) { hall.answer(chatID, fmt.Sprintf("%s.%d", chatID, n)) }
	rate(ourTurn)
	var ours, theirs []float64
	for b.Loop() {
		ours = append(ours, rate(ourTurn))
		theirs = append(theirs, rate(theirTurn))
	}
	report(b, "turns/s", median(ours), median(theirs))
}

// What a one-tool turn leaves in Temporal's history: early in a session and late.
func BenchmarkTurn_History(b *testing.B) {
	s := newStack(b)
	const late = 10_000
	var size [2]int
	for b.Loop() {
		for i, before := range []int{10, late} {
			size[i] = s.historyOfTurnAfter(fmt.Sprintf("history%d.%d", before, b.N), before)
		}
	}
	b.ReportMetric(float64(size[0]), "history-B/turn")
	b.ReportMetric(float64(size[1])/float64(size[0]), fmt.Sprintf("at-message-%d/at-message-10", late))
}

// Two hundred turns at once, each waiting five seconds for its model.
func BenchmarkTurns_200WaitingAtOnce(b *testing.B) {
	s := newStack(b)
	var worst []time.Duration
	for b.Loop() {
		start := time.Now()
		turns := make([]store.Turn, 200)
		for i := range turns {
			turns[i] = s.say(fmt.Sprintf("wait%d", i), "slow 5")
		}
		for _, t := range turns {
			s.answered(t)
		}
		worst = append(worst, time.Since(start))
	}
	b.ReportMetric(slices.Max(worst).Seconds(), "s-until-all-ended")
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func median[T float64 | time.Duration](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// report reports a figure, the baseline's, and the one as a share of the other.
func report(b *testing.B, unit string, ours, theirs float64) {
	b.ReportMetric(ours, unit)
	b.ReportMetric(theirs, "baseline-"+unit)
	b.ReportMetric(ours/theirs, "of-baseline")
	b.ReportMetric(0, "ns/op") // means nothing here
}

// answer says something and returns once the answer is recorded.
func (s *stack) answer(chatID, content string) store.Turn {
	t := s.say(chatID, content)
	s.answered(t)
	return t
}

// answered waits as the gateway does: woken by commits, reading the record.
func (s *stack) answered(t store.Turn) {
	w := s.acts.Hub.Watch(t.SessionID)
	defer w.Close()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		if now := s.turn(t.ID); now.Status.Final() {
			require.Equal(s, chat.TurnCompleted, now.Status, now.Error)
			return
		}
		select {
		case <-w.C:
		case <-limit.C:
			s.Fatalf("turn %s has not ended", t.ID)
		}
	}
}

// historyOfTurnAfter returns the bytes of history of a one-tool turn in a session
// with so many messages before it.
func (s *stack) historyOfTurnAfter(chatID string, messages int) int {
	for range messages {
		s.fill(s.accept(chatID, "hello"))
	}
	t := s.say(chatID, "calc 12*7")
	s.answered(t)
	s.idle(t.SessionID)
	size := 0
	for _, e := range s.history(t.SessionID, "").Events {
		size += e.Size()
	}
	return size
}

// fill answers a turn in the record alone.
func (s *stack) fill(t store.Turn) {
	ctx := context.Background()
	_, err := s.record.BeginTurn(ctx, store.Begin{SessionID: t.SessionID, WorkflowID: "w", RunID: "r"})
	require.NoError(s, err)
	_, err = s.record.CommitAnswer(ctx, t.ID, 1, store.Answer{Model: "offline", Message: chat.Message{Role: chat.RoleAssistant, Content: "echo: hello"}})
	require.NoError(s, err)
}
