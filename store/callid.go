package store

import "context"

// CallTaken reports whether a call of the session that has its result has had this id,
// also one that no request is built from any more. Before a model is asked again every
// call has a result.
func (s *Store) CallTaken(ctx context.Context, sessionID, id string) (taken bool, err error) {
	err = s.view(ctx, func(q querier) error {
		return q.row(`SELECT EXISTS (SELECT 1 FROM messages WHERE session_id = ? AND tool_call_id = ? AND origin_seq IS NULL)`, sessionID, id).Scan(&taken)
	})
	return taken, err
}
