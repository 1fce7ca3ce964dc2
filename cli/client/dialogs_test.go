package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/protocol"
)

func took(t *testing.T, s *state, frames ...protocol.ServerFrame) {
	t.Helper()
	for _, f := range frames {
		_, tell, err := s.receive(f)
		require.NoError(t, err)
		tell()
	}
}

// What becomes of a turn in another dialog is not told: nobody may wait for it.
func TestConversationThatTurnsToAnotherDialog_WaitsForNothingOfTheOneBefore(t *testing.T) {
	s := newState(protocol.Hello{ClientID: "c"})
	s.connect()
	took(t, s, protocol.Welcome{Protocol: 1, SessionID: "cli:c:1", LastSeq: 1})
	work, command := s.add("m1", "work"), s.add("n", "/new")
	s.pending()
	took(t, s,
		protocol.Accepted{ID: "m1", TurnID: "t1", SessionID: "cli:c:1"}, protocol.Accepted{ID: "n", SessionID: "cli:c:1"},
		protocol.Command{ID: "n", Name: "new", OK: true, Text: "New dialog", Data: []byte(`{"session_id":"cli:c:2"}`)})
	require.Equal(t, "cli:c:2", (<-command.done).outcome.SessionID, "where it led, before the welcome says so")
	took(t, s, protocol.Welcome{Protocol: 1, SessionID: "cli:c:2", LastSeq: 1})
	require.Equal(t, Outcome{SessionID: "cli:c:1", TurnID: "t1", Status: protocol.TurnStarted, Elsewhere: true}, (<-work.done).outcome)

	// Nor does one lead back that is answered again after a reconnect.
	late := s.add("m2", "more")
	s.pending()
	h := s.connect()
	require.Equal(t, "cli:c:2", h.SessionID)
	require.True(t, h.Follow)
	took(t, s, protocol.Welcome{Protocol: 1, SessionID: "cli:c:2", LastSeq: 1})
	s.pending()
	took(t, s, protocol.Accepted{ID: "m2", TurnID: "t2", SessionID: "cli:c:1", Duplicate: true},
		protocol.Turn{TurnID: "t2", SessionID: "cli:c:1", Status: protocol.TurnCompleted})
	require.True(t, (<-late.done).outcome.Elsewhere)
	for _, f := range s.pending() {
		_, back := f.(protocol.Attach)
		require.False(t, back)
	}
}

func TestHello_OfAReconnect_FollowsTheChatUnlessTheSessionWasAskedFor(t *testing.T) {
	s := newState(protocol.Hello{ClientID: "c", SessionID: "cli:c:1"})
	s.connect()
	took(t, s, protocol.Welcome{Protocol: 1, SessionID: "cli:c:1", LastSeq: 1})
	require.False(t, s.connect().Follow)
	took(t, s, protocol.Welcome{Protocol: 1, SessionID: "cli:c:1", LastSeq: 1}, protocol.Welcome{Protocol: 1, SessionID: "cli:c:2", LastSeq: 1})
	require.True(t, s.connect().Follow, "the person has left it by /new or /use")
}
