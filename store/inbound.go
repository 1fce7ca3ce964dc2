package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"picobot/internal/chat"
)

// Inbound is a message from outside, before it is written down.
type Inbound struct {
	Channel    string
	ChatID     string
	ExternalID string // the channel's id of the message, unique in the chat
	SessionID  string // "" = the chat's active dialog, made when there is none
	// Follow: SessionID is only where the person had got to in the chat. Once that dialog
	// has expired or was deleted, the chat's active one takes the message.
	Follow   bool
	SenderID string
	Content  string
	Media    []chat.MediaRef
	SentAt   int64           // ms, the channel's own time: the order of a session's waiting messages; 0 = now
	Metadata json.RawMessage // kept with the row
	// Unprepared: something of it is to be fetched before its turn begins, see Prepared.
	Unprepared bool
	New        NewSession // what a new dialog is made from; its Channel and ChatID are taken from above
}

// Accepted says what became of an inbound message.
type Accepted struct {
	InboundID string
	SessionID string   // where it was said
	Turn      Turn     // what answers it; zero for a command
	Command   *Command // set for a command: it has its answer already
	Duplicate bool     // this (channel, chat, external id) had been accepted before
}

// Accept writes a message down together with its queued turn. Once it returns
// without error the message is durable. What was accepted before under the same
// external id, be it a message or a command, comes back as a duplicate.
//
// It fails with ErrNotFound or ErrReadOnlySession when m.SessionID names a
// session that is not there, is deleted or belongs to another channel (with
// m.Follow only for the last of these), and with ErrUnavailable when the record cannot be written.
func (s *Store) Accept(ctx context.Context, m Inbound) (Accepted, error) {
	var out Accepted
	err := s.update(ctx, func(t *tx) (err error) {
		var known bool
		if out, known, err = accepted(t, m); err != nil || known {
			return err
		}
		out, err = t.accept(m)
		return err
	})
	return out, err
}

// Known reports whether something was accepted under m's external id, and what.
func (s *Store) Known(ctx context.Context, m Inbound) (out Accepted, known bool, err error) {
	err = s.view(ctx, func(q querier) (err error) {
		out, known, err = accepted(q, m)
		return err
	})
	return out, known, err
}

func accepted(q querier, m Inbound) (out Accepted, known bool, err error) {
	var turnID string
	err = q.row(`SELECT id, session_id, coalesce(turn_id, '') FROM inbound_messages WHERE channel = ? AND chat_id = ? AND external_id = ?`,
		m.Channel, m.ChatID, m.ExternalID).Scan(&out.InboundID, &out.SessionID, &turnID)
	if errors.Is(err, sql.ErrNoRows) {
		return Accepted{}, false, nil
	}
	if err != nil {
		return Accepted{}, false, err
	}
	out.Duplicate = true
	if turnID != "" {
		out.Turn, err = turnByID(q, turnID)
	} else {
		out.Command, err = commandOf(q, out.InboundID)
	}
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("inbound %s has neither its turn nor its command: the record is damaged", out.InboundID)
	}
	return out, true, err
}

func (t *tx) accept(m Inbound) (Accepted, error) {
	sess, err := t.target(m)
	if err != nil {
		return Accepted{}, err
	}
	media, err := jsonOrNull(m.Media, len(m.Media))
	if err != nil {
		return Accepted{}, fmt.Errorf("accept message: %w", err)
	}
	out := Accepted{InboundID: t.s.ids.New(), SessionID: sess.ID}
	turnID := t.s.ids.New()
	if _, err := t.exec(`INSERT INTO inbound_messages (id, channel, chat_id, external_id, session_id, sender_id, content, media, status, turn_id, received_at, metadata, unprepared)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'received', ?, ?, ?, ?)`,
		out.InboundID, m.Channel, m.ChatID, m.ExternalID, sess.ID, m.SenderID, m.Content, media, turnID, t.at, nullJSON(m.Metadata), m.Unprepared); err != nil {
		return Accepted{}, fmt.Errorf("accept message: %w", err)
	}
	sentAt := m.SentAt
	if sentAt == 0 {
		sentAt = t.at
	}
	if _, err := t.exec(`INSERT INTO turns (id, session_id, inbound_id, status, created_at, queued_at, progress_at, rev)
		VALUES (?, ?, ?, 'queued', ?, ?, ?, `+nextRev+`)`,
		turnID, sess.ID, out.InboundID, t.at, sentAt, t.at); err != nil {
		return Accepted{}, fmt.Errorf("accept message: %w", err)
	}
	if _, err := t.exec(`UPDATE sessions SET last_active_at = max(last_active_at, ?), routing_info = coalesce(?, routing_info) WHERE id = ?`,
		t.at, nullJSON(m.New.RoutingInfo), sess.ID); err != nil {
		return Accepted{}, fmt.Errorf("accept message: %w", err)
	}
	t.touch(sess.ID)
	out.Turn, err = turnByID(t, turnID)
	return out, err
}

