package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"picobot/internal/chat"
)

// Row is one row of a session: a message and its place.
type Row struct {
	chat.Message
	ID        string
	SessionID string
	TurnID    string
	Step      int
	OriginSeq int64 // 0 = an original, else the seq this is a copy of
	CreatedAt int64
}

// saidAt is the seq at which the row was said: a copy's own is younger.
func (r Row) saidAt() int64 {
	if r.OriginSeq != 0 {
		return r.OriginSeq
	}
	return r.Seq
}

const rowColumns = `id, session_id, seq, role, content, coalesce(reasoning_content, ''), coalesce(media_refs, ''), coalesce(tool_calls, ''),
	coalesce(tool_call_id, ''), coalesce(tool_name, ''), coalesce(marker, ''), coalesce(turn_id, ''), coalesce(step, 0), coalesce(origin_seq, 0), created_at`

func scanRow(r scanner) (Row, error) {
	var m Row
	var media, calls string
	err := r.Scan(&m.ID, &m.SessionID, &m.Seq, &m.Role, &m.Content, &m.ReasoningContent, &media, &calls,
		&m.ToolCallID, &m.ToolName, &m.Marker, &m.TurnID, &m.Step, &m.OriginSeq, &m.CreatedAt)
	if err != nil {
		return m, found(err)
	}
	if media != "" {
		if err := json.Unmarshal([]byte(media), &m.Media); err != nil {
			return m, fmt.Errorf("message %s: read media_refs: %w", m.ID, err)
		}
	}
	if calls != "" {
		if err := json.Unmarshal([]byte(calls), &m.ToolCalls); err != nil {
			return m, fmt.Errorf("message %s: read tool_calls: %w", m.ID, err)
		}
	}
	return m, nil
}

// append adds a row to the end of a session and keeps the session's counters.
func (t *tx) append(r Row) (Row, error) {
	err := t.row(`UPDATE sessions SET last_seq = last_seq + 1, last_active_at = max(last_active_at, ?),
			message_count = message_count + ?, total_message_count = total_message_count + ?
		WHERE id = ? RETURNING last_seq`,
		t.at, count(r.Role == chat.RoleUser && r.OriginSeq == 0), count(r.OriginSeq == 0), r.SessionID).Scan(&r.Seq)
	if err != nil {
		return r, fmt.Errorf("append to session %s: %w", r.SessionID, found(err))
	}
	media, err := jsonOrNull(r.Media, len(r.Media))
	if err != nil {
		return r, err
	}
	calls, err := jsonOrNull(r.ToolCalls, len(r.ToolCalls))
	if err != nil {
		return r, err
	}
	r.ID, r.CreatedAt = t.s.ids.New(), t.at
	_, err = t.exec(`INSERT INTO messages (id, session_id, seq, role, content, reasoning_content, media_refs, tool_calls,
			tool_call_id, tool_name, marker, turn_id, step, origin_seq, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.SessionID, r.Seq, r.Role, r.Content, nullString(r.ReasoningContent), media, calls,
		nullString(r.ToolCallID), nullString(r.ToolName), nullString(string(r.Marker)), nullString(r.TurnID),
		sql.NullInt64{Int64: int64(r.Step), Valid: r.TurnID != ""}, nullInt(r.OriginSeq), r.CreatedAt)
	if err != nil {
		return r, fmt.Errorf("append to session %s: %w", r.SessionID, err)
	}
	t.touch(r.SessionID)
	return r, nil
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func jsonOrNull(v any, n int) (sql.NullString, error) {
	if n == 0 {
		return sql.NullString{}, nil
	}
	b, err := json.Marshal(v)
	return sql.NullString{String: string(b), Valid: true}, err
}

// Messages returns the session's original rows with a seq greater than fromSeq,
// in order, at most max (0 = 100) and fewer where they are large: there may be more
// until there are none. Copies that compaction made and its summary rows are left out.
func (s *Store) Messages(ctx context.Context, sessionID string, fromSeq int64, max int) ([]Row, error) {
	var out []Row
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+rowColumns+` FROM messages
			WHERE session_id = ? AND seq > ? AND origin_seq IS NULL AND coalesce(marker, '') <> ?
			ORDER BY seq LIMIT ?`, sessionID, fromSeq, chat.MarkerHistoryCompaction, limit(max))
		out, _, err = page(rows, err)
		return err
	})
	return out, err
}

// newestRows returns the rows of one turn and, before them, those of whole earlier
// turns of the active segment up to maxBytes, newest first to be kept. System rows
// say what the agent is and what has been compacted: of those the newest of each
// kind is always there.
func newestRows(q querier, sess Session, turnID string, maxBytes int) (out []Row, cut bool, _ error) {
	rows, err := q.rows(`SELECT `+rowColumns+` FROM messages WHERE session_id = ? AND seq > ? ORDER BY seq DESC`, sess.ID, sess.ResetCutoffSeq)
	newest, cut, err := upTo(rows, err, turnID, maxBytes)
	if err != nil || !cut {
		slices.Reverse(newest)
		return newest, false, err
	}
	// What was cut off ends in the middle of a turn: the rest of it goes too.
	whole := len(newest)
	for whole > 0 && newest[whole-1].TurnID != turnID && newest[whole-1].Role != chat.RoleUser {
		whole--
	}
	newest = newest[:whole]
	before := sess.ResetCutoffSeq
	if whole > 0 {
		before = newest[whole-1].Seq
	}
	rows, err = q.rows(`SELECT `+rowColumns+` FROM messages WHERE seq IN (
		SELECT max(seq) FROM messages WHERE session_id = ?1 AND seq > ?2 AND seq < ?3 AND marker IN (?4, ?5, ?6) GROUP BY marker)
		AND session_id = ?1 ORDER BY seq DESC`, sess.ID, sess.ResetCutoffSeq, before,
		chat.MarkerAgentPrompt, chat.MarkerScheduledSystemPrompt, chat.MarkerHistoryCompaction)
	system, err := collect(rows, err, scanRow)
	newest = append(newest, system...)
	slices.Reverse(newest)
	return newest, true, err
}

// upTo scans rows, newest first, until those of other turns than turnID's exceed
// maxBytes, and reports whether there were more.
func upTo(rows *sql.Rows, err error, turnID string, maxBytes int) (out []Row, cut bool, _ error) {
	if err != nil {
		return nil, false, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what matters
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return nil, false, err
		}
		if r.TurnID != turnID {
			if maxBytes -= r.size(); maxBytes < 0 {
				return out, true, nil
			}
		}
		out = append(out, r)
	}
	return out, false, rows.Err()
}
