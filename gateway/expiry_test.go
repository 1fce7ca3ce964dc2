package gateway

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/protocol"
	"picobot/store"
)

// silent makes a session look as if nothing had happened in it for too long.
func (r *rig) silent(sessionID string) {
	r.t.Helper()
	db, err := sql.Open("sqlite", r.path)
	require.NoError(r.t, err)
	_, err = db.Exec(`UPDATE sessions SET last_active_at = last_active_at - ? WHERE id = ?`, (2 * expireAfter).Milliseconds(), sessionID)
	require.NoError(r.t, err)
	require.NoError(r.t, db.Close())
}

func TestExpiry_TheFirstMessageAfterSilence_OpensANewDialogForAllWhoFollow(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{ChatID: "room"})
	r.said(p, "1", "hi")
	follows, _ := r.connect(protocol.Hello{ChatID: "room"})
	stays, _ := r.connect(protocol.Hello{ChatID: "room", SessionID: w.SessionID})
	r.silent(w.SessionID)
	require.True(t, p.command("i", "/info").OK)
	_, late := r.connect(protocol.Hello{ChatID: "room"})
	require.Equal(t, w.SessionID, late.SessionID, "looking is no message")

	p.say("2", "again")
	next := expect[protocol.Welcome](p)
	require.NotEqual(t, w.SessionID, next.SessionID)
	require.Equal(t, "welcome/"+next.SessionID, p.next().(protocol.Notice).ID)
	acc, ok := p.next().(protocol.Accepted)
	require.True(t, ok, "accepted comes before any other frame of its turn, and after the welcome: %v", p.seen)
	require.Equal(t, protocol.Accepted{ID: "2", TurnID: acc.TurnID, SessionID: next.SessionID}, acc)
	require.Equal(t, protocol.TurnQueued, expect[protocol.Turn](p).Status)
	nudged, _ := r.told.calls()
	require.Equal(t, next.SessionID, nudged[len(nudged)-1])
	require.Equal(t, next.SessionID, follows.welcomed().SessionID)
	require.Equal(t, acc.TurnID, expect[protocol.Turn](follows).TurnID)
	r.run(next.SessionID, "re: again")
	for _, q := range []*peer{p, follows} {
		q.until(isRow("assistant"))
	}
	require.Empty(t, words(stays.settled()), "who asked for the session by its id stays there")

	// Redelivered, the old one is answered where it was.
	p.until(ends(acc.TurnID))
	p.say("1", "hi")
	require.Equal(t, w.SessionID, p.accepted().SessionID)
	require.Equal(t, protocol.TurnCompleted, expect[protocol.Turn](p).Status)
	session, _ := r.said(stays, "3", "in the old one")
	require.Equal(t, w.SessionID, session)
	r.sound()
}

func TestExpiry_ADialogThatWasChosen_HasNotExpired(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{ChatID: "room"})
	r.said(p, "1", "hi")
	p.command("n", "/new b")
	b := p.welcomed()
	r.silent(w.SessionID)
	p.command("u", "/use "+w.SessionID)
	p.welcomed()
	session, _ := r.said(p, "2", "on with it")
	require.Equal(t, w.SessionID, session)

	// Nobody said a word in b: it is as good as new.
	r.silent(b.SessionID)
	p.command("u2", "/use "+b.SessionID)
	p.welcomed()
	r.silent(b.SessionID)
	session, _ = r.said(p, "3", "hi b")
	require.Equal(t, b.SessionID, session)
}

func TestExpiry_WhileATurnIsToBeAnswered_TheDialogGoesOn(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{ChatID: "room"})
	r.said(p, "1", "hi")
	p.say("2", "work")
	p.accepted()
	r.begin(w.SessionID)
	r.silent(w.SessionID)
	p.say("3", "and then")
	require.Equal(t, w.SessionID, p.accepted().SessionID)
}

func TestExpiry_OfAChatWithoutSockets_MessagesWithoutASessionOpenANewDialog(t *testing.T) {
	r := newRig(t)
	m := store.Inbound{Channel: "feishu", ChatID: "oc_1", ExternalID: "m1", SenderID: "u", Content: "hi", New: store.NewSession{Agent: "", Title: "t"}}
	first, err := r.record.Accept(t.Context(), m)
	require.NoError(t, err)
	r.run(first.SessionID, "hello")
	r.silent(first.SessionID)
	m.ExternalID = "m2"
	second, err := r.record.Accept(t.Context(), m)
	require.NoError(t, err)
	require.NotEqual(t, first.SessionID, second.SessionID)
	for _, id := range []string{"m1", "m2"} {
		m.ExternalID = id
		again, err := r.record.Accept(t.Context(), m)
		require.NoError(t, err)
		require.True(t, again.Duplicate)
	}
	require.Len(t, query(r, `SELECT id FROM sessions`), 2)
	require.Equal(t, []string{second.SessionID}, query(r, `SELECT id FROM sessions WHERE active = 1`))
	r.sound()
}
