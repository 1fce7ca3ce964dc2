package gateway

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/store"
)

func (r *rig) enqueue(o store.Outbound) store.Outbound {
	r.t.Helper()
	if o.Channel == "" {
		o.Channel = chat.ChannelCLI
	}
	id, err := r.record.Enqueue(r.t.Context(), o)
	require.NoError(r.t, err)
	return r.outbound(id)
}

func (r *rig) outbound(id string) store.Outbound {
	r.t.Helper()
	o, err := r.record.Outbound(r.t.Context(), id)
	require.NoError(r.t, err)
	return o
}

func TestMessageForNobodyWaitsForTheNextConnectionOfItsChat(t *testing.T) {
	r := newRig(t)
	o := r.enqueue(store.Outbound{ChatID: "room", Origin: "job1", Content: "wake up"})
	_, err := r.server.Delivery().Send(t.Context(), o)
	require.ErrorIs(t, err, ErrNobodyConnected)

	other, _ := r.connect(protocol.Hello{ChatID: "elsewhere"})
	require.Equal(t, []string{"info"}, words(other.settled()))
	require.Equal(t, "pending", r.outbound(o.ID).Status)

	p, _ := r.connect(protocol.Hello{ChatID: "room"})
	require.Equal(t, []string{"info", "message"}, words(p.settled()))
	require.Equal(t, protocol.Notice{ID: o.ID, Level: "message", Text: "wake up"}, p.seen[2])
	require.Equal(t, "sent", r.outbound(o.ID).Status)

	again, _ := r.connect(protocol.Hello{ChatID: "room"})
	require.Empty(t, again.settled())
}

func TestMessageIsHandedToEveryClientOfItsChat(t *testing.T) {
	r := newRig(t)
	a, _ := r.connect(protocol.Hello{ChatID: "room"})
	b, _ := r.connect(protocol.Hello{ChatID: "room"})
	c, _ := r.connect(protocol.Hello{ChatID: "elsewhere"})
	for _, p := range []*peer{a, b, c} {
		p.settled()
	}
	o := r.enqueue(store.Outbound{ChatID: "room", Origin: "job1", Content: "wake up"})
	for range 2 { // once more, as after a crash before it was marked
		id, err := r.server.Delivery().Send(t.Context(), o)
		require.NoError(t, err)
		require.Equal(t, o.ID, id)
	}
	require.Equal(t, []string{"message"}, words(a.settled()))
	require.Equal(t, []string{"message"}, words(b.settled()))
	require.Empty(t, c.settled())
	_, err := r.server.Delivery().Send(t.Context(), store.Outbound{Channel: "feishu", ChatID: "room"})
	require.ErrorContains(t, err, "feishu")
}

func TestReplyIsANoticeOnlyWhereItsRowsAreNotSeen(t *testing.T) {
	r := newRig(t)
	attached, w := r.connect(protocol.Hello{ChatID: "room"})
	other, _, err := r.record.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "other"})
	require.NoError(t, err)
	away, _ := r.connect(protocol.Hello{ChatID: "room", SessionID: other.ID})
	attached.settled()
	away.settled()
	reply := func(content string) store.Outbound {
		return r.enqueue(store.Outbound{ChatID: "room", SessionID: w.SessionID, TurnID: content, Origin: content, Content: content})
	}
	_, err = r.server.Delivery().Send(t.Context(), reply("t1"))
	require.NoError(t, err)
	require.Empty(t, attached.settled())
	require.Equal(t, []string{"message"}, words(away.settled()))
	pending, err := r.record.PendingOutbound(t.Context(), "cli", "room")
	require.NoError(t, err)
	for _, o := range pending {
		require.NoError(t, r.record.MarkOutbound(t.Context(), o.ID, "sent", "", ""))
	}

	// Written while nobody was there: a client that replays sees its rows, one that
	// does not would never know.
	reply("t2")
	zero := int64(0)
	replays, _ := r.connect(protocol.Hello{ChatID: "room", SessionID: w.SessionID, FromSeq: &zero})
	require.Equal(t, []string{"info"}, words(replays.settled()), "the welcome, which is a row too")
	reply("t3")
	joins, _ := r.connect(protocol.Hello{ChatID: "room"})
	require.Equal(t, []string{"message"}, words(joins.settled()))
}

func TestSendDoesNotWaitForAStalledClient(t *testing.T) {
	r := newRig(t)
	d := newCLI()
	d.join(&conn{server: r.server, hello: &protocol.Hello{ChatID: "room"}, offers: make(chan offer, 1)})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := d.Send(ctx, store.Outbound{ID: "1", Channel: "cli", ChatID: "room"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = d.Send(t.Context(), store.Outbound{ID: "2", Channel: "cli", ChatID: "room"}) // its queue is full
	require.ErrorIs(t, err, ErrNobodyConnected)
}

func TestClientThatLeavesGivesBackWhatItDidNotTake(t *testing.T) {
	d := newCLI()
	c := &conn{hello: &protocol.Hello{ChatID: "room"}, offers: make(chan offer, 1)}
	d.join(c)
	sent := make(chan error, 1)
	go func() {
		_, err := d.Send(t.Context(), store.Outbound{ID: "1", Channel: "cli", ChatID: "room"})
		sent <- err
	}()
	require.Eventually(t, func() bool { return len(c.offers) == 1 }, patience, time.Millisecond)
	d.leave(c)
	require.ErrorIs(t, <-sent, ErrNobodyConnected)
	require.False(t, d.connected("room"))
}

func TestRecentForgetsTheOldest(t *testing.T) {
	var r recent
	for i := range maxRecent + 1 {
		r.add(string(rune('a' + i)))
		r.add(string(rune('a' + i)))
	}
	require.False(t, r.has("a"))
	require.True(t, r.has("b"))
	require.Len(t, r.ids, maxRecent)
}
