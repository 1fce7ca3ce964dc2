package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"picobot/internal/chat"
)

// PieceKey names a message outside: an outbox row may take several.
type PieceKey struct {
	Origin string
	Part   int
	Piece  int
}

// Piece is what the record knows of a message outside.
type Piece struct {
	PieceKey
	Generation int    // grows when what was shown is gone: the next one is another message
	TriedAt    int64  // ms, since when an attempt may have got through; 0 = it is surely not there
	ExternalID string // it is there
	Progress   bool   // it shows, or was to show, how a turn gets on
}

func pieceAt(q querier, k PieceKey) (Piece, error) {
	p := Piece{PieceKey: k}
	err := q.row(`SELECT generation, coalesce(tried_at, 0), coalesce(external_id, ''), progress FROM outbound_pieces WHERE origin = ? AND part = ? AND piece = ?`,
		k.Origin, k.Part, k.Piece).Scan(&p.Generation, &p.TriedAt, &p.ExternalID, &p.Progress)
	return p, found(err)
}

// Piece returns a piece, or ErrNotFound when nothing was tried yet.
func (s *Store) Piece(ctx context.Context, k PieceKey) (p Piece, err error) {
	err = s.view(ctx, func(q querier) (err error) {
		p, err = pieceAt(q, k)
		return err
	})
	return p, err
}

// BeginPiece writes down that a message is about to be sent, before it is, and
// returns what was known of it before.
func (s *Store) BeginPiece(ctx context.Context, k PieceKey) (before Piece, err error) {
	err = s.update(ctx, func(t *tx) (err error) {
		before, err = t.beginPiece(k, false)
		return err
	})
	return before, err
}

// BeginProgress is BeginPiece for a message that shows how a turn gets on: the one
// that its reply will be put into. It fails with ErrTurnEnded when the turn is not
// running (any more): its reply may be on its way.
func (s *Store) BeginProgress(ctx context.Context, turnID string) (before Piece, err error) {
	err = s.update(ctx, func(t *tx) error {
		turn, err := t.runningTurn(turnID)
		if err != nil {
			return err
		}
		if err := t.notShown(turn); err != nil {
			return err
		}
		before, err = t.beginPiece(PieceKey{Origin: turnID}, true)
		return err
	})
	return before, err
}

func (t *tx) beginPiece(k PieceKey, progress bool) (before Piece, err error) {
	before, err = pieceAt(t, k)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return before, err
	}
	if _, err := t.exec(`INSERT INTO outbound_pieces (origin, part, piece, tried_at, progress) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET tried_at = CASE WHEN external_id IS NULL THEN coalesce(tried_at, excluded.tried_at) END`,
		k.Origin, k.Part, k.Piece, t.at, progress); err != nil {
		return before, fmt.Errorf("begin to send %s: %w", k.Origin, err)
	}
	return before, nil
}

// PieceShown records the channel's id of a message. done says that it holds what
// was to be said.
func (s *Store) PieceShown(ctx context.Context, k PieceKey, externalID string, done bool) error {
	return s.update(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE outbound_pieces SET external_id = ?, tried_at = NULL, progress = CASE WHEN ? THEN 0 ELSE progress END
			WHERE origin = ? AND part = ? AND piece = ?`, externalID, done, k.Origin, k.Part, k.Piece)
		return err
	})
}

// PieceNotSent records that a message is surely not there.
func (s *Store) PieceNotSent(ctx context.Context, k PieceKey) error {
	return s.update(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE outbound_pieces SET tried_at = NULL WHERE origin = ? AND part = ? AND piece = ? AND external_id IS NULL`, k.Origin, k.Part, k.Piece)
		return err
	})
}

