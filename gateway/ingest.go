package gateway

import (
	"context"
	"strings"
	"time"

	"picobot/internal/text"
	"picobot/store"
)

// accept writes a message down.
func (s *Server) accept(ctx context.Context, m store.Inbound) (store.Accepted, error) {
	began := time.Now()
	got, err := s.deps.Record.Accept(ctx, m)
	if err == nil && !got.Duplicate && got.Command == nil {
		s.deps.Traces.Message(m.Channel, got.SessionID, got.Turn.ID, began, time.Now())
		s.log.Debug("a message was accepted", "channel", m.Channel, "session_id", got.SessionID, "turn_id", got.Turn.ID)
	}
	return got, err
}

// Ingest takes what came through another channel: a command is run, anything else is
// written down and worked on. Once it returns without error whatever was said is
// durable and will be answered through the outbox. What comes again, by its external
// id, changes nothing.
func (s *Server) Ingest(ctx context.Context, m store.Inbound) (store.Accepted, error) {
	words := text.For(s.opts.Locale)
	if m.New.Title == "" {
		m.New.Title = words.Say(text.DefaultTitle{})
	}
	var got store.Accepted
	var err error
	if strings.HasPrefix(m.Content, "/") {
		got, err = s.runCommand(ctx, m, words)
	} else {
		rctx, cancel := s.recordContext(ctx)
		defer cancel()
		got, err = s.accept(rctx, m)
	}
	if err == nil && !got.Turn.Status.Final() {
		s.deps.Dispatcher.Nudge(got.SessionID) // a command's answer is in the outbox
	}
	return got, err
}
