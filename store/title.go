package store

import "context"

// Who wrote a session's title, unless a person did (Session.Titled).
const (
	TitleDefault = "default"
	TitleByModel = "model"
)

// SetModelTitle gives a session the title that a model made, with the model calls it
// took, unless somebody else has given it one. A title of "" is a try in vain.
func (s *Store) SetModelTitle(ctx context.Context, sessionID, title string, calls []ModelCall) error {
	return s.update(ctx, func(t *tx) error {
		if err := t.charge("", calls); err != nil {
			return err
		}
		var err error
		if title == "" {
			_, err = t.exec(`UPDATE sessions SET title_tries = title_tries + 1 WHERE id = ?`, sessionID)
		} else {
			_, err = t.exec(`UPDATE sessions SET title = ?, title_source = 'model' WHERE id = ? AND title_source = 'default' AND titled = 0`, title, sessionID)
		}
		t.touch(sessionID)
		return err
	})
}

// Opening returns the first rows that people and models said in a session's active
// segment, at most max: what a title is made from.
func (s *Store) Opening(ctx context.Context, sess Session, max int) ([]Row, error) {
	var out []Row
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+rowColumns+` FROM messages
			WHERE session_id = ? AND seq > ? AND (role IN ('user', 'assistant') AND content <> '' OR marker = 'history_compaction') ORDER BY seq LIMIT ?`,
			sess.ID, sess.ResetCutoffSeq, limit(max))
		out, err = collect(rows, err, scanRow)
		return err
	})
	return out, err
}
