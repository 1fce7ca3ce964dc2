package store

import (
	"context"
	"errors"
	"fmt"
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
