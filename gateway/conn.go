package gateway

import (
	"context"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"picobot/internal/live"
	"picobot/internal/protocol"
	"picobot/internal/text"
	"picobot/store"
)

// conn is one WebSocket. Its fields belong to the goroutine of run, channels and
// atomics excepted.
type conn struct {
	server *Server
	ws     *websocket.Conn
	raw    net.Conn
	log    *slog.Logger

	frames    chan incoming
	offers    chan offer
	moves     chan move
	lastHeard atomic.Int64 // time since the server was made
	held      atomic.Bool  // the peer waits for us to read on

	hello    *protocol.Hello // nil until there was one
	words    *text.Catalogue // in the peer's language
	attached store.Session
	// follows: where the attached dialog is over, the peer goes on in the one that took
	// its place. Not in a session that was asked for by its id.
	follows  bool
	watcher  *live.Watcher
	follower *follower
	cursor   store.Cursor
	sent     recent // ids of messages that this peer has been handed

	helloDue *time.Timer // runs until the peer must have said hello
	resting  bool        // text was sent just now: more of it waits for textDue
	textDue  *time.Timer // runs while resting
	again    *time.Timer // runs when the record could not be read
	broken   error       // why nothing can be sent any more
}

// goodbye is how a connection is ended.
type goodbye struct {
	code   websocket.StatusCode
	reason string
}

// run does what the peer asks and shows it what happens, until one side ends the
// connection.
func (c *conn) run(ctx context.Context) goodbye {
	c.helloDue = time.NewTimer(c.server.opts.Timing.Hello)
	defer c.helloDue.Stop()
	c.again = time.NewTimer(c.server.opts.Timing.Retry)
	c.again.Stop()
	defer c.again.Stop()
	c.textDue = time.NewTimer(c.server.opts.Timing.Text)
	c.textDue.Stop()
	defer c.textDue.Stop()
	for c.broken == nil {
		var wake <-chan struct{}
		if c.watcher != nil {
			wake = c.watcher.C
		}
		select {
		case <-ctx.Done():
			// The peer has gone; what it said before counts.
			c.finish(context.WithoutCancel(ctx))
			return goodbye{websocket.StatusNormalClosure, ""}
		case <-c.server.stopping:
			return goodbye{websocket.StatusGoingAway, "the gateway stops"}
		case <-c.helloDue.C:
			if bye := c.overdue(ctx); bye != nil {
				return *bye
			}
		case in := <-c.frames:
			if bye := c.take(ctx, in); bye != nil {
				return *bye
			}
		case o := <-c.offers:
			o.taken <- c.notify(o.Outbound)
		case m := <-c.moves:
			c.tellMove(m)
		case <-wake:
			if !c.resting || c.watcher.Urgent() {
				c.woken(ctx)
			}
		case <-c.textDue.C:
			c.resting = false
			c.woken(ctx)
		case <-c.again.C:
			c.follow(ctx)
		}
	}
	c.log.Info("a client was dropped", "why", c.broken)
	return goodbye{websocket.StatusPolicyViolation, "too slow"}
}

// overdue ends a connection without a hello. One that has come counts, also when
// there was no time to read it yet.
func (c *conn) overdue(ctx context.Context) *goodbye {
	for range len(c.frames) {
		if c.hello != nil {
			break
		}
		in := <-c.frames
		if bye := c.take(ctx, in); bye != nil {
			return bye
		}
		if _, tried := in.frame.(protocol.Hello); tried {
			return nil
		}
	}
	if c.hello != nil {
		return nil
	}
	c.fail("", protocol.CodeHelloRequired, "no hello came in time")
	return &goodbye{websocket.StatusPolicyViolation, "no hello came in time"}
}

// finish handles what the peer sent before it went.
func (c *conn) finish(ctx context.Context) {
	for {
		select {
		case in := <-c.frames:
			c.take(ctx, in)
		default:
			return
		}
	}
}

// take handles a frame and gives back the room it took.
func (c *conn) take(ctx context.Context, in incoming) *goodbye {
	defer in.done()
	return c.handle(ctx, in)
}

