package store

import "context"

// TurnDetail is a turn with the message that it answers and what was done for it.
type TurnDetail struct {
	Turn    Turn
	Message InboundMessage
	Calls   []ModelCall // in the order in which they ended
	Tools   []ToolRun   // in call order, without their results, which are rows of the session
}

// TurnDetail returns a turn with all that was done for it, as of one moment. Fails
// with ErrNotFound.
func (s *Store) TurnDetail(ctx context.Context, id string) (TurnDetail, error) {
	var d TurnDetail
	err := s.view(ctx, func(q querier) (err error) {
		if d.Turn, err = turnByID(q, id); err != nil {
			return err
		}
		if d.Message, err = inboundByID(q, d.Turn.InboundID); err != nil {
			return err
		}
		rows, err := q.rows(`SELECT `+modelCallColumns+` FROM model_calls WHERE turn_id = ? ORDER BY rowid`, id)
		if d.Calls, err = collect(rows, err, scanModelCall); err != nil {
			return err
		}
		rows, err = q.rows(`SELECT id, turn_id, step, position, call_id, name, effect, status, '', started_at, coalesce(finished_at, 0)
			FROM tool_runs WHERE turn_id = ? ORDER BY step, position`, id)
		d.Tools, err = collect(rows, err, scanToolRun)
		return err
	})
	return d, err
}
