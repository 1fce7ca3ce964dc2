package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"

	"picobot/internal/protocol"
)

// maxFrame bounds one frame of the server: a row of the record with its media.
const maxFrame = 64 << 20

// Run keeps the conversation connected until ctx ends (then it returns ctx's
// error) or it cannot go on.
func (c *Client) Run(ctx context.Context) error {
	c.err = c.run(ctx)
	close(c.ended)
	return c.err
}

func (c *Client) run(ctx context.Context) error {
	pause := c.o.Timing.MinPause
	lastAlive, told := time.Now(), false
	for {
		welcomed, err := c.connection(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if fatal, ok := errors.AsType[fatalError](err); ok {
			return fatal.error
		}
		if welcomed {
			pause, lastAlive, told = c.o.Timing.MinPause, time.Now(), false
		}
		if time.Since(lastAlive) > c.o.Timing.GiveUp {
			return fmt.Errorf("no connection to the gateway for %s: %w", c.o.Timing.GiveUp, err)
		}
		if !told {
			told = true
			c.o.OnLost(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, c.o.Timing.MaxPause)
	}
}

// connection lives as long as one connection. It reports whether the gateway
// welcomed the client on it, and why it ended.
func (c *Client) connection(ctx context.Context) (welcomed bool, err error) {
	ep, err := c.o.Locate(ctx)
	if err != nil {
		return false, fatalError{err}
	}
	conn, err := c.dial(ctx, ep)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxFrame)

	hello := c.state.connect()
	g, both := errgroup.WithContext(ctx)
	greeted := make(chan struct{})
	g.Go(func() error { return c.read(both, conn, greeted) })
	g.Go(func() error { return c.write(both, conn, hello, greeted) })
	err = g.Wait()
	select {
	case <-greeted:
		welcomed = true
	default:
	}
	if ctx.Err() != nil {
		// Said politely, so that the gateway does not take it for a crash.
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}
	return welcomed, err
}

func (c *Client) dial(ctx context.Context, ep Endpoint) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timing.Connect)
	defer cancel()
	//nolint:bodyclose // the library has closed it: what is left of it is in memory
	conn, resp, err := websocket.Dial(ctx, strings.TrimRight(ep.URL, "/")+"/ws", &websocket.DialOptions{
		HTTPClient: c.o.HTTP,
		HTTPHeader: http.Header{"Authorization": {"Bearer " + ep.Token}},
	})
	if err == nil {
		return conn, nil
	}
	switch {
	case resp == nil:
	case resp.StatusCode == http.StatusForbidden:
		return nil, fatalError{fmt.Errorf("the gateway at %s does not answer under this name: use its own address", ep.URL)}
	case resp.StatusCode == http.StatusUnauthorized && ep.IfRefused != "":
		return nil, fatalError{errors.New(ep.IfRefused)}
	case resp.StatusCode == http.StatusUnauthorized:
		return nil, fatalError{fmt.Errorf("the gateway at %s refused the token: name the right one with --token or gateway.token, or use the home that it runs in", ep.URL)}
	}
	return nil, fmt.Errorf("connect to the gateway at %s: %w", ep.URL, err)
}

// read takes frames until the connection ends.
func (c *Client) read(ctx context.Context, conn *websocket.Conn, greeted chan<- struct{}) error {
	seenWelcome := false
	for {
		kind, data, err := conn.Read(ctx)
		if err != nil {
			return hungUp(err)
		}
		if kind != websocket.MessageText {
			return errors.New("the gateway sent a frame that is no text")
		}
		f, err := protocol.DecodeServer(data)
		if err != nil {
			return err
		}
		if f == nil {
			continue // from a newer gateway: what this client does not know it can do without
		}
		fresh, tell, err := c.state.receive(f)
		c.tellEarlier()
		if fresh {
			c.o.OnFrame(f)
		}
		tell()
		if err != nil {
			return err
		}
		if _, ok := f.(protocol.Welcome); ok && !seenWelcome {
			seenWelcome = true
			close(greeted)
		}
		c.poke() // an accepted message may have a cancel waiting for it
	}
}

func hungUp(err error) error {
	if errors.Is(err, io.EOF) || websocket.CloseStatus(err) != -1 {
		return fmt.Errorf("the gateway closed the connection: %w", err)
	}
	return err
}

// write sends what is waiting, and pings.
func (c *Client) write(ctx context.Context, conn *websocket.Conn, hello protocol.Hello, greeted <-chan struct{}) error {
	if err := send(ctx, conn, hello); err != nil {
		return err
	}
	select {
	case <-greeted:
	case <-time.After(c.o.Timing.Connect):
		return errors.New("the gateway did not answer the greeting in time")
	case <-ctx.Done():
		return ctx.Err()
	}
	ping := time.NewTicker(c.o.Timing.PingEvery)
	defer ping.Stop()
	var rows, earlier <-chan time.Time
	for {
		for _, f := range c.state.pending() {
			if err := send(ctx, conn, f); err != nil {
				return err
			}
		}
		if rows == nil && c.state.awaitsRows() {
			rows = time.After(c.o.Timing.RowsWait)
		}
		if earlier == nil && c.state.awaitsEarlier() {
			earlier = time.After(c.o.Timing.RowsWait)
		}
		select {
		case <-c.wake:
		case <-rows:
			c.state.overdue()
			rows = nil
		case <-earlier:
			c.state.earlierOverdue()
			c.tellEarlier()
			earlier = nil
		case <-ping.C:
			if err := c.ping(ctx, conn); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *Client) ping(ctx context.Context, conn *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timing.PingWait)
	defer cancel()
	if err := conn.Ping(ctx); err != nil {
		return fmt.Errorf("the gateway does not answer any more: %w", err)
	}
	return nil
}

func send(ctx context.Context, conn *websocket.Conn, f protocol.ClientFrame) error {
	return conn.Write(ctx, websocket.MessageText, protocol.EncodeClient(f))
}
