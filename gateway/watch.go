package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"picobot/internal/chat"
)

// watchRecord follows what other processes write until ctx ends. It is what everything
// durable comes by; their news of the moment (live.go) only make it quicker.
func (s *Server) watchRecord(ctx context.Context, outbox chan<- struct{}) {
	for {
		err := s.deps.Record.Follow(ctx, s.opts.Timing.Poll, func(elsewhere bool) {
			if elsewhere {
				s.deps.Hub.WakeAll()
			}
			select {
			case outbox <- struct{}{}:
			default: // it is going to be looked at anyway
			}
		})
		if ctx.Err() != nil {
			return
		}
		s.log.Error("changes of other processes could not be followed, trying again", "error", err)
		if !pause(ctx, s.opts.Timing.Retry) {
			return
		}
	}
}

// deliverPending hands over what other processes have for connected clients, each
// time it is told to look: the worker that wrote it has no sockets.
func (s *Server) deliverPending(ctx context.Context, outbox <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-outbox:
		}
		if err := s.deliverOnce(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("outbound messages could not be handed over, they stay pending", "error", err)
		}
	}
}

func (s *Server) deliverOnce(ctx context.Context) error {
	waiting, err := s.deps.Record.ChatsWithOutbound(ctx, chat.ChannelCLI)
	if err != nil {
		return fmt.Errorf("read outbox: %w", err)
	}
	for _, chatID := range waiting {
		if !s.delivery.connected(chatID) {
			continue // what waits for people who are not there may be much
		}
		if err := s.deliverTo(ctx, chatID); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) deliverTo(ctx context.Context, chatID string) error {
	pending, err := s.deps.Record.PendingOutbound(ctx, chat.ChannelCLI, chatID)
	if err != nil {
		return fmt.Errorf("read outbox: %w", err)
	}
	for _, o := range pending {
		id, err := s.delivery.Send(ctx, o)
		if err == nil {
			err = s.deps.Record.MarkOutbound(ctx, o.ID, "sent", id, "")
		}
		if err != nil && !errors.Is(err, ErrNobodyConnected) {
			return fmt.Errorf("deliver message %s: %w", o.ID, err)
		}
	}
	return nil
}

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
