package store

import (
	"context"
	"errors"

	"picobot/internal/chat"
)

// Attached is where a reader of a session starts, from one snapshot.
type Attached struct {
	Session Session
	Cursor  Cursor // for Changes
	// Turns are those whose state the reader has to be told: waiting and running
	// ones and, when rows are replayed, those that ended since the row the replay
	// starts behind. In the order of their last change.
	Turns []Turn
	// Welcome is the row that the session begins with while nothing has been said in it:
	// readers are shown it as a notice. nil = there is none.
	Welcome *Row
	// LastTurn is the turn of the row that the reader starts behind, "" = none.
	LastTurn string
	// Where the running turn stands for a reader that has all rows up to the cursor.
	Answered int             // its last answered step, 0 = none
	Closed   int             // its last step whose tool rows the reader has, 0 = none
	Calls    []chat.ToolCall // the calls of step Answered
}

// maxEnded bounds the ended turns of one Attached: a reader that starts further
// behind reads a history, it does not wait for an answer.
const maxEnded = 500

// Attach returns where a reader starts that wants the rows after fromSeq, or, when
// fromSeq is nil, only those that are still to come. It fails with ErrNotFound
// when there is no such session or it was deleted.
func (s *Store) Attach(ctx context.Context, sessionID string, fromSeq *int64) (Attached, error) {
	var out Attached
	err := s.view(ctx, func(q querier) (err error) {
		if out.Session, err = sessionByID(q, sessionID); err != nil {
			return err
		}
		if out.Session.DeletedAt != 0 {
			return ErrNotFound
		}
		out.Cursor.Seq = out.Session.LastSeq
		if fromSeq != nil {
			// A reader that claims to have more than there is has another record's rows.
			out.Cursor.Seq = min(*fromSeq, out.Session.LastSeq)
		}
		if err := q.row(`SELECT coalesce(max(rev), 0) FROM turns WHERE session_id = ?`, sessionID).Scan(&out.Cursor.Rev); err != nil {
			return err
		}
		var since int64
		if out.LastTurn, since, err = originalBefore(q, sessionID, out.Cursor.Seq); err != nil {
			return err
		}
		if err := out.readTurns(q, fromSeq != nil, since); err != nil {
			return err
		}
		if err := out.readWelcome(q); err != nil {
			return err
		}
		return out.readRunning(q)
	})
	return out, err
}

func (a *Attached) readWelcome(q querier) error {
	if a.Session.MessageCount > 0 {
		return nil
	}
	row, err := scanRow(q.row(`SELECT `+rowColumns+` FROM messages WHERE session_id = ? AND marker = ? ORDER BY seq LIMIT 1`, a.Session.ID, chat.MarkerWelcome))
	if err == nil {
		a.Welcome = &row
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (a *Attached) readTurns(q querier, replay bool, since int64) error {
	rows, err := q.rows(`SELECT `+turnColumns+` FROM turns WHERE session_id = ? AND status IN ('queued', 'running') ORDER BY rev`, a.Session.ID)
	open, err := collect(rows, err, scanTurn)
	if err != nil {
		return err
	}
	if replay {
		// The row's own moment counts as since: a turn's last row and its end are one transaction.
		rows, err = q.rows(`SELECT * FROM (SELECT `+turnColumns+` FROM turns
			WHERE session_id = ?1 AND status NOT IN ('queued', 'running')
			AND finished_at >= ?2
			ORDER BY rev DESC LIMIT ?3) ORDER BY rev`, a.Session.ID, since, maxEnded)
		if a.Turns, err = collect(rows, err, scanTurn); err != nil {
			return err
		}
	}
	a.Turns = append(a.Turns, open...)
	return nil
}

func (a *Attached) readRunning(q querier) error {
	for _, t := range a.Turns {
		if t.Status != chat.TurnRunning {
			continue
		}
		if err := q.row(`SELECT coalesce(max(CASE WHEN role = 'assistant' AND marker IS NULL THEN step END), 0), coalesce(max(CASE role WHEN 'tool' THEN step END), 0)
			FROM messages WHERE turn_id = ? AND origin_seq IS NULL AND seq <= ?`, t.ID, a.Cursor.Seq).Scan(&a.Answered, &a.Closed); err != nil {
			return err
		}
		a.Cursor.Turn, a.Cursor.Step = t.ID, a.Closed
		if a.Answered == 0 {
			return nil
		}
		answer, err := answerOf(q, t.ID, a.Answered)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		a.Calls = answer.ToolCalls
		return err
	}
	return nil
}
