package store

import (
	"context"
	"fmt"
)

// RequestRows returns the rows that a model call's request held, in order: with copies
// and summaries, which no list of a session shows. Rows that were erased since then
// are missing.
func (s *Store) RequestRows(ctx context.Context, sessionID string, c ModelCall) ([]Row, error) {
	if len(c.Rows) == 0 {
		return nil, nil
	}
	var out []Row
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+rowColumns+` FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? ORDER BY seq`,
			sessionID, c.Rows[0], c.Rows[len(c.Rows)-1])
		all, err := collect(rows, err, scanRow)
		for _, r := range all {
			if c.Rows.Has(r.Seq) {
				out = append(out, r)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the rows of a request: %w", err)
	}
	return out, nil
}
