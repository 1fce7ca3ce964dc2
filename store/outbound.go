package store

import (
	"context"
	"fmt"
)

// Outbound is a message to a chat: a row of the outbox.
type Outbound struct {
	ID         string
	Channel    string
	ChatID     string
	SessionID  string
	Origin     string // the turn, tool run, command or job run it comes from
	TurnID     string
	Part       int
	Content    string
	Status     string // pending | sent | failed
	Attempts   int
	ExternalID string
	Error      string
	CreatedAt  int64
	SentAt     int64
	// Unnoted: sent to the chat outside its turns; its next turn gets it as a row.
	Unnoted bool
	JobID   string // the job whose run sent it, read only
}

const outboundColumns = `id, channel, chat_id, coalesce(session_id, ''), origin, coalesce(turn_id, ''), part, content, status, attempts,
	coalesce(external_id, ''), coalesce(error, ''), created_at, coalesce(sent_at, 0), unnoted,
	coalesce((SELECT job_id FROM job_runs WHERE job_runs.id = origin OR job_runs.turn_id = outbound_messages.turn_id), '')`

func scanOutbound(r scanner) (Outbound, error) {
	var o Outbound
	err := r.Scan(&o.ID, &o.Channel, &o.ChatID, &o.SessionID, &o.Origin, &o.TurnID, &o.Part, &o.Content, &o.Status, &o.Attempts,
		&o.ExternalID, &o.Error, &o.CreatedAt, &o.SentAt, &o.Unnoted, &o.JobID)
	return o, found(err)
}

// enqueueReply writes the outbox row of a turn's reply.
func (t *tx) enqueueReply(turn Turn, content string) error {
	sess, err := sessionByID(t, turn.SessionID)
	if err != nil {
		return err
	}
	_, err = t.enqueue(Outbound{Channel: sess.Channel, ChatID: sess.ChatID, SessionID: sess.ID, Origin: turn.ID, TurnID: turn.ID, Content: content})
	return err
}

// enqueue writes an outbox row, once per origin and part.
func (t *tx) enqueue(o Outbound) (string, error) {
	id := t.s.ids.New()
	err := t.row(`INSERT INTO outbound_messages (id, channel, chat_id, session_id, origin, turn_id, part, content, status, created_at, unnoted)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)
		ON CONFLICT (origin, part) DO UPDATE SET origin = origin RETURNING id`,
		id, o.Channel, o.ChatID, nullString(o.SessionID), o.Origin, nullString(o.TurnID), o.Part, o.Content, t.at, o.Unnoted).Scan(&id)
	if err != nil {
		return "", fmt.Errorf("write outbox: %w", err)
	}
	return id, nil
}

func outboundOf(q querier, origin string) ([]string, error) {
	rows, err := q.rows(`SELECT id FROM outbound_messages WHERE origin = ? ORDER BY part`, origin)
	return collect(rows, err, scanOne[string])
}

// OutboundOf lists the ids of the outbox rows of one origin (a turn, tool run, command
// or job run), in the order of their parts.
func (s *Store) OutboundOf(ctx context.Context, origin string) ([]string, error) {
	var out []string
	err := s.view(ctx, func(q querier) (err error) {
		out, err = outboundOf(q, origin)
		return err
	})
	return out, err
}

// Undelivered lists the ids of the session's unsent outbox rows, oldest first.
func (s *Store) Undelivered(ctx context.Context, sessionID string) ([]string, error) {
	var out []string
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT id FROM outbound_messages WHERE status = 'pending' AND session_id = ? ORDER BY created_at, id`, sessionID)
		out, err = collect(rows, err, scanOne[string])
		return err
	})
	return out, err
}

// Enqueue writes an outbox row, once per (origin, part), and returns its id.
func (s *Store) Enqueue(ctx context.Context, o Outbound) (string, error) {
	var id string
	err := s.update(ctx, func(t *tx) (err error) {
		id, err = t.enqueue(o)
		if o.SessionID != "" {
			t.touch(o.SessionID)
		}
		return err
	})
	return id, err
}

// Outbound returns the outbox row with this id, or ErrNotFound.
func (s *Store) Outbound(ctx context.Context, id string) (Outbound, error) {
	var out Outbound
	err := s.view(ctx, func(q querier) (err error) {
		out, err = scanOutbound(q.row(`SELECT `+outboundColumns+` FROM outbound_messages WHERE id = ?`, id))
		return err
	})
	return out, err
}

// ChatsWithOutbound lists the chats of a channel that have unsent outbox rows.
func (s *Store) ChatsWithOutbound(ctx context.Context, channel string) ([]string, error) {
	var out []string
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT DISTINCT chat_id FROM outbound_messages WHERE status = 'pending' AND channel = ?`, channel)
		out, err = collect(rows, err, scanOne[string])
		return err
	})
	return out, err
}

// PendingOutbound lists a channel's unsent outbox rows, oldest first; chatID "" = of every chat.
func (s *Store) PendingOutbound(ctx context.Context, channel, chatID string) ([]Outbound, error) {
	var out []Outbound
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+outboundColumns+` FROM outbound_messages
			WHERE status = 'pending' AND channel = ?1 AND (?2 = '' OR chat_id = ?2) ORDER BY created_at, id`, channel, chatID)
		out, err = collect(rows, err, scanOutbound)
		return err
	})
	return out, err
}

// MarkOutbound records an attempt's outcome: sent (with the channel's id of the
// message), failed for good, or still pending with the error of this attempt.
// A row that is not pending any more stays as it is.
func (s *Store) MarkOutbound(ctx context.Context, id, status, externalID, errText string) error {
	return s.update(ctx, func(t *tx) error {
		sentAt := nullInt(0)
		if status == "sent" {
			sentAt = nullInt(t.at)
		}
		_, err := t.exec(`UPDATE outbound_messages SET status = ?, attempts = attempts + 1, external_id = coalesce(?, external_id), error = ?, sent_at = ?
			WHERE id = ? AND status = 'pending'`, status, nullString(externalID), nullString(errText), sentAt, id)
		return err
	})
}

// Asked returns the message that an outbox row answers: that of its turn or its
// command. A row that answers none is ErrNotFound.
func (s *Store) Asked(ctx context.Context, o Outbound) (m InboundMessage, err error) {
	err = s.view(ctx, func(q querier) error {
		var id string
		err := q.row(`SELECT inbound_id FROM turns WHERE id = ?1 UNION ALL SELECT inbound_id FROM commands WHERE id = ?1`, o.Origin).Scan(&id)
		if err != nil {
			return found(err)
		}
		m, err = inboundByID(q, id)
		return err
	})
	return m, err
}

// TurnReply returns the outbox row of a turn's reply, or ErrNotFound.
func (s *Store) TurnReply(ctx context.Context, turnID string) (o Outbound, err error) {
	err = s.view(ctx, func(q querier) (err error) {
		o, err = scanOutbound(q.row(`SELECT `+outboundColumns+` FROM outbound_messages WHERE origin = ? AND part = 0`, turnID))
		return err
	})
	return o, err
}
