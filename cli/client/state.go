package client

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"picobot/internal/chat"
	"picobot/internal/protocol"
)

// state is what a conversation has to remember beyond a connection. It knows no
// network: connect says that a connection begins, pending what to send on it, and
// receive takes what comes.
type state struct {
	mu        sync.Mutex
	hello     protocol.Hello
	wanted    bool // the person asked for hello's session: it must exist
	sessionID string
	lastSeq   int64
	conn      int // number of the present connection
	welcomed  bool
	exchanges []*exchange     // unanswered messages, oldest first
	cancelled int             // cancels that were sent on the present connection
	finished  []func()        // tell those who wait for what has ended
	notices   map[string]bool // ids of notices that were shown

	running     map[string]*runningTurn // turns of the session that have started
	wantEarlier func(protocol.Welcome) int64
	earlier     *earlier           // of the session, until they are complete
	complete    []protocol.Message // earlier rows that are to be told
}

func newState(hello protocol.Hello) *state {
	return &state{
		hello: hello, wanted: hello.SessionID != "", notices: map[string]bool{}, running: map[string]*runningTurn{},
		wantEarlier: func(protocol.Welcome) int64 { return 0 },
	}
}

func (s *state) session() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessionID
}

// cancel marks the newest message. Its turn is stopped as soon as it has one. It
// reports whether this is news.
func (s *state) cancel() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.exchanges) == 0 {
		return false
	}
	x := s.exchanges[len(s.exchanges)-1]
	news := !x.cancel
	x.cancel = true
	return news
}

// connect begins a new connection and returns its first frame.
func (s *state) connect() protocol.Hello {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn++
	s.welcomed, s.cancelled = false, 0
	h := s.hello
	if s.sessionID != "" {
		from := s.lastSeq
		h.SessionID, h.FromSeq, h.Follow = s.sessionID, &from, !s.wanted
	}
	return h
}

// pending returns what is to be sent now: nothing twice on one connection.
func (s *state) pending() []protocol.ClientFrame {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.welcomed {
		return nil
	}
	s.giveUp()
	s.taken()()
	out := append(s.askEarlier(), s.cancels()...)
	for _, x := range s.exchanges {
		if x.sentOn != s.conn {
			if x.sentOn == 0 {
				x.fromSeq, x.session = s.lastSeq, s.sessionID
			}
			x.sentOn = s.conn
			out = append(out, protocol.UserMessage{ID: x.id, Content: x.text, Media: x.media})
		}
		if x.cancel && x.accepted != nil && x.accepted.TurnID != "" && x.final == nil && x.cancelOn != s.conn {
			x.cancelOn = s.conn
			out = append(out, protocol.Cancel{TurnID: x.accepted.TurnID})
		}
		if x.wantRows && x.rowsOn != s.conn {
			x.rowsOn = s.conn
			from := x.fromSeq
			out = append(out, protocol.Attach{SessionID: x.accepted.SessionID, FromSeq: &from})
		}
	}
	for _, f := range out {
		if _, ok := f.(protocol.Cancel); ok {
			s.cancelled++
		}
	}
	return out
}

// giveUp ends the oldest message that is not accepted if it has been tried too
// often. Only that one is counted: those behind it never had their turn.
func (s *state) giveUp() {
	x := s.find(func(x *exchange) bool { return x.accepted == nil })
	if x == nil || x.sentOn == s.conn {
		return
	}
	if x.tries++; x.tries > maxTries {
		s.finish(x, result{err: fmt.Errorf("the gateway hung up %d times without taking the message: see its log", maxTries)})
	}
}

// errGone says that the session of this conversation is gone; the next connection
// begins with the chat's active one.
var errGone = errors.New("the session is gone: going on in the chat's active one")

// receive takes a frame. It reports whether the frame says something new, and fails
// when the connection (or, with a fatalError, the conversation) cannot go on. Those
// whose messages it ends wait until tell is called: the frame is shown before.
func (s *state) receive(f protocol.ServerFrame) (fresh bool, tell func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh, err = s.take(f)
	return fresh, s.taken(), err
}

func (s *state) take(f protocol.ServerFrame) (fresh bool, err error) {
	switch f := f.(type) {
	case protocol.Welcome:
		return true, s.onWelcome(f)
	case protocol.Accepted:
		if x := s.find(func(x *exchange) bool { return x.id == f.ID }); x != nil {
			x.accepted = &f
			if f.SessionID != x.session { // a dialog that began with it, or with a command before it
				x.fromSeq, x.session = 0, f.SessionID
			}
		}
	case protocol.Message:
		return s.onRow(f), nil
	case protocol.Turn:
		s.onTurn(f)
	case protocol.Command:
		if x := s.find(func(x *exchange) bool { return x.id == f.ID }); x != nil {
			s.finish(x, result{outcome: commandOutcome(s.sessionID, f)})
		}
	case protocol.Notice:
		id := f.ID
		if strings.HasPrefix(id, "offline/") {
			id = "offline" // another gateway says the same
		}
		if s.notices[id] {
			return false, nil
		}
		s.notices[id] = id != ""
	case protocol.Error:
		if f.ID == "" && f.Code == protocol.CodeNotFound && s.cancelled > 0 {
			s.cancelled--
			return false, nil // the turn ended before the cancel came: that is told by its end
		}
		return s.welcomed, s.onError(f) // of a greeting that was refused the conversation's end tells
	}
	return true, nil
}

