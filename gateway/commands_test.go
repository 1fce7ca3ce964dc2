package gateway

import (
	"database/sql"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/testkit/strict"
	"picobot/internal/text"
	"picobot/store"
)

// sound judges the record.
func (r *rig) sound() {
	r.t.Helper()
	db, err := sql.Open("sqlite", r.path)
	require.NoError(r.t, err)
	defer func() { require.NoError(r.t, db.Close()) }()
	bad, err := strict.Record(db)
	require.NoError(r.t, err)
	require.Empty(r.t, bad)
}

// accepted passes over what comes before the next accepted frame.
func (p *peer) accepted() protocol.Accepted {
	p.t.Helper()
	frames := p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Accepted); return ok })
	return frames[len(frames)-1].(protocol.Accepted)
}

func TestStop_Redelivered_IsAnsweredAgainAndStopsNoLaterTurn(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("1", "work")
	first := p.accepted().TurnID
	r.begin(w.SessionID)
	p.say("s", "/stop")
	require.Equal(t, protocol.Accepted{ID: "s", SessionID: w.SessionID}, p.accepted())
	answer := expect[protocol.Command](p)
	require.Equal(t, text.For("en").Say(text.StopRequested{}), answer.Text)
	_, err := r.record.FinishTurn(t.Context(), store.Finish{TurnID: first, Status: chat.TurnCancelled})
	require.NoError(t, err)

	p.say("2", "go on")
	second := p.accepted().TurnID
	r.begin(w.SessionID)
	p.say("3", "and this") // waits
	p.accepted()
	// Again on the same connection and, as after a reconnect, on another one.
	other, _ := r.connect(protocol.Hello{SessionID: w.SessionID})
	for _, q := range []*peer{p, other} {
		q.say("s", "/stop")
		require.Equal(t, protocol.Accepted{ID: "s", SessionID: w.SessionID, Duplicate: true}, q.accepted())
		require.Equal(t, answer, expect[protocol.Command](q))
	}
	_, cancels := r.told.calls()
	require.Equal(t, []string{first}, cancels)
	asked, err := r.record.CancelRequested(t.Context(), second)
	require.NoError(t, err)
	require.False(t, asked)
	waiting, err := r.record.Turns(t.Context(), store.TurnFilter{Status: chat.TurnQueued})
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	r.sound()
}

func TestCommandFromTenConnectionsAtOnce_IsDoneOnceAndAnsweredToAll(t *testing.T) {
	r := newRig(t)
	var peers []*peer
	for range 10 {
		p, _ := r.connect(protocol.Hello{ChatID: "room"})
		peers = append(peers, p)
	}
	for _, id := range []string{"1", "2", "3"} {
		peers[0].say(id, "work")
		peers[0].accepted()
	}
	var wg sync.WaitGroup
	for _, p := range peers {
		wg.Go(func() {
			_ = p.ws.Write(t.Context(), websocket.MessageText, protocol.EncodeClient(protocol.UserMessage{ID: "s", Content: "/stop"}))
		})
	}
	wg.Wait()
	fresh := 0
	for _, p := range peers {
		acc := p.accepted()
		require.Empty(t, acc.TurnID)
		if !acc.Duplicate {
			fresh++
		}
		require.Equal(t, text.For("en").Say(text.StopRequested{}), expect[protocol.Command](p).Text)
	}
	require.Equal(t, 1, fresh)
	stopped, err := r.record.Turns(t.Context(), store.TurnFilter{Status: chat.TurnCancelled})
	require.NoError(t, err)
	require.Len(t, stopped, 1)
	r.sound()
}

func TestIdOfACommandAndOfAMessage_IsAnsweredByWhatCameFirst(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("c", "/help")
	require.False(t, p.accepted().Duplicate)
	help := expect[protocol.Command](p)
	p.say("c", "hello")
	require.Equal(t, protocol.Accepted{ID: "c", SessionID: w.SessionID, Duplicate: true}, p.accepted())
	require.Equal(t, help, expect[protocol.Command](p))

	p.say("m", "hello")
	turn := p.accepted().TurnID
	expect[protocol.Turn](p)
	p.say("m", "/stop")
	require.Equal(t, protocol.Accepted{ID: "m", TurnID: turn, SessionID: w.SessionID, Duplicate: true}, p.accepted())
	require.Equal(t, protocol.TurnQueued, expect[protocol.Turn](p).Status)
	require.Empty(t, words(p.settled()))
	r.sound()
}

func TestCommand_RecordCannotBeWritten_IsNotAcceptedAndMayComeAgain(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("1", "work")
	turn := p.accepted().TurnID
	r.begin(w.SessionID)
	p.until(isRow("user"))
	unlock := r.lock()
	p.say("s", "/stop")
	require.Equal(t, "s", p.error(protocol.CodeStoreUnavailable).ID)
	_, cancels := r.told.calls()
	require.Empty(t, cancels, "nothing is stopped that the record does not know of")
	unlock()
	p.say("s", "/stop")
	require.False(t, p.accepted().Duplicate)
	require.True(t, expect[protocol.Command](p).OK)
	_, cancels = r.told.calls()
	require.Equal(t, []string{turn}, cancels)
}

// What was accepted is answered again also where it would be refused now.
func TestRepeatedMessage_FromAReadOnlySessionOrWithItsFileGone_IsAnsweredAgain(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("1", "hi")
	turn := p.accepted().TurnID
	expect[protocol.Turn](p)
	again := func(q *peer, m protocol.UserMessage) {
		t.Helper()
		q.send(m)
		require.Equal(t, protocol.Accepted{ID: "1", TurnID: turn, SessionID: w.SessionID, Duplicate: true}, q.accepted())
		require.Equal(t, turn, expect[protocol.Turn](q).TurnID)
	}
	again(p, protocol.UserMessage{ID: "1", Content: "hi", Media: []protocol.Media{{Type: "image", Path: "gone.png"}}})
	got, err := r.record.Accept(t.Context(), store.Inbound{Channel: "feishu", ChatID: "oc_1", ExternalID: "m1", SenderID: "u", Content: "hi"})
	require.NoError(t, err)
	other, _ := r.connect(protocol.Hello{SessionID: got.Turn.SessionID})
	other.settled()
	again(other, protocol.UserMessage{ID: "1", Content: "hi"})
	other.say("2", "new")
	other.error(protocol.CodeReadOnly)
}

// query returns the first column of a query's rows.
func query(r *rig, q string, args ...any) []string {
	r.t.Helper()
	db, err := sql.Open("sqlite", r.path)
	require.NoError(r.t, err)
	defer func() { require.NoError(r.t, db.Close()) }()
	rows, err := db.Query(q, args...)
	require.NoError(r.t, err)
	defer func() { require.NoError(r.t, rows.Close()) }()
	var out []string
	for rows.Next() {
		var s string
		require.NoError(r.t, rows.Scan(&s))
		out = append(out, s)
	}
	require.NoError(r.t, rows.Err())
	return out
}
