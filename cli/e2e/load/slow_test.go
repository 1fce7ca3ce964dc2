package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"picobot/internal/protocol"
)

// Peers that read nothing, or a byte a second, while more comes than sockets hold.
func TestPeersThatDoNotReadAreDroppedAndHoldUpNobody(t *testing.T) {
	t.Parallel()
	const rows, size, deaf, slow = 12, mib, 20, 10
	r := start(t, nil)
	speaker := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "speaker", ChatID: "room"}))
	for i := range rows / 2 { // each has the same text twice
		if _, err := speaker.ask(fmt.Sprint(i) + x(size)); err != nil {
			t.Fatal(err)
		}
	}
	r.report("with a large session")
	before := r.open()
	zero := int64(0)
	small := func(c *net.TCPConn) error { return c.SetReadBuffer(4 << 10) }
	stop := make(chan struct{})
	var g errgroup.Group
	for i := range deaf + slow {
		c, err := r.connect(t.Context(), small)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.write(protocol.Hello{ClientID: fmt.Sprint(i), SessionID: speaker.welcome.SessionID, FromSeq: &zero}); err != nil {
			t.Fatal(err)
		}
		if i >= deaf {
			g.Go(func() error { sip(c, stop); return nil })
		}
	}
	if after := r.open(); after >= 0 && after < before+deaf+slow {
		t.Errorf("%d files are open with the slow readers, %d were before", after, before)
	}
	// Everybody else goes on meanwhile: in the same session and in another one.
	other := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "other"}))
	for i := range 5 {
		if _, err := speaker.ask(fmt.Sprintf("still here %d", i)); err != nil {
			t.Fatal(err)
		}
		if _, err := other.ask("calc 1+1"); err != nil {
			t.Fatal(err)
		}
	}
	r.report("with slow readers")
	dropped := func() int { return strings.Count(r.g.Stderr.String(), "a client was dropped") }
	r.h.Eventually("every slow reader is dropped", func() bool { return dropped() == deaf+slow })
	close(stop)
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	r.h.Eventually("their sockets are closed", func() bool { return r.open() <= before+10 })
	// A peer that reads gets it all.
	late := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "late", SessionID: speaker.welcome.SessionID, FromSeq: &zero}))
	if err := late.until("every row is there", func() bool { return len(late.rows) == len(speaker.rows) }); err != nil {
		t.Fatal(err)
	}
	if err := same(late.texts(), speaker.texts()); err != nil {
		t.Error(err)
	}
	r.report("after the slow readers")
	r.well()
}

// sip reads a byte a second.
func sip(c *client, stop <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	_, frame, err := c.ws.Reader(c.ctx)
	for err == nil {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if _, err = frame.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			_, frame, err = c.ws.Reader(c.ctx)
		}
	}
}
