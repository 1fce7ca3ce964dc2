package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"picobot/internal/chat"
	"picobot/internal/protocol"
)

// Endpoint is where a gateway answers.
type Endpoint struct {
	URL   string // http(s)://host:port
	Token string
	// IfRefused says what is wrong where the gateway refuses the token; "" = only that
	// it is not the right one.
	IfRefused string
}

// Options configure a Client.
type Options struct {
	// Locate finds a gateway, or makes one. It is asked before each connection; an
	// error from it ends the client.
	Locate func(ctx context.Context) (Endpoint, error)
	// Hello is what the client presents itself with at first.
	Hello protocol.Hello
	// NewID makes ids of messages.
	NewID func() string
	// OnFrame is told of each frame that says something new, in order, from one
	// goroutine at a time. It may be nil.
	OnFrame func(protocol.ServerFrame)
	// Earlier says how many of the rows that a session had when it was opened are asked
	// for; OnEarlier is told of them, oldest first and once, before anything newer. It
	// must not call the client.
	Earlier   func(protocol.Welcome) int64
	OnEarlier func([]protocol.Message)
	// OnLost is told, once each time, that the connection is lost and another one is
	// tried. It may be nil.
	OnLost func(err error)
	HTTP   *http.Client
	Timing Timing
}

// Timing bounds how long a client waits for what.
type Timing struct {
	Connect   time.Duration // until welcome
	MinPause  time.Duration // before the first try to reconnect, doubled for each further one
	MaxPause  time.Duration
	GiveUp    time.Duration // without any connection
	PingEvery time.Duration
	PingWait  time.Duration // for the answer to a ping
	RowsWait  time.Duration // for rows of a turn that has ended and that were not seen, and for earlier ones
}

// DefaultTiming is right for people.
func DefaultTiming() Timing {
	return Timing{
		Connect:   15 * time.Second,
		MinPause:  50 * time.Millisecond,
		MaxPause:  2 * time.Second,
		GiveUp:    time.Minute,
		PingEvery: 20 * time.Second,
		PingWait:  20 * time.Second,
		RowsWait:  3 * time.Second,
	}
}

// Client is one conversation. Run has to run for anything to happen.
type Client struct {
	o     Options
	state *state
	wake  chan struct{} // something may be waiting to be sent
	ended chan struct{} // closed when Run returns
	err   error         // why Run returned, once ended is closed
}

// New returns a client that is not connected yet.
func New(o Options) *Client {
	if o.OnFrame == nil {
		o.OnFrame = func(protocol.ServerFrame) {}
	}
	if o.OnEarlier == nil {
		o.OnEarlier = func([]protocol.Message) {}
	}
	if o.OnLost == nil {
		o.OnLost = func(error) {}
	}
	s := newState(o.Hello)
	if o.Earlier != nil {
		s.wantEarlier = o.Earlier
	}
	return &Client{
		o:     o,
		state: s,
		wake:  make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
}

// Outcome is how a message was answered.
type Outcome struct {
	SessionID string
	TurnID    string // "" for a command
	Status    string // completed, failed or cancelled
	Reply     string // content of the turn's last assistant row, or the command's text
	Problem   *protocol.Problem
	Usage     chat.Usage
	Command   *protocol.Command // set for a command
	// Elsewhere: the conversation has turned to another dialog since. The answer is, or
	// will be, a row of SessionID.
	Elsewhere bool
}

// RefusedError says that the gateway did not take a message.
type RefusedError struct{ Code, Message string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the gateway did not take the message: %s (%s)", e.Message, e.Code)
}

// errClosed is what waiting calls get when Run ended because it was told to.
var errClosed = errors.New("the conversation was closed")

// Do sends a message and waits until it is answered. It fails with *RefusedError
// when the gateway does not take it, and with Run's error when that ends.
func (c *Client) Do(ctx context.Context, text string) (Outcome, error) {
	return c.Send(text)(ctx)
}

// Send sends a message, after those that were sent before it, and returns how to wait
// for its answer as Do does.
func (c *Client) Send(text string, media ...protocol.Media) (wait func(context.Context) (Outcome, error)) {
	x := c.state.add(c.o.NewID(), text, media...)
	c.poke()
	return func(ctx context.Context) (Outcome, error) { return c.wait(ctx, x) }
}

func (c *Client) wait(ctx context.Context, x *exchange) (Outcome, error) {
	select {
	case r := <-x.done:
		return r.outcome, r.err
	case <-ctx.Done():
		c.state.forget(x)
		return Outcome{}, ctx.Err()
	case <-c.ended:
		c.state.forget(x)
		if c.err == nil || errors.Is(c.err, context.Canceled) {
			return Outcome{}, errClosed
		}
		return Outcome{}, c.err
	}
}

// Cancel asks to stop the newest message's turn. It is false when there is none,
// and when it has been asked for already.
func (c *Client) Cancel() bool {
	ok := c.state.cancel()
	c.poke()
	return ok
}

// CancelRunning asks to stop the turn that runs in the session, whoever began it; when
// none is known to run, that of the oldest message. It is false when there is none,
// when it has been asked for already, and when Run has ended.
func (c *Client) CancelRunning() bool {
	select {
	case <-c.ended:
		return false
	default:
	}
	ok := c.state.cancelRunning()
	c.poke()
	return ok
}

// Outstanding counts the messages that the gateway has not taken yet, and the turns
// whose ends have not come.
func (c *Client) Outstanding() (unsent, open int) { return c.state.outstanding() }

// Session returns the attached session's id, "" before the first welcome.
func (c *Client) Session() string { return c.state.session() }

func (c *Client) poke() {
	select {
	case c.wake <- struct{}{}:
	default: // the writer is going to look anyway
	}
}
