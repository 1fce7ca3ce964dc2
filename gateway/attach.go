package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/text"
	"picobot/store"
)

// greet answers a hello: it finds or makes the session and shows what waits there.
func (c *conn) greet(ctx context.Context, h protocol.Hello) {
	if agents := c.server.opts.Agents; h.Agent != "" && len(agents) > 0 && !slices.Contains(agents, h.Agent) {
		c.fail("", protocol.CodeNotFound, fmt.Sprintf("there is no agent %q: the configuration has %s", cut(h.Agent), strings.Join(agents, ", ")))
		return
	}
	words := text.For(cmp.Or(h.Locale, c.server.opts.Locale))
	id, created := h.SessionID, false
	if id == "" {
		ctx, cancel := c.server.recordContext(ctx)
		defer cancel()
		sess, isNew, err := c.server.deps.Record.OpenChat(ctx, newSession(h, words))
		if err != nil {
			c.failWith("", err)
			return
		}
		id, created = sess.ID, isNew
	}
	a, err := c.attach(ctx, id, h.FromSeq)
	if err != nil {
		c.failWith("", err)
		return
	}
	c.hello, c.words, c.follows = &h, words, h.SessionID == "" || h.Follow
	c.follower.words = c.words
	c.server.delivery.join(c)
	c.welcome(a, created, h.FromSeq)
	if c.server.deps.Model(a.Session.Agent).Offline {
		c.write(protocol.Notice{ID: c.server.offline, Level: "warn", Text: c.words.Say(text.OfflineNotice{})})
	}
	if has := a.Session.Agent; h.Agent != "" && h.Agent != has && !created {
		c.write(protocol.Notice{ID: "agent/" + id + "/" + h.Agent, Level: "warn", Text: c.words.Say(text.AgentKept{Name: has, Wanted: h.Agent})})
	}
	c.follow(ctx)
	c.handOver(ctx, h.FromSeq != nil)
}

// change attaches the connection to another session, or to the same one again.
func (c *conn) change(ctx context.Context, f protocol.Attach) {
	before := c.attached.ID
	a, err := c.attach(ctx, f.SessionID, f.FromSeq)
	if err != nil {
		c.failWith("", err)
		return
	}
	// One that was asked for by its id is stayed in, whatever becomes of the chat.
	c.follows = c.follows && f.SessionID == before
	c.welcome(a, false, f.FromSeq)
	c.follow(ctx)
	c.handOver(ctx, f.FromSeq != nil)
}

// lead takes the peer to the dialog that the chat is in after what it said. It reports
// whether that is there.
func (c *conn) lead(ctx context.Context, sessionID string, created bool, fromSeq *int64) bool {
	a, err := c.attach(ctx, sessionID, fromSeq)
	if err != nil {
		if !errors.Is(err, store.ErrNotFound) {
			c.failWith("", err)
		}
		return false
	}
	c.follows = true
	c.welcome(a, created, fromSeq)
	return true
}

// welcome shows the row that a new session begins with: to whom it was made for, and
// to whom asks for what came from the beginning on.
func (c *conn) welcome(a store.Attached, created bool, fromSeq *int64) {
	if a.Welcome != nil && (created || fromSeq != nil && *fromSeq < a.Welcome.Seq) {
		c.write(protocol.Notice{ID: "welcome/" + a.Session.ID, Level: "info", Text: a.Welcome.Content})
	}
}

// attach begins to follow a session and says welcome. If it cannot, everything
// stays as it was.
func (c *conn) attach(ctx context.Context, sessionID string, fromSeq *int64) (store.Attached, error) {
	// Watched before it is read: what happens in between is only seen twice.
	w := c.server.deps.Hub.Watch(sessionID)
	a, err := c.server.deps.Record.Attach(ctx, sessionID, fromSeq)
	if err != nil {
		w.Close()
		return store.Attached{}, err
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
	return a, nil
}

// newSession is what a chat's new dialog is made from.
func newSession(h protocol.Hello, words *text.Catalogue) store.NewSession {
	return store.NewSession{
		Channel: chat.ChannelCLI, ChatID: h.ChatID, Agent: h.Agent, RoutingInfo: routing(h),
		Title: words.Say(text.DefaultTitle{}), Welcome: words.Say(text.Welcome{}),
	}
}

func routing(h protocol.Hello) json.RawMessage {
	b, _ := json.Marshal(struct { // two strings can always be written
		Type   string `json:"type"`
		Sender string `json:"ws_sender_id"`
	}{chat.ChannelCLI, h.SenderID})
	return b
}
