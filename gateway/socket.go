package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"picobot/gateway/openapi"
	"picobot/internal/protocol"
)

const socketPath = "/ws"

func (s *Server) socketRoutes() []route {
	return []route{{method: http.MethodGet, path: socketPath, handler: s.getSocket, doc: &openapi.Operation{
		Tag: "gateway", Summary: "The WebSocket, protocol 1",
		Description: "What is said over it is in docs/protocol.md. Browsers, which cannot set headers, give the token as ?token=.",
		Query:       []openapi.Param{textParam("token", "the token, instead of the header")},
		Answers:     []openapi.Answer{{Status: http.StatusSwitchingProtocols, Description: "The connection is a WebSocket from here on"}},
	}}}
}

// getSocket serves a WebSocket for as long as it lives.
func (s *Server) getSocket(w http.ResponseWriter, r *http.Request) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return &httpError{http.StatusServiceUnavailable, "too_many_connections", "too many connections are open: close some"}
	}
	raw, ok := netConn(r)
	if !ok || r.Header.Get("Upgrade") == "" {
		return badRequest("this endpoint speaks WebSocket: connect to it with a WebSocket client")
	}
	s.sockets.Add(1)
	defer s.sockets.Done()

	c := &conn{
		server: s, raw: raw, log: s.log.With("peer", r.RemoteAddr),
		frames: make(chan incoming, 8),
		offers: make(chan offer, 64),
		moves:  make(chan move, 16),
	}
	c.heard()
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the origin was checked already, like that of every request
		CompressionMode:    websocket.CompressionDisabled,
		OnPingReceived:     func(context.Context, []byte) bool { c.heard(); return true },
		OnPongReceived:     func(context.Context, []byte) { c.heard() },
	})
	if err != nil {
		c.log.Debug("a WebSocket handshake failed", "error", err)
		return nil // it was answered
	}
	ws.SetReadLimit(-1) // c.read has a limit that lets the peer be told
	c.ws = ws
	c.serve(r.Context())
	return nil
}

// serve runs the connection: one goroutine reads, one pings, this one does all the
// rest and is the only one that sends frames.
func (c *conn) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	// The first to end ends the others; what still holds the network is cut off.
	end := func() {
		cancel()
		_ = c.raw.Close()
	}
	others.Go(func() {
		defer cancel()
		c.guarded(func() { c.read(ctx) })
	})
	others.Go(func() {
		defer cancel()
		c.guarded(func() { c.keepAlive(ctx) })
	})
	bye := goodbye{websocket.StatusInternalError, "something is wrong in the gateway: see its log"}
	if !c.guarded(func() { bye = c.run(ctx) }) {
		c.fail("", protocol.CodeInternal, bye.reason)
	}
	c.leave()
	c.close(bye)
	end()
	others.Wait()
	c.forget()
	_ = c.ws.CloseNow()
}

// forget gives back the room of frames that nobody is going to deal with.
func (c *conn) forget() {
	for {
		select {
		case in := <-c.frames:
			in.done()
		default:
			return
		}
	}
}

// close says goodbye, for as long as Timing.Close.
func (c *conn) close(bye goodbye) {
	cut := time.AfterFunc(c.server.opts.Timing.Close, func() { _ = c.raw.Close() })
	defer cut.Stop()
	_ = c.ws.Close(bye.code, bye.reason) // a peer that has gone need not be told
}
