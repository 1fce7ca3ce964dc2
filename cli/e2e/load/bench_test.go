package load

import "testing"

// What it costs to be many: each operation is two hundred clients that connect at
// once, say something and wait for the answer.
func BenchmarkTwoHundredChats(b *testing.B) {
	r := start(b, nil)
	turns := 0
	for b.Loop() {
		for _, c := range r.chats(200, 1) {
			c.drop()
			turns++
		}
	}
	b.ReportMetric(float64(turns)/b.Elapsed().Seconds(), "turns/s")
	r.report("after all have gone")
}

// How much longer a turn takes while another session has a hundred messages waiting.
func BenchmarkTurnBesideAFlood(b *testing.B) {
	r := start(b, nil)
	var sum float64
	floods := 0
	for b.Loop() {
		beside, alone := r.flood(100)
		sum += float64(beside) / float64(alone)
		floods++
	}
	b.ReportMetric(sum/float64(floods), "times-as-long")
	r.report("after the floods")
}
