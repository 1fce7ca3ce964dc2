package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/text"
	"picobot/store"
)

// greet answers a hello: it finds or makes the session and shows what waits there.
func (c *conn) greet(ctx context.Context, h protocol.Hello) {
	if agents := c.server.opts.Agents; h.Agent != "" && len(agents) > 0 && !slices.Contains(agents, h.Agent) {
		c.fail("", protocol.CodeNotFound, "the config has no agent of this name")
		return
	}
	id, created := h.SessionID, false
	if id == "" {
		ctx, cancel := c.server.recordContext(ctx)
		defer cancel()
		sess, isNew, err := c.server.deps.Record.OpenChat(ctx, newSession(h))
		if err != nil {
			c.failWith("", err)
			return
		}
		id, created = sess.ID, isNew
	}
	model, err := c.attach(ctx, id, h.FromSeq)
	if err != nil {
		c.failWith("", err)
		return
	}
	c.hello, c.words = &h, text.For(cmp.Or(h.Locale, c.server.opts.Locale))
	c.follower.words = c.words
	c.server.delivery.join(c)
	if created {
		c.write(protocol.Notice{ID: "welcome/" + id, Level: "info", Text: c.words.Say(text.Welcome{})})
	}
	if model.Offline {
		c.write(protocol.Notice{ID: c.server.offline, Level: "warn", Text: c.words.Say(text.OfflineNotice{})})
	}
	c.follow(ctx)
	c.handOver(ctx, h.FromSeq != nil)
}

// change attaches the connection to another session, or to the same one again.
func (c *conn) change(ctx context.Context, f protocol.Attach) {
	if _, err := c.attach(ctx, f.SessionID, f.FromSeq); err != nil {
		c.failWith("", err)
		return
	}
	c.follow(ctx)
	c.handOver(ctx, f.FromSeq != nil)
}

// attach begins to follow a session and says welcome. If it cannot, everything
// stays as it was.
func (c *conn) attach(ctx context.Context, sessionID string, fromSeq *int64) (Model, error) {
	// Watched before it is read: what happens in between is only seen twice.
	w := c.server.deps.Hub.Watch(sessionID)
	a, err := c.server.deps.Record.Attach(ctx, sessionID, fromSeq)
	if err != nil {
		w.Close()
		return Model{}, err
	}
	if c.watcher != nil {
		c.watcher.Close()
	}
	c.watcher, c.attached, c.cursor = w, a.Session, a.Cursor
	c.follower = newFollower(a, c.server.deps.Summarize)
	if c.words != nil {
		c.follower.words = c.words
	}
	model := c.server.deps.Model(a.Session.Agent)
	c.write(protocol.Welcome{
		Protocol: protocol.Version, Server: "picobot " + c.server.opts.Version, SessionID: a.Session.ID, Title: a.Session.Title,
		LastSeq: a.Session.LastSeq, Model: model.Name, Offline: model.Offline,
	})
	return model, nil
}

// newSession is what a chat's first dialog is made from.
func newSession(h protocol.Hello) store.NewSession {
	return store.NewSession{Channel: chat.ChannelCLI, ChatID: h.ChatID, Agent: h.Agent, RoutingInfo: routing(h)}
}

func routing(h protocol.Hello) json.RawMessage {
	b, _ := json.Marshal(struct { // two strings can always be written
		Type   string `json:"type"`
		Sender string `json:"ws_sender_id"`
	}{chat.ChannelCLI, h.SenderID})
	return b
}
