package load

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

// client is a peer that keeps only what it was shown, and checks it: rows must come
// in order and once. It reports errors instead of failing the test, so that many can
// run at once. It is not safe for concurrent use.
type client struct {
	ctx     context.Context
	ws      *websocket.Conn
	welcome protocol.Welcome
	sent    int
	rows    []protocol.Message
	ended   map[string]protocol.Turn
	errors  []protocol.Error
}

// dial connects and says hello.
func (r *rig) dial(ctx context.Context, h protocol.Hello) (*client, error) {
	c, err := r.connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := c.write(h); err != nil {
		return nil, err
	}
	for c.welcome.SessionID == "" {
		f, err := c.next()
		if err != nil {
			return nil, fmt.Errorf("wait for the welcome of %s: %w", h.ClientID, err)
		}
		switch f := f.(type) {
		case protocol.Welcome:
			c.welcome = f
		case protocol.Error:
			if f.Code != protocol.CodeStoreUnavailable { // as the protocol has it: try again
				return nil, fmt.Errorf("hello of %s: %s: %s", h.ClientID, f.Code, f.Message)
			}
			if err := c.write(h); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// connect opens a WebSocket over which nothing was said yet. Change sees the
// connection below it first.
func (r *rig) connect(ctx context.Context, change func(*net.TCPConn) error) (*client, error) {
	dialer := &net.Dialer{}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := dialer.DialContext(ctx, network, addr)
		if err == nil && change != nil {
			err = change(raw.(*net.TCPConn))
		}
		return raw, err
	}}
	dialing, cancel := context.WithTimeout(ctx, harness.Patience)
	defer cancel()
	ws, resp, err := websocket.Dial(dialing, r.g.URL+"/ws", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + r.token}}, HTTPClient: &http.Client{Transport: transport},
	})
	if err != nil {
		status := ""
		if resp != nil {
			status = resp.Status
		}
		return nil, fmt.Errorf("connect: %w %s", err, status)
	}
	ws.SetReadLimit(-1)
	r.Cleanup(func() { _ = ws.CloseNow() })
	return &client{ctx: ctx, ws: ws, ended: map[string]protocol.Turn{}}, nil
}

// drop cuts the connection without a goodbye.
func (c *client) drop() { _ = c.ws.CloseNow() }

func (c *client) write(f protocol.ClientFrame) error {
	return c.writeRaw(websocket.MessageText, protocol.EncodeClient(f))
}

func (c *client) writeRaw(kind websocket.MessageType, b []byte) error {
	ctx, cancel := context.WithTimeout(c.ctx, harness.Patience)
	defer cancel()
	if err := c.ws.Write(ctx, kind, b); err != nil {
		return fmt.Errorf("send %.40q: %w", b, err)
	}
	return nil
}

// next returns the next frame, after it has been written down and checked.
func (c *client) next() (protocol.ServerFrame, error) {
	ctx, cancel := context.WithTimeout(c.ctx, harness.Patience)
	defer cancel()
	_, b, err := c.ws.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("wait for a frame: %w", err)
	}
	f, err := protocol.DecodeServer(b)
	if err != nil {
		return nil, err
	}
	switch f := f.(type) {
	case protocol.Message:
		if n := len(c.rows); n > 0 && f.Seq <= c.rows[n-1].Seq {
			return nil, fmt.Errorf("row %d came after row %d", f.Seq, c.rows[n-1].Seq)
		}
		c.rows = append(c.rows, f)
	case protocol.Turn:
		if !chat.TurnStatus(f.Status).Final() {
			break
		}
		if _, twice := c.ended[f.TurnID]; twice {
			return nil, fmt.Errorf("turn %s ended twice", f.TurnID)
		}
		c.ended[f.TurnID] = f
	case protocol.Error:
		c.errors = append(c.errors, f)
	}
	return f, nil
}

// until reads frames until done.
func (c *client) until(what string, done func() bool) error {
	for !done() {
		if _, err := c.next(); err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
	}
	return nil
}

// say sends a message and does not wait.
func (c *client) say(text string) error {
	c.sent++
	return c.write(protocol.UserMessage{ID: fmt.Sprintf("m%d", c.sent), Content: text})
}

// ask sends a message, waits for the end of its turn and returns how long that took.
func (c *client) ask(text string) (time.Duration, error) {
	begun := time.Now()
	if err := c.say(text); err != nil {
		return 0, err
	}
	id := fmt.Sprintf("m%d", c.sent)
	for {
		f, err := c.next()
		if err != nil {
			return 0, fmt.Errorf("%.40q: %w", text, err)
		}
		if e, ok := f.(protocol.Error); ok {
			if e.Code != protocol.CodeStoreUnavailable {
				return 0, fmt.Errorf("%.40q: %s: %s", text, e.Code, e.Message)
			}
			if err := c.write(protocol.UserMessage{ID: id, Content: text}); err != nil {
				return 0, err
			}
		}
		if a, ok := f.(protocol.Accepted); ok && a.ID == id {
			err := c.until("the turn ends", func() bool { _, ok := c.ended[a.TurnID]; return ok })
			return time.Since(begun), err
		}
	}
}

// acked sends a message, waits for the end of its turn and returns how long its
// accepted took.
func (c *client) acked(text string) (took time.Duration, err error) {
	begun := time.Now()
	if err := c.say(text); err != nil {
		return 0, err
	}
	id := fmt.Sprintf("m%d", c.sent)
	for {
		f, err := c.next()
		if err != nil {
			return 0, err
		}
		if a, ok := f.(protocol.Accepted); ok && a.ID == id {
			took = time.Since(begun)
			return took, c.until("the turn ends", func() bool { _, ok := c.ended[a.TurnID]; return ok })
		}
	}
}

// firstDelta sends a message, waits for the end of its turn and returns how long the
// first piece of the answer took.
func (c *client) firstDelta(text string) (took time.Duration, err error) {
	begun := time.Now()
	if err := c.say(text); err != nil {
		return 0, err
	}
	for {
		f, err := c.next()
		if err != nil {
			return 0, err
		}
		if d, ok := f.(protocol.Delta); ok {
			took = time.Since(begun)
			return took, c.until("the turn ends", func() bool { _, ok := c.ended[d.TurnID]; return ok })
		}
	}
}

// texts returns the rows of people and the model, without tool calls.
func (c *client) texts() []string {
	var out []string
	for _, row := range c.rows {
		if len(row.ToolCalls) == 0 && row.Role != chat.RoleTool {
			out = append(out, string(row.Role)+" "+row.Content)
		}
	}
	return out
}

// exchange is what texts must be after messages that the offline model echoes.
func exchange(messages []string) []string {
	var out []string
	for _, m := range messages {
		out = append(out, "user "+m, "assistant echo: "+m)
	}
	return out
}

// same says where two lists differ first.
func same(got, want []string) error {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Errorf("%d rows, and then %.60q is missing", i, want[i])
		case i >= len(want):
			return fmt.Errorf("%d rows, and then there is %.60q", i, got[i])
		case got[i] != want[i]:
			return fmt.Errorf("row %d is %.60q, not %.60q", i, got[i], want[i])
		}
	}
	return nil
}

// x is a text of n bytes.
func x(n int) string { return strings.Repeat("x", n) }
