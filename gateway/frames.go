package gateway

import (
	"context"
	"errors"

	"github.com/coder/websocket"

	"picobot/internal/protocol"
	"picobot/store"
)

// handle does what a frame asks for, and says whether it was the last one.
func (c *conn) handle(ctx context.Context, in incoming) *goodbye {
	if in.tooLarge {
		return c.tooLarge("")
	}
	hello, isHello := in.frame.(protocol.Hello)
	switch {
	case in.err != nil && (c.hello != nil || in.err.Code == protocol.CodeBadFrame):
		c.write(*in.err)
	case c.hello == nil && !isHello:
		c.fail(in.id(), protocol.CodeHelloRequired, "say hello first")
	case c.hello != nil && isHello:
		c.fail("", protocol.CodeBadFrame, "hello was said already: attach changes the session")
	case isHello:
		c.greet(ctx, hello)
		if c.hello == nil { // it was refused and may be said again
			c.helloDue.Reset(c.server.opts.Timing.Hello)
		}
	default:
		return c.do(ctx, in.frame)
	}
	return nil
}

func (c *conn) do(ctx context.Context, frame protocol.ClientFrame) *goodbye {
	switch f := frame.(type) {
	case protocol.UserMessage:
		if int64(len(f.Content)) > c.server.opts.MaxMessageBytes {
			return c.tooLarge(f.ID)
		}
		c.message(ctx, f)
	case protocol.Attach:
		c.change(ctx, f)
	case protocol.Cancel:
		c.cancel(ctx, f)
	case protocol.Ping:
		c.write(protocol.Pong{})
	}
	return nil
}

func (c *conn) tooLarge(id string) *goodbye {
	c.fail(id, protocol.CodeTooLarge, "this is larger than gateway.max_message_bytes allows")
	return &goodbye{websocket.StatusMessageTooBig, "too large"}
}

// id returns what the peer knows a frame by.
func (in incoming) id() string {
	if m, ok := in.frame.(protocol.UserMessage); ok {
		return m.ID
	}
	if in.err != nil {
		return in.err.ID
	}
	return ""
}

// cancel stops a turn: the one named, else the attached session's running or
// oldest waiting one.
func (c *conn) cancel(ctx context.Context, f protocol.Cancel) {
	session := c.attached.ID
	if f.TurnID != "" {
		t, err := c.server.deps.Record.Turn(ctx, f.TurnID)
		if err != nil {
			c.failWith("", err)
			return
		}
		session = t.SessionID
	}
	if _, err := c.server.stopTurn(ctx, session, f.TurnID); err != nil {
		c.failWith("", err)
	}
}

// stopTurn writes down that a turn is to stop and tells who runs it.
func (s *Server) stopTurn(ctx context.Context, sessionID, turnID string) (store.Cancelled, error) {
	ctx, cancel := s.recordContext(ctx)
	defer cancel()
	got, err := s.deps.Record.Cancel(ctx, sessionID, turnID)
	if err == nil {
		s.tellStopped(got)
	}
	return got, err
}

// tellStopped tells who runs a turn that it is to stop. The record knows already.
func (s *Server) tellStopped(c store.Cancelled) {
	if c.Running {
		s.deps.Dispatcher.CancelTurn(c.Turn.SessionID, c.Turn.ID)
	}
}

// recordContext bounds a write to the record. The write goes on when the peer or
// the server goes: one that is half done helps nobody.
func (s *Server) recordContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timing.Record)
}

// failWith tells the peer of an error of the record.
func (c *conn) failWith(id string, err error) {
	switch {
	case errors.Is(err, store.ErrNotFound):
		c.fail(id, protocol.CodeNotFound, "there is no such session or turn, or it has ended")
	case errors.Is(err, store.ErrReadOnlySession):
		c.fail(id, protocol.CodeReadOnly, readOnly)
	case errors.Is(err, store.ErrDamaged):
		c.log.Error("the record is damaged", "error", err)
		c.fail(id, protocol.CodeInternal, store.ErrDamaged.Error())
	default:
		c.log.Error("the record could not be read or written", "session", c.attached.ID, "error", err)
		c.fail(id, protocol.CodeStoreUnavailable, "the record cannot be read or written now: try again")
	}
}

const readOnly = "this session belongs to another channel or was deleted: it takes no messages from here"
