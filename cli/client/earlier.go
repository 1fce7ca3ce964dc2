package client

import "picobot/internal/protocol"

// earlier collects the rows that a session had when it was opened.
type earlier struct {
	from, upto int64 // rows after from, up to and including upto
	askedOn    int   // connection they were last asked for on
	rows       []protocol.Message
}

// opened is called for each session that the conversation turns to; not for a
// reconnect, after which nothing may be shown again.
func (s *state) opened(w protocol.Welcome) {
	s.earlier = nil
	if n := s.wantEarlier(w); n > 0 && w.LastSeq > 0 {
		s.earlier = &earlier{from: max(0, w.LastSeq-n), upto: w.LastSeq}
	}
}

func (s *state) askEarlier() []protocol.ClientFrame {
	if s.earlier == nil || s.earlier.askedOn == s.conn {
		return nil
	}
	s.earlier.askedOn = s.conn
	from := s.earlier.from
	return []protocol.ClientFrame{protocol.Attach{SessionID: s.sessionID, FromSeq: &from}}
}

// collect takes a row; the last of the earlier ones, and any newer one, completes them.
func (s *state) collect(m protocol.Message) {
	e := s.earlier
	if e == nil || m.SessionID != s.sessionID {
		return
	}
	if n := len(e.rows); m.Seq <= e.upto && (n == 0 || m.Seq > e.rows[n-1].Seq) {
		e.rows = append(e.rows, m)
	}
	if m.Seq >= e.upto {
		s.complete, s.earlier = e.rows, nil
	}
}

// awaitsEarlier reports whether earlierOverdue would end a wait.
func (s *state) awaitsEarlier() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.earlier != nil
}

// earlierOverdue is content with the rows that came: the last one of the session may
// be of a kind that clients are not shown.
func (s *state) earlierOverdue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.earlier != nil {
		s.complete, s.earlier = s.earlier.rows, nil
	}
}

func (c *Client) tellEarlier() {
	c.state.mu.Lock()
	rows := c.state.complete
	c.state.complete = nil
	c.state.mu.Unlock()
	if len(rows) > 0 {
		c.o.OnEarlier(rows)
	}
}
