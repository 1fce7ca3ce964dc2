package load

import (
	"slices"
	"testing"
	"time"

	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

// From a message's frame to its accepted, that is until it is on the disk.
func BenchmarkAck(b *testing.B) {
	r := start(b, nil)
	c := r.must(r.dial(b.Context(), protocol.Hello{ClientID: "ack"}))
	defer c.drop()
	var took []time.Duration
	for b.Loop() {
		d, err := c.acked("hello")
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, d)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(0, "ns/op")
}

// From the start of the process to healthy, on a home that has been used.
func BenchmarkStart(b *testing.B) {
	h := harness.New(b)
	g := h.StartGateway()
	resident := 0.0
	for b.Loop() {
		b.StopTimer()
		g.Stop()
		b.StartTimer()
		g = h.StartGateway()
		now, _ := (&rig{TB: b, h: h, g: g}).memory()
		resident = max(resident, float64(now)/mib)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s-until-healthy")
	b.ReportMetric(resident, "MiB-resident")
	b.ReportMetric(0, "ns/op")
}

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
