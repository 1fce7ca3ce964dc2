package gateway

import (
	"context"
	"strings"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/store"
)

// message takes what the peer says: a command is run and answered, anything else is
// written down, accepted, and then worked on.
func (c *conn) message(ctx context.Context, m protocol.UserMessage) {
	in := store.Inbound{
		Channel: chat.ChannelCLI, ChatID: c.hello.ChatID, ExternalID: m.ID, SessionID: c.attached.ID, SenderID: c.hello.SenderID,
		Content: m.Content, New: newSession(*c.hello, c.words), Follow: c.follows,
	}
	if strings.HasPrefix(m.Content, "/") {
		got, err := c.server.runCommand(ctx, in, c.words)
		c.accepted(ctx, m.ID, got, err)
		return
	}
	if c.attached.Channel != chat.ChannelCLI || len(m.Media) > 0 {
		// What was accepted is answered again, wherever the peer is now and whatever has
		// become of the files that came with it.
		if got, known, err := c.server.deps.Record.Known(ctx, in); known || err != nil {
			c.accepted(ctx, m.ID, got, err)
			return
		}
	}
	switch {
	case c.attached.Channel != chat.ChannelCLI:
		c.fail(m.ID, protocol.CodeReadOnly, readOnly)
		return
	case strings.TrimSpace(m.Content) == "" && len(m.Media) == 0:
		c.fail(m.ID, protocol.CodeBadFrame, "the message is empty")
		return
	}
	media, bad, err := c.server.media.keep(m.Media)
	if bad != nil {
		c.fail(m.ID, protocol.CodeBadMedia, bad.Error())
		return
	}
	if err != nil {
		c.log.Error("an attachment could not be kept", "error", err)
		c.fail(m.ID, protocol.CodeStoreUnavailable, "the attachment cannot be stored now: try again")
		return
	}
	in.Media = media
	rctx, cancel := c.server.recordContext(ctx)
	defer cancel()
	got, err := c.server.accept(rctx, in)
	c.accepted(ctx, m.ID, got, err)
}

// accepted tells what became of a message, and gets it worked on.
func (c *conn) accepted(ctx context.Context, id string, got store.Accepted, err error) {
	if err != nil {
		c.failWith(id, err)
		return
	}
	if got.Command == nil && !got.Duplicate && got.SessionID != c.attached.ID {
		// It was the first after a long silence and has opened a new dialog, or the one that
		// this peer was at is over.
		if c.lead(ctx, got.SessionID, true, new(int64)) {
			defer c.follow(ctx)
		}
	}
	c.write(protocol.Accepted{ID: id, TurnID: got.Turn.ID, SessionID: got.SessionID, Duplicate: got.Duplicate})
	if cmd := got.Command; cmd != nil {
		c.write(protocol.Command{ID: id, Name: cmd.Name, OK: cmd.OK, Text: cmd.Text, Data: cmd.Data})
		if known, _ := c.server.commands.find(cmd.Name); known.leads && cmd.OK {
			c.goTo(ctx, *cmd)
			if !got.Duplicate && !known.ends && c.attached.ID == cmd.SessionID {
				c.server.delivery.moved(c, move{commandID: cmd.ID, to: c.attached})
			}
		}
		return
	}
	if !got.Turn.Status.Final() {
		c.server.deps.Dispatcher.Nudge(got.Turn.SessionID)
	}
	if got.Duplicate {
		c.present(ctx, got.Turn)
	}
}

// goTo takes the peer to the dialog that a command led to, also when the command came
// again: whoever repeats it has not seen its answer. What is left to tell of the dialog
// before comes first.
func (c *conn) goTo(ctx context.Context, cmd store.Command) {
	c.follows = false
	c.follow(ctx)
	if c.lead(ctx, cmd.SessionID, true, nil) {
		c.follow(ctx)
		c.handOver(ctx, false)
		return
	}
	// It was deleted since: the chat's active one is where it would lead now.
	rctx, cancel := c.server.recordContext(ctx)
	defer cancel()
	sess, created, err := c.server.deps.Record.OpenChat(rctx, newSession(*c.hello, c.words))
	if err != nil {
		c.failWith("", err)
		return
	}
	if c.lead(ctx, sess.ID, created, nil) {
		c.follow(ctx)
	}
}

// present tells the state of a turn, as far as the peer can know it from here: it
// never runs ahead of the rows.
func (c *conn) present(ctx context.Context, t store.Turn) {
	told, err := c.catchUp(ctx)
	switch {
	case err != nil:
		c.follow(ctx) // it tries again, also later
	case told[t.ID]:
		return
	}
	if f, ok := c.follower.present(t.ID); ok {
		c.write(f)
		return
	}
	// Not followed: it ended before this peer came, or it is another session's.
	if now, err := c.server.deps.Record.Turn(ctx, t.ID); err == nil {
		t = now
	}
	c.write(turnFrame(t))
}
