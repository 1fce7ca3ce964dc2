package client

import (
	"encoding/json"

	"picobot/internal/protocol"
)

// maxTries bounds how often one message is sent without ever being accepted: one
// that makes the gateway hang up must not be sent for ever.
const maxTries = 8

// exchange is a message and what has become of it so far.
type exchange struct {
	id, text string
	media    []protocol.Media
	sentOn   int // connection it was last sent on
	tries    int // connections on which it was the next to be accepted
	accepted *protocol.Accepted
	fromSeq  int64  // its rows come after this one
	session  string // of fromSeq
	reply    *protocol.Message
	final    *protocol.Turn

	cancel   bool
	cancelOn int // connection the cancel was last sent on
	wantRows bool
	rowsOn   int // connection the rows were last asked for on

	done chan result // receives once
}

type result struct {
	outcome Outcome
	err     error
}

func (s *state) add(id, text string, media ...protocol.Media) *exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &exchange{id: id, text: text, media: media, done: make(chan result, 1)}
	s.exchanges = append(s.exchanges, x)
	return x
}

func (s *state) forget(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(x)
}

func (s *state) drop(x *exchange) {
	for i, other := range s.exchanges {
		if other == x {
			s.exchanges = append(s.exchanges[:i:i], s.exchanges[i+1:]...)
			return
		}
	}
}

// finish ends an exchange. Whoever waits for it is told by what taken returns.
func (s *state) finish(x *exchange, r result) {
	s.drop(x)
	s.finished = append(s.finished, func() { x.done <- r })
}

// taken returns how to tell those who wait for what has ended just now.
func (s *state) taken() (tell func()) {
	ended := s.finished
	s.finished = nil
	return func() {
		for _, tell := range ended {
			tell()
		}
	}
}

func (s *state) find(is func(*exchange) bool) *exchange {
	for _, x := range s.exchanges {
		if is(x) {
			return x
		}
	}
	return nil
}

func (x *exchange) elsewhere() Outcome {
	return Outcome{SessionID: x.accepted.SessionID, TurnID: x.accepted.TurnID, Status: protocol.TurnStarted, Elsewhere: true}
}

func (x *exchange) outcome() Outcome {
	o := Outcome{
		SessionID: x.final.SessionID,
		TurnID:    x.final.TurnID,
		Status:    x.final.Status,
		Problem:   x.final.Error,
	}
	if x.final.Usage != nil {
		o.Usage = *x.final.Usage
	}
	if x.reply != nil {
		o.Reply = x.reply.Content
	}
	return o
}

func commandOutcome(sessionID string, c protocol.Command) Outcome {
	status := protocol.TurnCompleted
	if !c.OK {
		status = protocol.TurnFailed
	}
	// Where a command leads, its welcome says only after it.
	var led struct {
		SessionID string `json:"session_id"`
	}
	if err := json.Unmarshal(c.Data, &led); err == nil && led.SessionID != "" {
		sessionID = led.SessionID
	}
	return Outcome{SessionID: sessionID, Status: status, Reply: c.Text, Command: &c}
}
