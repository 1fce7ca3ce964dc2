package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"picobot/internal/chat"
)

// watchRecord follows what other processes write until ctx ends: SQLite tells a
// connection that another one has committed, not what.
func (s *Server) watchRecord(ctx context.Context, outbox chan<- struct{}) {
	for {
		err := s.watchOnce(ctx, outbox)
		if ctx.Err() != nil {
			return
		}
		s.log.Error("changes of other processes could not be followed, trying again", "error", err)
		if !pause(ctx, s.opts.Timing.Retry) {
			return
		}
	}
}

func (s *Server) watchOnce(ctx context.Context, outbox chan<- struct{}) (err error) {
	w, err := s.deps.Record.WatchDataVersion(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	last := int64(-1) // what was written before the watch began counts as news
	for {
		v, err := w.Current(ctx)
		if err != nil {
			return fmt.Errorf("watch record: %w", err)
		}
		if v != last {
			last = v
			s.deps.Hub.WakeAll()
			select {
			case outbox <- struct{}{}:
			default: // it is going to be looked at anyway
			}
		}
		if !pause(ctx, s.opts.Timing.Poll) {
			return nil
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
	pending, err := s.deps.Record.PendingOutbound(ctx, chat.ChannelCLI, "")
	if err != nil {
		return fmt.Errorf("read outbox: %w", err)
	}
	for _, o := range pending {
		if !s.delivery.connected(o.ChatID) {
			continue
		}
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
