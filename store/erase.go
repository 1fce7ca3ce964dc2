package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// eraseRows is how many rows of a kind one step of an erasure takes by default, or one
// turn if that is more: nobody waits for a step for long.
const eraseRows = 200

// notErasable holds for a session s that must stay although it was deleted: a turn is
// to be answered, or something of it is still to be sent.
const notErasable = `(EXISTS (SELECT 1 FROM turns WHERE session_id = s.id AND status IN ('queued', 'running'))
	OR EXISTS (SELECT 1 FROM outbound_messages WHERE session_id = s.id AND status = 'pending')
	OR EXISTS (SELECT 1 FROM turns t JOIN outbound_messages o ON o.origin = t.id WHERE t.session_id = s.id AND o.status = 'pending')
	OR EXISTS (SELECT 1 FROM turns t JOIN tool_runs r ON r.turn_id = t.id JOIN outbound_messages o ON o.origin = r.id WHERE t.session_id = s.id AND o.status = 'pending'))`

// Erasable lists the ids of sessions that were deleted before a moment and of which
// nothing is to be answered or sent any more, the longest deleted first, at most max.
func (s *Store) Erasable(ctx context.Context, before time.Time, max int) ([]string, error) {
	var out []string
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT id FROM sessions s WHERE deleted_at IS NOT NULL AND deleted_at < ? AND NOT `+notErasable+`
			ORDER BY deleted_at, id LIMIT ?`, before.UnixMilli(), max)
		out, err = collect(rows, err, scanOne[string])
		return err
	})
	return out, err
}

// EraseStep erases a part of a session that was deleted before a moment, in one small
// transaction, and reports whether the session is gone. A record in which an erasure
// was broken off is sound: what is left of the session is its beginning. Fails with
// ErrReadOnlySession when the session may not be erased (any more).
//
// What was counted of it stays (see Tally), and what others say of it: runs of jobs and
// memories keep its id as a name.
func (s *Store) EraseStep(ctx context.Context, id string, before time.Time) (gone bool, err error) {
	err = s.update(ctx, func(t *tx) error {
		gone = false
		var lastSeq int64
		var may bool
		err := t.row(`SELECT last_seq, coalesce(deleted_at < ?, 0) AND NOT `+notErasable+` FROM sessions s WHERE id = ?`, before.UnixMilli(), id).Scan(&lastSeq, &may)
		if errors.Is(found(err), ErrNotFound) {
			gone = true
			return nil
		}
		if err != nil {
			return err
		}
		if !may {
			return fmt.Errorf("erase session %s: %w", id, ErrReadOnlySession)
		}
		if lastSeq > 0 {
			return t.eraseTail(id, lastSeq)
		}
		gone, err = t.eraseRest(id)
		return err
	})
	return gone, err
}

// eraseTail takes the newest rows with the turns they belong to: those before stay
// whole, without a gap.
func (t *tx) eraseTail(id string, lastSeq int64) error {
	from := max(1, lastSeq-int64(t.s.erasing)+1)
	rows, err := t.rows(`SELECT DISTINCT turn_id FROM messages WHERE session_id = ? AND seq >= ? AND origin_seq IS NULL AND turn_id IS NOT NULL`, id, from)
	turns, err := collect(rows, err, scanOne[string])
	if err != nil {
		return err
	}
	for _, turn := range turns {
		var first int64
		if err := t.row(`SELECT min(seq) FROM messages WHERE turn_id = ? AND origin_seq IS NULL`, turn).Scan(&first); err != nil {
			return err
		}
		from = min(from, first)
	}
	if _, err := t.exec(`UPDATE sessions SET last_seq = ?2 - 1, reset_cutoff_seq = min(reset_cutoff_seq, ?2 - 1),
			message_count = message_count - (SELECT count(*) FROM messages WHERE session_id = ?1 AND seq >= ?2 AND role = 'user' AND origin_seq IS NULL),
			total_message_count = total_message_count - (SELECT count(*) FROM messages WHERE session_id = ?1 AND seq >= ?2 AND origin_seq IS NULL)
		WHERE id = ?1`, id, from); err != nil {
		return fmt.Errorf("erase session %s: %w", id, err)
	}
	if _, err := t.exec(`DELETE FROM messages WHERE session_id = ? AND seq >= ?`, id, from); err != nil {
		return fmt.Errorf("erase session %s: %w", id, err)
	}
	for _, turn := range turns {
		if err := t.eraseTurn(turn); err != nil {
			return err
		}
	}
	return nil
}

// ofTurn takes what belongs to a turn, in an order that its references allow. A table
// that refers to turns belongs in here; one test looks for those that are not.
var ofTurn = []string{
	`INSERT INTO tally_turns SELECT rev, substr(session_id, 1, instr(session_id, ':') - 1), status, started_at IS NOT NULL, ` + turnWaited + `, ` + turnTook + `
		FROM turns WHERE id = ?`,
	`INSERT INTO tally_calls SELECT rowid, model, provider, coalesce(error, ''), prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, duration_ms
		FROM model_calls WHERE turn_id = ?`,
	`INSERT INTO tally_runs SELECT rowid, name, status, ` + runTook + ` FROM tool_runs WHERE turn_id = ?`,
	`DELETE FROM turn_reactions WHERE turn_id = ?`,
	`DELETE FROM tool_runs WHERE turn_id = ?`,
	`DELETE FROM model_calls WHERE turn_id = ?`,
	`DELETE FROM turns WHERE id = ?`,
}

func (t *tx) eraseTurn(id string) error {
	turn, err := turnByID(t, id)
	if err != nil {
		return err
	}
	for _, query := range ofTurn {
		if _, err := t.exec(query, id); err != nil {
			return fmt.Errorf("erase turn %s: %w", id, err)
		}
	}
	if _, err := t.exec(`DELETE FROM inbound_messages WHERE id = ?`, turn.InboundID); err != nil {
		return fmt.Errorf("erase turn %s: %w", id, err)
	}
	return nil
}

// ofSession takes what belongs to a session without rows and turns, so many at once.
var ofSession = []string{
	// Said here.
	`DELETE FROM commands WHERE rowid IN (SELECT c.rowid FROM commands c JOIN inbound_messages i ON i.id = c.inbound_id WHERE i.session_id = ? LIMIT ?)`,
	`DELETE FROM inbound_messages WHERE rowid IN (SELECT i.rowid FROM inbound_messages i WHERE session_id = ?
		AND NOT EXISTS (SELECT 1 FROM commands c WHERE c.inbound_id = i.id) LIMIT ?)`,
	`DELETE FROM compactions WHERE rowid IN (SELECT rowid FROM compactions WHERE session_id = ? LIMIT ?)`,
	// Led here from elsewhere: what was done stays done, and leads nowhere.
	`UPDATE commands SET session_id = (SELECT session_id FROM inbound_messages WHERE id = inbound_id)
		WHERE rowid IN (SELECT rowid FROM commands WHERE session_id = ? LIMIT ?)`,
	`DELETE FROM outbound_pieces WHERE (origin, part) IN (SELECT origin, part FROM outbound_messages WHERE session_id = ? AND status <> 'pending' AND unnoted = 0 LIMIT ?)`,
	// What the chat's next turn is still to be told stays until then.
	`DELETE FROM outbound_messages WHERE rowid IN (SELECT rowid FROM outbound_messages WHERE session_id = ? AND status <> 'pending' AND unnoted = 0 LIMIT ?)`,
}

// eraseRest takes what is left of a session that has no rows any more.
func (t *tx) eraseRest(id string) (gone bool, err error) {
	rows, err := t.rows(`SELECT id FROM turns WHERE session_id = ? LIMIT ?`, id, t.s.erasing)
	turns, err := collect(rows, err, scanOne[string])
	if err != nil {
		return false, err
	}
	for _, turn := range turns { // withdrawn before they began: they have no rows
		if err := t.eraseTurn(turn); err != nil {
			return false, err
		}
	}
	if len(turns) == t.s.erasing {
		return false, nil
	}
	for _, query := range ofSession {
		n, err := t.exec(query, id, t.s.erasing)
		if err != nil {
			return false, fmt.Errorf("erase session %s: %w", id, err)
		}
		if n == int64(t.s.erasing) {
			return false, nil
		}
	}
	if _, err := t.exec(`UPDATE sessions SET successor_id = NULL WHERE successor_id = ?`, id); err != nil {
		return false, fmt.Errorf("erase session %s: %w", id, err)
	}
	if _, err := t.exec(`DELETE FROM sessions WHERE id = ?`, id); err != nil {
		return false, fmt.Errorf("erase session %s: %w", id, err)
	}
	return true, nil
}
