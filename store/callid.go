package store

import "context"

// CallTaken reports whether a call of the session has had this id, also one of those
// that no request is built from any more.
func (s *Store) CallTaken(ctx context.Context, sessionID, id string) (taken bool, err error) {
	err = s.view(ctx, func(q querier) error {
		return q.row(`SELECT EXISTS (SELECT 1 FROM messages WHERE session_id = ? AND tool_call_id = ?)`, sessionID, id).Scan(&taken)
	})
	return taken, err
}
