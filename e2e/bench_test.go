package e2e

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// A turn with one tool call and an instant model, from the accepted message to the
// recorded answer.
func BenchmarkTurn_OneTool(b *testing.B) {
	s := newStack(b)
	for b.Loop() {
		s.await(s.say("bench", "calc 12*7"))
	}
	b.StopTimer()
	var size int
	t := s.await(s.say("history", "calc 12*7"))
	s.idle(t.SessionID)
	for _, e := range s.history(t.SessionID, "").Events {
		size += e.Size()
	}
	b.ReportMetric(float64(size), "history-B/turn")
}

// The same with 16 sessions at once.
func BenchmarkTurn_OneTool_16Sessions(b *testing.B) {
	s := newStack(b)
	var n atomic.Int64
	b.SetParallelism(8) // times GOMAXPROCS
	b.RunParallel(func(pb *testing.PB) {
		chat := fmt.Sprint("bench", n.Add(1))
		for pb.Next() {
			s.await(s.say(chat, "calc 12*7"))
		}
	})
}
