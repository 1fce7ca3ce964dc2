package load

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"

	"picobot/internal/protocol"
)

// Many send the largest frames there may be, all at once: made of one long text, of
// keys nobody knows, of attachments that are none.
func TestManyLargeFramesAtOnceTakeTurns(t *testing.T) {
	t.Parallel()
	const peers, each, size = 6, 2, 8 * mib
	r := start(t, nil)
	frames := [][]byte{
		[]byte(`{"type":"ping","a":"` + x(size) + `"}`),
		[]byte("{" + strings.Repeat(`"a":0,`, size/6) + `"type":"ping"}`),
		[]byte(`{"type":"message","id":"1","content":"x","media":[` + strings.Repeat("{},", size/3) + `{}]}`),
	}
	quick := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "quick"}))
	var g errgroup.Group
	for i := range peers {
		g.Go(func() error {
			c, err := r.dial(t.Context(), protocol.Hello{ClientID: fmt.Sprintf("large %d", i)})
			if err != nil {
				return err
			}
			defer c.drop()
			for k := range each {
				if err := c.writeRaw(websocket.MessageText, frames[(i+k)%len(frames)]); err != nil {
					return err
				}
			}
			for answers := 0; answers < each; {
				f, err := c.next()
				if err != nil {
					return err
				}
				switch f := f.(type) {
				case protocol.Pong:
					answers++
				case protocol.Error:
					answers++
					if f.Code != protocol.CodeBadFrame {
						return fmt.Errorf("%s: %s", f.Code, f.Message)
					}
				}
			}
			return nil
		})
	}
	for range 5 {
		if _, err := quick.ask("calc 1+1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	r.report("after large frames")
	r.well()
}

// Peers that began large frames keep nobody from sending small ones, and when they are
// gone nobody from sending large ones.
func TestLargeFramesThatDoNotEndHoldUpNobody(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	var peers []*raw
	for i := range 20 {
		c, err := r.upgraded(fmt.Sprintf("half %d", i))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.send(append(head(fin|text, 8*mib, true), 0, 0, 0, 0)); err != nil {
			t.Fatal(err)
		}
		if err := c.send([]byte(x(mib))); err != nil {
			t.Fatal(err)
		}
		peers = append(peers, c)
	}
	c := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "small"}))
	if _, err := c.ask("calc 1+1"); err != nil {
		t.Error(err)
	}
	for _, p := range peers {
		_ = p.Close()
	}
	if _, err := c.ask(x(mib)); err != nil {
		t.Error(err)
	}
	r.well()
}

// A large row over a thin line takes its time. Meanwhile the peer's pings are
// answered: one that got no answer would give up, and so would the library here. The
// line is thin however busy this machine is: the peer waits before it reads on, so
// that the gateway has had its time when the row is through.
func TestPingsAreAnsweredInTheMiddleOfALargeFrame(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	speaker := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "speaker"}))
	if _, err := speaker.ask(x(7 * mib)); err != nil { // more than sockets hold
		t.Fatal(err)
	}
	c, err := r.upgraded("")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
		t.Fatal(err)
	}
	zero := int64(0)
	if err := c.frame(fin|text, protocol.EncodeClient(protocol.Hello{ClientID: "thin", SessionID: speaker.welcome.SessionID, FromSeq: &zero})); err != nil {
		t.Fatal(err)
	}
	whole, pinged := 0, false
	for {
		first, payload, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		switch kind := first & 0xf; {
		case kind == pong:
			if whole >= 7*mib {
				t.Error("the pong came after the row")
			}
			r.report("in the middle of a large frame")
			_, _ = io.Copy(io.Discard, io.LimitReader(c.r, mib))
			r.well()
			return
		case kind == text || kind == contd:
			whole += len(payload)
			if pinged {
				time.Sleep(10 * time.Millisecond)
			}
			if whole > 7*mib && !pinged {
				t.Fatal("the row came in one piece")
			}
			if whole > 10_000 && !pinged {
				pinged = true
				if err := c.frame(fin|ping, []byte("still there?")); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
