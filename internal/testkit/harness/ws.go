package harness

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"picobot/internal/protocol"
)

// Conn is a WebSocket of a test. It collects every frame and is strict: a frame it
// cannot read fails the test.
type Conn struct {
	tb   testing.TB
	conn *websocket.Conn

	mu     sync.Mutex
	frames []protocol.ServerFrame
	looked int // frames that Expect has passed
	err    error
	more   chan struct{} // closed and replaced when there is news
}

// Dial connects. The connection is closed when the test ends.
func Dial(tb testing.TB, url, token string) *Conn {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, url+"/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		status := ""
		if resp != nil {
			status = resp.Status
		}
		tb.Fatalf("connect to %s: %v %s", url, err, status)
	}
	ws.SetReadLimit(64 << 20)
	c := &Conn{tb: tb, conn: ws, more: make(chan struct{})}
	go c.read()
	tb.Cleanup(c.Drop)
	return c
}

func (c *Conn) read() {
	for {
		_, data, err := c.conn.Read(context.Background())
		var f protocol.ServerFrame
		if err == nil {
			if f, err = protocol.DecodeServer(data); f == nil && err == nil {
				err = fmt.Errorf("a frame of unknown type: %.200s", data)
			}
		}
		c.mu.Lock()
		if err != nil {
			c.err = err
		} else {
			c.frames = append(c.frames, f)
		}
		close(c.more)
		c.more = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Drop cuts the connection without a goodbye.
func (c *Conn) Drop() { _ = c.conn.CloseNow() }

// Write sends a frame.
func (c *Conn) Write(f protocol.ClientFrame) {
	c.tb.Helper()
	c.WriteRaw(string(protocol.EncodeClient(f)))
}

// WriteRaw sends text as a frame.
func (c *Conn) WriteRaw(text string) {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := c.conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		c.tb.Fatalf("send %.100s: %v", text, err)
	}
}

// Hello says hello and waits for the welcome.
func (c *Conn) Hello(h protocol.Hello) protocol.Welcome {
	c.tb.Helper()
	c.Write(h)
	return Expect(c, "welcome", func(protocol.Welcome) bool { return true })
}

// Send sends a message and waits until it is accepted.
func (c *Conn) Send(id, text string) protocol.Accepted {
	c.tb.Helper()
	c.Write(protocol.UserMessage{ID: id, Content: text})
	return Expect(c, "accepted "+id, func(a protocol.Accepted) bool { return a.ID == id })
}

// End waits for the end of a turn.
func (c *Conn) End(turnID string) protocol.Turn {
	c.tb.Helper()
	return Expect(c, "end of turn "+turnID, func(t protocol.Turn) bool {
		return t.TurnID == turnID && (t.Status == protocol.TurnCompleted || t.Status == protocol.TurnFailed || t.Status == protocol.TurnCancelled)
	})
}

// Frames returns every frame that has come so far.
func (c *Conn) Frames() []protocol.ServerFrame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]protocol.ServerFrame(nil), c.frames...)
}

// Of returns the frames of one type that have come so far.
func Of[F protocol.ServerFrame](c *Conn) []F {
	var out []F
	for _, f := range c.Frames() {
		if f, ok := f.(F); ok {
			out = append(out, f)
		}
	}
	return out
}

// Expect waits for the next frame of a type for which is holds. Frames before it are
// passed over; they stay in Frames.
func Expect[F protocol.ServerFrame](c *Conn, what string, is func(F) bool) F {
	c.tb.Helper()
	deadline := time.After(Patience)
	for {
		c.mu.Lock()
		for c.looked < len(c.frames) {
			f, ok := c.frames[c.looked].(F)
			c.looked++
			if ok && is(f) {
				c.mu.Unlock()
				return f
			}
		}
		more, err := c.more, c.err
		c.mu.Unlock()
		if err != nil {
			c.tb.Fatalf("the connection ended while waiting for %s: %v\n%s", what, err, c.describe())
		}
		select {
		case <-more:
		case <-deadline:
			c.tb.Fatalf("%s did not come within %s\n%s", what, Patience, c.describe())
		}
	}
}

func (c *Conn) describe() string {
	var b strings.Builder
	for _, f := range c.Frames() {
		fmt.Fprintf(&b, "%T %+v\n", f, f)
	}
	return b.String()
}
