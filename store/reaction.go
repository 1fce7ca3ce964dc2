package store

import "context"

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
