package load

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

// Peers that connect and then leave it at that, at every point where one can.
func TestPeersThatStopHalfWayAreClosedAndHoldUpNobody(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	before := r.open()
	quick := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "quick"}))
	kinds := []struct {
		name string
		n    int
		open func() (*raw, error)
	}{
		{"say nothing", 300, r.tcp},
		{"send half a handshake", 100, func() (*raw, error) {
			c, err := r.tcp()
			if err == nil {
				_, err = io.WriteString(c, r.handshake())
			}
			return c, err
		}},
		{"send half a line", 100, func() (*raw, error) {
			c, err := r.tcp()
			if err == nil {
				_, err = io.WriteString(c, "GET /he")
			}
			return c, err
		}},
		{"say no hello", 100, func() (*raw, error) { return r.upgraded("") }},
		{"send half a hello", 50, func() (*raw, error) {
			c, err := r.upgraded("")
			if err == nil {
				err = c.send(masked(fin|text, protocol.EncodeClient(protocol.Hello{ClientID: "half"}))[:20])
			}
			return c, err
		}},
	}
	var peers []*raw
	for _, k := range kinds {
		for range k.n {
			c, err := k.open()
			if err != nil {
				t.Fatalf("%s: %v", k.name, err)
			}
			peers = append(peers, c)
		}
	}
	// One sends a byte of a header every moment and never ends.
	slowloris, err := r.tcp()
	if err != nil {
		t.Fatal(err)
	}
	peers = append(peers, slowloris)
	var g errgroup.Group
	g.Go(func() error {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for _, err := io.WriteString(slowloris, "GET /health HTTP/1.1\r\nX: "); err == nil; _, err = io.WriteString(slowloris, "x") {
			<-tick.C
		}
		return nil // it was cut off
	})
	r.report(fmt.Sprintf("with %d peers that stopped half way, %d files open", len(peers), r.open()))
	for range 5 {
		if _, err := quick.ask("calc 1+1"); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range peers {
		if err := c.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("peer %d was not closed: %v", i, err)
		}
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	quick.drop()
	r.h.Eventually("every socket is closed", func() bool { return r.open() <= before+10 })
	r.report("after they were closed")
	r.well()
}

// However many connect and say nothing, there is room for one more.
func TestStrangersAreFewHoweverManyCome(t *testing.T) {
	t.Parallel()
	const strangers, most = 1000, 600
	r := start(t, nil)
	before := r.open()
	for range strangers {
		if _, err := r.tcp(); err != nil {
			t.Fatal(err)
		}
	}
	r.h.Eventually("no more than a few are kept", func() bool { return r.open() <= before+most })
	if _, err := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "one more"})).ask("calc 1+1"); err != nil {
		t.Error(err)
	}
	r.report("with strangers")
	r.well()
}
