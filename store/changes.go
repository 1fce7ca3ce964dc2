package store

import (
	"context"
	"database/sql"
	"errors"

	"picobot/internal/chat"
)

// Cursor is how far a reader has followed a session.
type Cursor struct {
	Seq int64 // the last row it has
	Rev int64 // the last change of a turn it has
	// Turn and Step: of this turn the tool runs up to and including this step are known.
	Turn string
	Step int
}

// Changes is what happened in a session after a cursor, from one snapshot.
type Changes struct {
	Rows  []Row     // original user, assistant and tool rows, in seq order
	Turns []Turn    // turns that changed, in the order of their last change
	Tools []ToolRun // runs, without their results, of the running turn and of turns that changed; seen states may come again
	Next  Cursor
	// Successor is the dialog that took the session's place, once everything of this one
	// was read; "" = none.
	Successor string
}

// maxChanges bounds the rows of one Changes, like maxPage their bytes; the next call
// goes on behind them.
const maxChanges = 500

// Changes returns what a reader of the session has not seen yet. Turns are only
// reported once every row up to the snapshot's end is (so that a turn's last row
// always comes with or before its end).
func (s *Store) Changes(ctx context.Context, sessionID string, c Cursor) (Changes, error) {
	out := Changes{Next: c}
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+rowColumns+` FROM messages
			WHERE session_id = ? AND seq > ? AND origin_seq IS NULL AND role <> 'system' ORDER BY seq LIMIT ?`, sessionID, c.Seq, maxChanges)
		var more bool
		if out.Rows, more, err = page(rows, err); err != nil {
			return err
		}
		if n := len(out.Rows); n > 0 {
			out.Next.Seq = out.Rows[n-1].Seq
		}
		if more || len(out.Rows) == maxChanges {
			return nil
		}
		rows, err = q.rows(`SELECT `+turnColumns+` FROM turns WHERE session_id = ? AND rev > ? ORDER BY rev`, sessionID, c.Rev)
		if out.Turns, err = collect(rows, err, scanTurn); err != nil {
			return err
		}
		for _, t := range out.Turns {
			out.Next.Rev = t.Rev
		}
		rows, err = q.rows(`SELECT r.id, r.turn_id, r.step, r.position, r.call_id, r.name, r.effect, r.status, '', r.started_at, coalesce(r.finished_at, 0)
			FROM tool_runs r JOIN turns t ON t.id = r.turn_id
			WHERE t.session_id = ?1 AND (t.status = 'running' OR t.rev > ?2) AND (t.id <> ?3 OR r.step > ?4)
			ORDER BY r.turn_id, r.step, r.position`, sessionID, c.Rev, c.Turn, c.Step)
		if out.Tools, err = collect(rows, err, scanToolRun); err != nil {
			return err
		}
		if err := q.row(`SELECT coalesce((SELECT successor_id FROM sessions WHERE id = ?), '')`, sessionID).Scan(&out.Successor); err != nil {
			return err
		}
		err = q.row(`SELECT id, steps - 1 FROM turns WHERE session_id = ? AND status = 'running'`, sessionID).Scan(&out.Next.Turn, &out.Next.Step)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return out, err
}

// TurnFilter selects turns for a list.
type TurnFilter struct {
	SessionID string
	Status    chat.TurnStatus
	After     After // by created_at
	Limit     int   // 0 = 100
}

// Turns lists turns, newest first.
func (s *Store) Turns(ctx context.Context, f TurnFilter) ([]Turn, error) {
	var out []Turn
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+turnColumns+` FROM turns WHERE (?1 = '' OR session_id = ?1) AND (?2 = '' OR status = ?2)
			AND (?4 = '' OR (created_at, id) < (?3, ?4))
			ORDER BY created_at DESC, id DESC LIMIT ?5`, f.SessionID, f.Status, f.After.At, f.After.ID, limit(f.Limit))
		out, err = collect(rows, err, scanTurn)
		return err
	})
	return out, err
}
