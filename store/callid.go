package store

import "context"

// CallIDs returns the ids of all calls of a session, also of those that no request
// is built from any more: an id that was given once is not given again.
func (s *Store) CallIDs(ctx context.Context, sessionID string) (ids []string, err error) {
	err = s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT json_extract(c.value, '$.id') FROM messages m, json_each(m.tool_calls) c
			WHERE m.session_id = ? AND m.role = 'assistant' AND m.tool_calls IS NOT NULL`, sessionID)
		ids, err = collect(rows, err, func(r scanner) (id string, err error) { return id, r.Scan(&id) })
		return err
	})
	return ids, err
}
