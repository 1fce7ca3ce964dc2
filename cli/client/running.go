package client

import (
	"strings"

	"picobot/internal/chat"
	"picobot/internal/protocol"
)

// runningTurn is a turn of the session that has started; somebody else may have begun
// it, or this person before they left and came back.
type runningTurn struct {
	cancel   bool
	cancelOn int // connection the cancel was sent on
}

func (s *state) follow(t protocol.Turn) {
	switch {
	case t.SessionID != s.sessionID:
	case chat.TurnStatus(t.Status).Final():
		delete(s.running, t.TurnID)
	case t.Status == protocol.TurnStarted && s.running[t.TurnID] == nil:
		s.running[t.TurnID] = &runningTurn{}
	}
}

// cancelRunning reports whether there is a turn to stop that was not asked to yet.
func (s *state) cancelRunning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, r := range s.running {
		news := !r.cancel
		r.cancel = true
		if x := s.byTurn(id); x != nil {
			news = !x.cancel
			x.cancel = true
		}
		return news // turns of a session run one after the other
	}
	x := s.find(func(x *exchange) bool { return !x.isCommand() && x.final == nil })
	if x == nil {
		return false
	}
	news := !x.cancel
	x.cancel = true
	return news
}

// cancels returns what is to be sent to stop turns that no message here waits for.
func (s *state) cancels() []protocol.ClientFrame {
	var out []protocol.ClientFrame
	for id, r := range s.running {
		if r.cancel && r.cancelOn != s.conn && s.byTurn(id) == nil {
			r.cancelOn = s.conn
			out = append(out, protocol.Cancel{TurnID: id})
		}
	}
	return out
}

func (s *state) outstanding() (unsent, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.exchanges {
		switch {
		case x.accepted == nil:
			unsent++
		case x.accepted.TurnID != "" && x.final == nil && s.running[x.accepted.TurnID] == nil:
			open++
		}
	}
	return unsent, open + len(s.running)
}

func (s *state) byTurn(id string) *exchange {
	return s.find(func(x *exchange) bool { return x.accepted != nil && x.accepted.TurnID == id })
}

// isCommand reports whether the gateway answers the message without a turn.
func (x *exchange) isCommand() bool {
	return strings.HasPrefix(x.text, "/") || x.accepted != nil && x.accepted.TurnID == ""
}
