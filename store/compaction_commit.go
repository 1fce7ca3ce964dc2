package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"picobot/internal/chat"
)

// AddSummary writes down the summary of a compaction before anything is done with it,
// together with the model calls it took: whatever happens then, nobody has to be asked
// again. c is State summarised, or fruitless when it would gain too little, which is
// counted unless a person had asked for it: they are told.
//
// Where the segment has a summary already, that one is returned; where the segment has
// moved on since c was planned, c comes back as dropped. Neither is an error.
func (s *Store) AddSummary(ctx context.Context, c Compaction, calls []ModelCall, say Telling) (Compaction, error) {
	var out Compaction
	err := s.update(ctx, func(t *tx) error {
		out = c
		if err := t.charge("", calls); err != nil {
			return err
		}
		sess, err := sessionByID(t, c.SessionID)
		if err != nil {
			return err
		}
		if sess.DeletedAt != 0 || sess.ResetCutoffSeq != c.Base {
			out.State, out.Summary = CompactionDropped, ""
			return nil
		}
		open, err := openCompaction(t, sess)
		if !errors.Is(err, ErrNotFound) {
			out = open
			return err
		}
		if err := t.addSummary(&out, sess); err != nil || out.State == CompactionSummarised {
			return err
		}
		out.Outbound, err = t.tellAsked(sess, out, say)
		return err
	})
	return out, err
}

func (t *tx) addSummary(c *Compaction, sess Session) error {
	if _, err := t.exec(`UPDATE compactions SET state = 'dropped', summary = NULL, finished_at = ? WHERE session_id = ? AND state = 'summarised'`, t.at, sess.ID); err != nil {
		return fmt.Errorf("record compaction: %w", err)
	}
	finished := int64(0)
	if c.State != CompactionSummarised {
		finished, c.Summary = t.at, ""
		strikes := sess.Compacting.Strikes
		if sess.Compacting.Due != DueAsked {
			strikes++
		}
		if _, err := t.exec(`UPDATE sessions SET compaction = 0, compaction_strikes = ?, compaction_size = ?, compaction_base = ? WHERE id = ?`,
			strikes, c.Before, c.Base, sess.ID); err != nil {
			return fmt.Errorf("record compaction: %w", err)
		}
	}
	c.ID = t.s.ids.New()
	_, err := t.exec(`INSERT INTO compactions (id, session_id, base_seq, cut_seq, state, source, summary, tokens_before, tokens_after, created_at, finished_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID, c.SessionID, c.Base, c.Cut, c.State, c.Source, nullString(c.Summary), c.Before, c.After, t.at, nullInt(finished))
	if err != nil {
		return fmt.Errorf("record compaction: %w", err)
	}
	return nil
}

// CommitCompaction puts a summary in the place of what it is of, once: the session's
// active segment becomes the prompts that last, the summary, and copies of every row
// from the cut on, whatever arrived since it was planned included. Originals stay
// where they are. A compaction whose segment has moved on is dropped. Whoever asked for
// it is told that it is done.
func (s *Store) CommitCompaction(ctx context.Context, id string, say Telling) (Compaction, error) {
	var out Compaction
	err := s.update(ctx, func(t *tx) (err error) {
		if out, err = scanCompaction(t.row(`SELECT `+compactionColumns+` FROM compactions WHERE id = ?`, id)); err != nil {
			return err
		}
		if out.State != CompactionSummarised {
			return nil
		}
		sess, err := sessionByID(t, out.SessionID)
		if err != nil {
			return err
		}
		state := CompactionDropped
		if sess.DeletedAt == 0 && sess.ResetCutoffSeq == out.Base {
			state = CompactionCommitted
			if err := t.replaceSegment(sess, out); err != nil {
				return fmt.Errorf("compact session %s: %w", sess.ID, err)
			}
		}
		_, err = t.exec(`UPDATE compactions SET state = ?, summary = NULL, finished_at = ? WHERE id = ?`, state, t.at, id)
		if out.State, out.Summary = state, ""; err == nil && state == CompactionCommitted {
			out.Outbound, err = t.tellAsked(sess, out, say)
		}
		return err
	})
	return out, err
}

// replaceSegment appends the new segment and moves the session to it.
func (t *tx) replaceSegment(sess Session, c Compaction) error {
	lasting, err := lastingRows(t, sess)
	if err != nil {
		return err
	}
	seq := sess.LastSeq
	for _, from := range lasting {
		if from < c.Cut {
			seq++
			if err := t.copyRow(sess.ID, from, seq); err != nil {
				return err
			}
		}
	}
	seq++
	if _, err := t.exec(`INSERT INTO messages (id, session_id, seq, role, content, marker, created_at) VALUES (?, ?, ?, 'system', ?, ?, ?)`,
		t.s.ids.New(), sess.ID, seq, c.Summary, chat.MarkerHistoryCompaction, t.at); err != nil {
		return err
	}
	rows, err := t.rows(`SELECT seq FROM messages WHERE session_id = ? AND seq >= ? AND seq <= ? ORDER BY seq`, sess.ID, c.Cut, sess.LastSeq)
	recent, err := collect(rows, err, scanOne[int64])
	if err != nil {
		return err
	}
	for _, from := range recent {
		seq++
		if err := t.copyRow(sess.ID, from, seq); err != nil {
			return err
		}
	}
	// Nobody said anything: the session has not been active, and copies are not counted.
	_, err = t.exec(`UPDATE sessions SET reset_cutoff_seq = last_seq, last_seq = ?, total_message_count = total_message_count + 1,
		compaction = 0, compaction_strikes = 0, compaction_size = 0 WHERE id = ?`, seq, sess.ID)
	t.touch(sess.ID)
	return err
}

// copyRow copies a row forward. A copy of a copy is one of the original.
func (t *tx) copyRow(sessionID string, from, to int64) error {
	_, err := t.exec(`INSERT INTO messages (id, session_id, seq, role, content, reasoning_content, media_refs, tool_calls,
			tool_call_id, tool_name, marker, turn_id, step, origin_seq, created_at)
		SELECT ?, session_id, ?, role, content, reasoning_content, media_refs, tool_calls,
			tool_call_id, tool_name, marker, turn_id, step, coalesce(origin_seq, seq), created_at
		FROM messages WHERE session_id = ? AND seq = ?`, t.s.ids.New(), to, sessionID, from)
	return err
}

// originalBefore is the newest row at or before a seq that a reader is shown or was
// said: copies and summaries are neither. Zero = there is none.
func originalBefore(q querier, sessionID string, seq int64) (turnID string, createdAt int64, err error) {
	err = q.row(`SELECT coalesce(turn_id, ''), created_at FROM messages
		WHERE session_id = ? AND seq <= ? AND origin_seq IS NULL AND coalesce(marker, '') <> ? ORDER BY seq DESC LIMIT 1`,
		sessionID, seq, chat.MarkerHistoryCompaction).Scan(&turnID, &createdAt)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, nil
	}
	return turnID, createdAt, err
}