func (s *state) onWelcome(w protocol.Welcome) error {
	if w.Protocol != protocol.Version {
		return fatalError{fmt.Errorf("the gateway speaks version %d of the protocol, this client version %d: use the same build of PicoBot for both",
			w.Protocol, protocol.Version)}
	}
	s.welcomed = true
	clear(s.running) // the gateway tells of them again
	if w.SessionID != s.sessionID {
		s.sessionID, s.lastSeq = w.SessionID, w.LastSeq
		s.wanted = s.wanted && w.SessionID == s.hello.SessionID
		s.opened(w)
		s.leave()
	}
	return nil
}

// leave ends the messages whose turns are those of a dialog before: what becomes of
// them is not told any more.
func (s *state) leave() {
	for _, x := range append([]*exchange(nil), s.exchanges...) {
		if x.accepted != nil && x.accepted.TurnID != "" && x.accepted.SessionID != s.sessionID {
			s.finish(x, result{outcome: x.elsewhere()})
		}
	}
}

// onRow reports whether the row is new. One that was shown before may still be what
// a message is waiting for: its turn may have ended while nobody was connected.
func (s *state) onRow(m protocol.Message) bool {
	if x := s.find(func(x *exchange) bool { return x.accepted != nil && x.accepted.TurnID == m.TurnID && m.TurnID != "" }); x != nil {
		if m.Role == chat.RoleAssistant {
			x.reply = &m
		}
		if x.final != nil && endsTurn(x.reply) {
			s.finish(x, result{outcome: x.outcome()})
		}
	}
	s.collect(m)
	if m.SessionID != s.sessionID || m.Seq <= s.lastSeq {
		return false
	}
	s.lastSeq = m.Seq
	return true
}

// endsTurn reports whether nothing of the turn comes after this row.
func endsTurn(m *protocol.Message) bool { return m != nil && len(m.ToolCalls) == 0 }

func (s *state) onTurn(t protocol.Turn) {
	s.follow(t)
	if !chat.TurnStatus(t.Status).Final() {
		return
	}
	x := s.find(func(x *exchange) bool { return x.accepted != nil && x.accepted.TurnID == t.TurnID })
	if x == nil {
		return
	}
	x.final = &t
	if endsTurn(x.reply) || t.Status == protocol.TurnCancelled {
		s.finish(x, result{outcome: x.outcome()})
		return
	}
	if t.SessionID != s.sessionID {
		// Taken before the conversation turned to another dialog: its rows would lead back.
		s.finish(x, result{outcome: x.elsewhere()})
		return
	}
	// The last row comes before the end of its turn, so it came while this client
	// was not connected, or is still on its way after a reconnect.
	x.wantRows = true
}

// overdue ends the messages whose turns have ended but whose rows never came.
func (s *state) overdue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range append([]*exchange(nil), s.exchanges...) {
		if x.final != nil {
			s.finish(x, result{outcome: x.outcome()})
		}
	}
	s.taken()()
}

// awaitsRows reports whether overdue would end a message.
func (s *state) awaitsRows() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(func(x *exchange) bool { return x.final != nil }) != nil
}

func (s *state) onError(e protocol.Error) error {
	if !s.welcomed {
		return s.refusedHello(e)
	}
	refused := &RefusedError{Code: e.Code, Message: e.Message}
	if e.ID != "" {
		if x := s.find(func(x *exchange) bool { return x.id == e.ID }); x != nil {
			s.finish(x, result{err: refused})
		}
		return nil
	}
	// A frame that could not be read has no id: it is the oldest that has no answer.
	if e.Code == protocol.CodeTooLarge || e.Code == protocol.CodeBadFrame {
		if x := s.find(func(x *exchange) bool { return x.sentOn == s.conn && x.accepted == nil }); x != nil {
			s.finish(x, result{err: refused})
		}
	}
	return nil
}

func (s *state) refusedHello(e protocol.Error) error {
	if e.Code == protocol.CodeNotFound && s.sessionID != "" && !s.wanted {
		s.sessionID, s.lastSeq = "", 0
		return errGone
	}
	if e.Code == protocol.CodeStoreUnavailable || e.Code == protocol.CodeInternal {
		return fmt.Errorf("the gateway cannot answer now: %s", e.Message)
	}
	if e.Code == protocol.CodeNotFound && s.wanted {
		return fatalError{fmt.Errorf("there is no session %q (%s): see `picobot sessions list`", s.hello.SessionID, e.Code)}
	}
	return fatalError{fmt.Errorf("the gateway refused the conversation: %s (%s)", e.Message, e.Code)}
}

// fatalError ends the conversation: another connection would fare no better.
type fatalError struct{ error }

func (e fatalError) Unwrap() error { return e.error }