// PieceLost records that what was shown, or may have been, is gone for good: the
// next message is another one.
func (s *Store) PieceLost(ctx context.Context, k PieceKey) error {
	return s.update(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE outbound_pieces SET generation = generation + 1, tried_at = NULL, external_id = NULL, progress = 0
			WHERE origin = ? AND part = ? AND piece = ?`, k.Origin, k.Part, k.Piece)
		return err
	})
}

// KnownPieces tells which of these ids of a channel are of messages of ours.
func (s *Store) KnownPieces(ctx context.Context, externalIDs []string) (map[string]bool, error) {
	out := map[string]bool{}
	err := s.view(ctx, func(q querier) error {
		for _, id := range externalIDs {
			var known bool
			if err := q.row(`SELECT EXISTS (SELECT 1 FROM outbound_pieces WHERE external_id = ?)`, id).Scan(&known); err != nil {
				return err
			}
			out[id] = known
		}
		return nil
	})
	return out, err
}

// Reaction is the mark on a message that is being worked on.
type Reaction struct {
	TurnID     string
	MessageID  string
	ReactionID string // "" = nobody knows whether it is there
}

// BeginReaction writes down that a message is about to be marked.
func (s *Store) BeginReaction(ctx context.Context, turnID, messageID string) error {
	return s.update(ctx, func(t *tx) error {
		_, err := t.exec(`INSERT INTO turn_reactions (turn_id, message_id) VALUES (?, ?) ON CONFLICT DO NOTHING`, turnID, messageID)
		return err
	})
}

// ReactionShown records the channel's id of a mark.
func (s *Store) ReactionShown(ctx context.Context, turnID, reactionID string) error {
	return s.update(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE turn_reactions SET reaction_id = ? WHERE turn_id = ?`, reactionID, turnID)
		return err
	})
}

// ReactionGone forgets a mark.
func (s *Store) ReactionGone(ctx context.Context, turnID string) error {
	return s.update(ctx, func(t *tx) error {
		_, err := t.exec(`DELETE FROM turn_reactions WHERE turn_id = ?`, turnID)
		return err
	})
}

// ReactionOf returns the mark of a turn's message, or ErrNotFound.
func (s *Store) ReactionOf(ctx context.Context, turnID string) (r Reaction, err error) {
	err = s.view(ctx, func(q querier) error {
		r.TurnID = turnID
		return found(q.row(`SELECT message_id, reaction_id FROM turn_reactions WHERE turn_id = ?`, turnID).Scan(&r.MessageID, &r.ReactionID))
	})
	return r, err
}

// Showing lists the turns of a channel that are open, or of which the chat is still
// shown that they are: a reaction, or a message with progress.
func (s *Store) Showing(ctx context.Context, channel string) ([]Turn, error) {
	var out []Turn
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+turnColumns+` FROM turns WHERE session_id IN (SELECT id FROM sessions WHERE channel = ?1)
			AND (status IN ('queued', 'running') OR id IN (SELECT turn_id FROM turn_reactions)
				OR id IN (SELECT origin FROM outbound_pieces WHERE progress = 1)) ORDER BY rowid`, channel)
		out, err = collect(rows, err, scanTurn)
		return err
	})
	return out, err
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
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
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

// ToolLine is a tool call as it is shown while a turn runs.
type ToolLine struct {
	Name      string
	Arguments string
	Status    chat.ToolStatus // "" = it waits
}

// ToolLines lists the calls of a turn's newest steps, oldest first, at most most.
func (s *Store) ToolLines(ctx context.Context, turnID string, most int) ([]ToolLine, error) {
	var out []ToolLine
	err := s.view(ctx, func(q querier) error {
		out = nil
		last, err := lastAnswer(q, turnID)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		for step := last.Step; step > 0 && len(out) < most; step-- {
			row, err := answerOf(q, turnID, step)
			if err != nil {
				return err
			}
			runs, err := stepRuns(q, turnID, step)
			if err != nil {
				return err
			}
			var lines []ToolLine
			for i, c := range row.ToolCalls {
				lines = append(lines, ToolLine{Name: c.Function.Name, Arguments: chat.RawArguments(c.Function.Arguments), Status: runs[i].Status})
			}
			out = append(lines, out...)
		}
		out = out[max(0, len(out)-most):]
		return nil
	})
	return out, err
}
