package gateway

import (
	"context"
	"slices"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/store"
)

// notify hands an outbound message to the peer and reports whether it has it.
func (c *conn) notify(o store.Outbound) bool {
	if c.sent.has(o.ID) || c.shows(o) {
		return true
	}
	c.write(notice(o))
	if c.broken != nil {
		return false
	}
	c.sent.add(o.ID)
	return true
}

func notice(o store.Outbound) protocol.Notice {
	return protocol.Notice{ID: o.ID, Level: "message", Text: o.Content, JobID: o.JobID}
}

// shows reports whether the peer sees a message as a row of the attached session:
// the reply of one of its turns.
func (c *conn) shows(o store.Outbound) bool {
	return o.TurnID != "" && o.Origin == o.TurnID && o.SessionID == c.attached.ID
}

// handOver sends what waits for this chat. replayed tells that the peer has had the
// rows of the session, so that replies among them are no news.
func (c *conn) handOver(ctx context.Context, replayed bool) {
	if c.broken != nil {
		return
	}
	pending, err := c.server.deps.Record.PendingOutbound(ctx, chat.ChannelCLI, c.hello.ChatID)
	if ctx.Err() != nil {
		return // the peer has gone meanwhile, its messages stay pending
	}
	if err != nil {
		c.log.Error("the outbox could not be read, its messages stay pending", "error", err)
		return
	}
	for _, o := range pending {
		if !c.sent.has(o.ID) && (!c.shows(o) || !replayed) {
			c.write(notice(o))
		}
		if c.broken != nil {
			return
		}
		c.sent.add(o.ID)
		c.markSent(ctx, o.ID)
	}
}

func (c *conn) markSent(ctx context.Context, id string) {
	ctx, cancel := c.server.recordContext(ctx)
	defer cancel()
	if err := c.server.deps.Record.MarkOutbound(ctx, id, "sent", id, ""); err != nil {
		// It comes again with the same id: clients know it by that.
		c.log.Warn("a message was handed over but could not be marked as sent", "id", id, "error", err)
	}
}

// recent remembers the last ids it was given.
type recent struct{ ids []string }

const maxRecent = 256

func (r *recent) has(id string) bool { return slices.Contains(r.ids, id) }

func (r *recent) add(id string) {
	if r.has(id) {
		return
	}
	if len(r.ids) == maxRecent {
		r.ids = slices.Delete(r.ids, 0, 1)
	}
	r.ids = append(r.ids, id)
}
