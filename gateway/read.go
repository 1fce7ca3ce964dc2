package gateway

import (
	"context"
	"io"
	"time"

	"github.com/coder/websocket"

	"picobot/internal/protocol"
)

// incoming is a frame of the peer, or what is wrong with it.
type incoming struct {
	frame    protocol.ClientFrame
	err      *protocol.Error
	tooLarge bool
	done     func() // to be called once the frame has been dealt with
}

// envelope is what a frame may have around the content of its message.
const envelope = 64 << 10

// read takes frames until the connection ends or one is too large. While the
// others are not done with what came before, it does not take more.
func (c *conn) read(ctx context.Context) {
	limit := c.server.opts.MaxMessageBytes + envelope
	for {
		kind, r, err := c.ws.Reader(ctx)
		if err != nil {
			return
		}
		c.heard()
		in, err := c.frame(ctx, kind, heardReader{r, c}, limit)
		if err != nil {
			return
		}
		c.held.Store(true)
		select {
		case c.frames <- in:
		case <-ctx.Done():
			in.done()
			return
		}
		c.held.Store(false)
		if in.tooLarge {
			<-ctx.Done() // what follows is the rest of the same frame
			return
		}
	}
}

// frame takes one frame.
func (c *conn) frame(ctx context.Context, kind websocket.MessageType, r io.Reader, limit int64) (in incoming, err error) {
	data, done, err := c.readFrame(ctx, r, limit)
	defer func() {
		if in.done == nil { // nobody else is going to call it
			done()
		}
	}()
	if err != nil {
		return incoming{}, err
	}
	var x incoming
	switch {
	case int64(len(data)) > limit:
		x.tooLarge = true
	case kind != websocket.MessageText:
		x.err = &protocol.Error{Code: protocol.CodeBadFrame, Message: "a frame must be text"}
	default:
		x.frame, x.err = protocol.Decode(data)
	}
	x.done = done
	return x, nil
}

// piece is how much of a frame is read or written in one go.
const piece = 64 << 10

// heardReader notes that the peer is alive while a long frame comes.
type heardReader struct {
	io.Reader
	c *conn
}

func (r heardReader) Read(p []byte) (int, error) {
	// The library returns only when all of p is there.
	if len(p) > piece {
		p = p[:piece]
	}
	n, err := r.Reader.Read(p)
	r.c.heard()
	return n, err
}

func (c *conn) heard() { c.lastHeard.Store(int64(c.server.uptime())) }

// keepAlive pings the peer and ends the connection when nothing comes from it.
func (c *conn) keepAlive(ctx context.Context) {
	t := c.server.opts.Timing
	tick := time.NewTicker(t.Ping)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if c.held.Load() { // it may be speaking, we do not listen
			c.heard()
		}
		silent := c.server.uptime() - time.Duration(c.lastHeard.Load())
		if silent >= t.Silence {
			c.log.Info("a client was dropped", "why", "nothing came from it", "for", silent)
			_ = c.raw.Close() // it would not answer a close either
			return
		}
		ping, cancel := context.WithTimeout(ctx, t.Ping)
		_ = c.ws.Ping(ping) // what counts is whether something comes, see above
		cancel()
	}
}