// follow shows what has happened in the attached session; if the record cannot be
// read it is tried again later.
func (c *conn) follow(ctx context.Context) {
	if _, err := c.catchUp(ctx); err != nil {
		c.later(ctx, err)
	}
}

// catchUp sends what has happened in the attached session since last time and
// returns the turns whose state was told.
func (c *conn) catchUp(ctx context.Context) (told map[string]bool, err error) {
	// Progress first: what is read of the record after it tells where it belongs.
	progress, _ := c.watcher.Take()
	return c.tell(ctx, progress)
}

// woken tells what the watcher has. Most wake-ups of a streaming answer bring a
// piece of text only: then the record has nothing new. Models write faster than
// anybody reads, and a frame for each word would keep every client busy, so that
// after some text there is a rest, and what comes meanwhile is joined.
func (c *conn) woken(ctx context.Context) {
	progress, changed := c.watcher.Take()
	if !changed {
		for _, f := range c.follower.feed(progress, store.Changes{Next: c.cursor}) {
			c.show(f)
		}
		return
	}
	if _, err := c.tell(ctx, progress); err != nil {
		c.later(ctx, err)
	}
}

// later says that the record could not be read, and tries again.
func (c *conn) later(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	c.log.Error("the record cannot be read, trying again", "session", c.attached.ID, "error", err)
	c.again.Reset(c.server.opts.Timing.Retry)
}

// tell sends progress and everything of the record that is new, and returns the
// turns whose state was told.
func (c *conn) tell(ctx context.Context, progress []live.Progress) (told map[string]bool, err error) {
	told = map[string]bool{}
	for c.broken == nil {
		ch, err := c.server.deps.Record.Changes(ctx, c.attached.ID, c.cursor)
		if err != nil {
			return told, err
		}
		frames, rows := c.follower.feed(progress, ch), len(ch.Rows)
		ch.Rows = nil
		for i, f := range frames {
			if t, ok := f.(protocol.Turn); ok {
				told[t.TurnID] = true
			}
			frames[i] = nil // what is sent need not be kept while a slow peer takes it
			c.show(f)
		}
		c.cursor, progress = ch.Next, nil
		if rows > 0 {
			continue
		}
		if ch.Successor == "" || !c.follows || !c.lead(ctx, ch.Successor, false, new(int64)) {
			return told, nil
		}
	}
	return told, nil
}

// show sends a frame of the attached session. After text there is a rest.
func (c *conn) show(f protocol.ServerFrame) {
	c.write(f)
	if _, isText := f.(protocol.Delta); isText {
		c.resting = true
		c.textDue.Reset(c.server.opts.Timing.Text)
	}
}

// write sends a frame. A peer that does not take it in time gets no other.
func (c *conn) write(f protocol.ServerFrame) {
	if c.broken != nil {
		return
	}
	b := protocol.Encode(f)
	ctx, cancel := context.WithTimeout(context.Background(), c.server.opts.Timing.Write+atLeast(int64(len(b))))
	defer cancel()
	c.broken = c.send(ctx, b)
}

// send sends text as one message. A long one is sent in pieces: pings of the peer are
// answered between them, else one on a thin line would take the gateway for dead.
func (c *conn) send(ctx context.Context, b []byte) error {
	if len(b) <= 4*piece {
		return c.ws.Write(ctx, websocket.MessageText, b)
	}
	w, err := c.ws.Writer(ctx, websocket.MessageText)
	for p := range slices.Chunk(b, piece) {
		if err == nil {
			_, err = w.Write(p)
		}
	}
	if err != nil {
		return err
	}
	return w.Close()
}

func (c *conn) fail(id, code, message string) {
	c.write(protocol.Error{ID: id, Code: code, Message: message})
}

// leave gives back what the connection holds elsewhere.
func (c *conn) leave() {
	if c.hello != nil {
		c.server.delivery.leave(c)
	}
	if c.watcher != nil {
		c.watcher.Close()
	}
}

// guarded runs fn and reports whether it returned: a panic ends this connection
// and nothing else.
func (c *conn) guarded(fn func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a connection panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	fn()
	return true
}
