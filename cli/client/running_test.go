package client

import (
	"reflect"
	"testing"

	"picobot/internal/protocol"
)

func attached(t *testing.T, frames ...protocol.ServerFrame) *state {
	t.Helper()
	s := newState(protocol.Hello{})
	s.connect()
	for _, f := range append([]protocol.ServerFrame{protocol.Welcome{Protocol: 1, SessionID: "a"}}, frames...) {
		if _, _, err := s.receive(f); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func sends(t *testing.T, s *state, want ...protocol.ClientFrame) {
	t.Helper()
	if got := s.pending(); !reflect.DeepEqual(got, want) {
		t.Errorf("sends %+v, want %+v", got, want)
	}
}

func TestCancelRunningStopsTheTurnThatRunsAndNotThoseThatWait(t *testing.T) {
	s := attached(t)
	s.add("m1", "one")
	s.add("m2", "two")
	s.add("m3", "/help")
	s.pending()
	for _, f := range []protocol.ServerFrame{
		protocol.Accepted{ID: "m1", TurnID: "t1", SessionID: "a"}, protocol.Accepted{ID: "m2", TurnID: "t2", SessionID: "a"},
		protocol.Turn{TurnID: "t1", SessionID: "a", Status: protocol.TurnStarted},
	} {
		_, _, _ = s.receive(f)
	}
	if unsent, open := s.outstanding(); unsent != 1 || open != 2 {
		t.Errorf("%d unsent, %d open", unsent, open)
	}
	if !s.cancelRunning() || s.cancelRunning() {
		t.Error("the first time is news, the second is not")
	}
	sends(t, s, protocol.Cancel{TurnID: "t1"})
	_, _, _ = s.receive(protocol.Turn{TurnID: "t1", SessionID: "a", Status: protocol.TurnCancelled})
	if !s.cancelRunning() {
		t.Error("the next one cannot be stopped")
	}
	sends(t, s, protocol.Cancel{TurnID: "t2"})
}

func TestCancelRunningStopsATurnThatSomebodyElseBegan(t *testing.T) {
	s := attached(t, protocol.Turn{TurnID: "t9", SessionID: "a", Status: protocol.TurnStarted})
	if !s.cancelRunning() || s.cancelRunning() {
		t.Error("the first time is news, the second is not")
	}
	sends(t, s, protocol.Cancel{TurnID: "t9"})
	sends(t, s)
	if _, open := s.outstanding(); open != 1 {
		t.Errorf("%d open", open)
	}
	_, _, _ = s.receive(protocol.Turn{TurnID: "t9", SessionID: "a", Status: protocol.TurnCancelled})
	if _, open := s.outstanding(); open != 0 || s.cancelRunning() {
		t.Error("it still counts as running")
	}
}

func TestCommandsAreNothingToCancel(t *testing.T) {
	s := attached(t)
	s.add("m1", "/stop")
	if s.cancelRunning() {
		t.Error("a command was cancelled")
	}
}

// A cancel that comes after the end of its turn is refused, and that is nobody's news.
func TestCancelThatComesTooLateIsNoError(t *testing.T) {
	s := newState(protocol.Hello{})
	s.connect()
	take := func(f protocol.ServerFrame) bool {
		t.Helper()
		fresh, _, err := s.receive(f)
		if err != nil {
			t.Fatal(err)
		}
		return fresh
	}
	refused := protocol.Error{Code: protocol.CodeNotFound, Message: "there is no such turn, or it has ended"}
	take(protocol.Welcome{Protocol: 1, SessionID: "a"})
	if !take(refused) {
		t.Error("an error that nothing explains was not told")
	}
	take(protocol.Turn{TurnID: "t", SessionID: "a", Status: protocol.TurnStarted})
	if !s.cancelRunning() || len(s.pending()) != 1 {
		t.Fatal("no cancel was sent")
	}
	take(protocol.Turn{TurnID: "t", SessionID: "a", Status: protocol.TurnCompleted})
	if take(refused) {
		t.Error("the refused cancel was told")
	}
	if !take(refused) {
		t.Error("a further error was not told")
	}
}
