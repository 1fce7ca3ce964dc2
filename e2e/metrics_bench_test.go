package e2e

import (
	"testing"
	"time"

	"picobot/internal/metrics"
)

// A turn with one tool call while the record's writes and Temporal's SDK are measured,
// turn about with one that nobody measures. Counting what the record says is no part of a
// turn: it is done when somebody scrapes.
func BenchmarkTurn_OneTool_Measured(b *testing.B) {
	measured, plain := newStackWith(b, metrics.New(metrics.Options{})), newStack(b)
	var with, without []time.Duration
	one := func(s *stack) time.Duration {
		var sessionID string
		took := timed(func() { sessionID = s.answer("bench", "calc 12*7").SessionID })
		s.idle(sessionID)
		return took
	}
	one(measured) // the first ones make caches
	one(plain)
	for b.Loop() {
		with = append(with, one(measured))
		without = append(without, one(plain))
	}
	b.ReportMetric(milliseconds(median(with)), "ms-measured")
	b.ReportMetric(milliseconds(median(without)), "ms-plain")
}
