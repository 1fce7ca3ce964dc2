package load

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeopenai"
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
	b.ReportMetric(medianMS(took), "median-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(0, "ns/op")
}

// From a message's frame to the first piece of its answer, beside a client that asks
// the same endpoint itself.
func BenchmarkFirstToken(b *testing.B) {
	fake := fakeopenai.Start(b, fakeopenai.Config{})
	fake.Handle(func(fakeopenai.Request) fakeopenai.Step { return fakeopenai.Reply{Text: "all work and no play"} })
	r := start(b, map[string]any{
		"providers": map[string]any{"fake": map[string]any{"type": "openai", "base_url": fake.URL(), "api_key": fake.Key()}},
		"models":    map[string]any{"m": map[string]any{"provider": "fake", "model": "m"}},
		"agents":    map[string]any{"default": map[string]any{"model": "m"}},
	})
	c := r.must(r.dial(b.Context(), protocol.Hello{ClientID: "first"}))
	defer c.drop()
	var ours, theirs []time.Duration
	for b.Loop() {
		d, err := c.firstDelta("hello")
		if err != nil {
			b.Fatal(err)
		}
		ours = append(ours, d)
		if d, err = directFirst(b.Context(), fake); err != nil {
			b.Fatal(err)
		}
		theirs = append(theirs, d)
	}
	added := medianMS(ours) - medianMS(theirs)
	b.ReportMetric(added, "median-ms-added")
	b.ReportMetric(medianMS(theirs), "direct-ms")
	b.ReportMetric(0, "ns/op")
}

// directFirst returns how long the endpoint takes to its first event.
func directFirst(ctx context.Context, fake *fakeopenai.Server) (time.Duration, error) {
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, fake.URL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+fake.Key())
	req.Header.Set("Content-Type", "application/json")
	begun := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		return 0, err
	}
	return time.Since(begun), nil
}

func medianMS(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
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