// InboundMessage is an accepted message as the record keeps it.
type InboundMessage struct {
	ID         string
	Channel    string
	ChatID     string
	ExternalID string
	SessionID  string
	SenderID   string
	Content    string
	Media      []chat.MediaRef
	Status     string
	ReceivedAt int64
	Metadata   json.RawMessage
}

func inboundByID(q querier, id string) (InboundMessage, error) {
	var m InboundMessage
	var media, metadata sql.NullString
	err := q.row(`SELECT id, channel, chat_id, external_id, session_id, sender_id, content, media, status, received_at, metadata
		FROM inbound_messages WHERE id = ?`, id).
		Scan(&m.ID, &m.Channel, &m.ChatID, &m.ExternalID, &m.SessionID, &m.SenderID, &m.Content, &media, &m.Status, &m.ReceivedAt, &metadata)
	if err != nil {
		return m, found(err)
	}
	if media.Valid {
		if err := json.Unmarshal([]byte(media.String), &m.Media); err != nil {
			return m, fmt.Errorf("inbound %s: read media: %w", m.ID, err)
		}
	}
	if metadata.Valid {
		m.Metadata = json.RawMessage(metadata.String)
	}
	return m, nil
}

// AcceptLate is Accept for a message that is too old to be answered: it is written
// down with its turn failed from the start.
func (s *Store) AcceptLate(ctx context.Context, m Inbound, code, why string) (Accepted, error) {
	var out Accepted
	err := s.update(ctx, func(t *tx) error {
		var known bool
		var err error
		if out, known, err = accepted(t, m); err != nil || known {
			return err
		}
		if out, err = t.accept(m); err != nil {
			return err
		}
		if err := t.endTurn(out.Turn, chat.TurnFailed, code, why); err != nil {
			return err
		}
		out.Turn, err = turnByID(t, out.Turn.ID)
		return err
	})
	return out, err
}

// Unprepared returns the message of a waiting turn of which something is still to be
// fetched; ErrNotFound when there is nothing to do.
func (s *Store) Unprepared(ctx context.Context, turnID string) (m InboundMessage, err error) {
	err = s.view(ctx, func(q querier) error {
		var id string
		err := q.row(`SELECT i.id FROM turns t JOIN inbound_messages i ON i.id = t.inbound_id
			WHERE t.id = ? AND t.status = 'queued' AND i.unprepared = 1`, turnID).Scan(&id)
		if err != nil {
			return found(err)
		}
		m, err = inboundByID(q, id)
		return err
	})
	return m, err
}

// Prepared writes down what was fetched for a message: how it is told to a model.
// One whose turn has begun or ended stays as it is.
func (s *Store) Prepared(ctx context.Context, turnID, content string, media []chat.MediaRef) error {
	refs, err := jsonOrNull(media, len(media))
	if err != nil {
		return fmt.Errorf("prepare message: %w", err)
	}
	return s.update(ctx, func(t *tx) error {
		n, err := t.exec(`UPDATE inbound_messages SET content = ?, media = ?, unprepared = 0
			WHERE unprepared = 1 AND id = (SELECT inbound_id FROM turns WHERE id = ? AND status = 'queued')`, content, refs, turnID)
		if err != nil || n == 0 {
			return err
		}
		turn, err := turnByID(t, turnID)
		if err != nil {
			return err
		}
		return t.progress(turn)
	})
}

// SaidBefore returns the text of a message of a chat by the channel's id of it, and
// whether it was said by PicoBot; ErrNotFound when the record has no such message.
func (s *Store) SaidBefore(ctx context.Context, channel, chatID, externalID string) (words string, own bool, err error) {
	err = s.view(ctx, func(q querier) error {
		err := q.row(`SELECT o.content FROM outbound_pieces p JOIN outbound_messages o ON o.origin = p.origin AND o.part = p.part
			WHERE p.external_id = ? AND o.channel = ? AND o.chat_id = ?`, externalID, channel, chatID).Scan(&words)
		if own = err == nil; own || !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return found(q.row(`SELECT content FROM inbound_messages WHERE channel = ? AND chat_id = ? AND external_id = ? AND unprepared = 0 AND media IS NULL`,
			channel, chatID, externalID).Scan(&words))
	})
	return words, own, err
}
