// Package strict says what is wrong with a record: what the strictest provider would
// refuse about its conversations, and what contradicts itself. It reads the tables as
// anybody could and shares no code with store or prompt, whose work it judges.
package strict

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// Row is one message of a session, in the order of seq.
type Row struct {
	Seq        int64
	Role       string
	Content    string
	Media      bool
	Calls      []Call
	ToolCallID string
	Marker     string
	TurnID     string
}

// Call is one tool call of an assistant row.
type Call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Conversation says what the strictest provider would refuse about the rows of one
// session. Every call has exactly one result directly behind it, in call order;
// arguments are JSON objects; nothing is empty; ids are unique. The calls of a turn
// for which running holds may lack their results at the end of the rows.
func Conversation(rows []Row, running func(turnID string) bool) []string {
	var bad []string
	say := func(r Row, format string, args ...any) {
		bad = append(bad, fmt.Sprintf("seq %d (%s, turn %s): %s", r.Seq, r.Role, r.TurnID, fmt.Sprintf(format, args...)))
	}
	ids := map[string]bool{}
	var open []Call // calls without a result so far
	var asker Row   // the row that holds them
	for _, r := range rows {
		if len(open) > 0 && r.Role != "tool" {
			say(r, "comes before the result of call %s", open[0].ID)
			open = nil
		}
		if r.Content == "" && len(r.Calls) == 0 && !r.Media {
			say(r, "is empty")
		}
		switch r.Role {
		case "tool":
			switch {
			case len(open) == 0:
				say(r, "is the result of %q, which nobody waits for", r.ToolCallID)
			case open[0].ID != r.ToolCallID:
				say(r, "is the result of %q where that of %q is due", r.ToolCallID, open[0].ID)
				open = open[1:]
			default:
				open = open[1:]
			}
		case "assistant":
			open, asker = r.Calls, r
			for _, c := range r.Calls {
				var object map[string]any
				switch {
				case c.ID == "" || ids[c.ID]:
					say(r, "the id %q is empty or used before", c.ID)
				case c.Type != "function" || c.Function.Name == "":
					say(r, "call %s has type %q and name %q", c.ID, c.Type, c.Function.Name)
				case json.Unmarshal([]byte(c.Function.Arguments), &object) != nil || object == nil:
					say(r, "arguments of call %s are no JSON object: %q", c.ID, c.Function.Arguments)
				}
				ids[c.ID] = true
			}
		case "user", "system":
		default:
			say(r, "unknown role")
		}
	}
	if len(open) > 0 && !running(asker.TurnID) {
		say(asker, "call %s has no result", open[0].ID)
	}
	return bad
}

// contradictions are queries that find nothing in a sound record, whatever happened to it.
var contradictions = []struct{ what, query string }{
	{"broken reference", `SELECT "table", rowid, parent FROM pragma_foreign_key_check`},
	{"gap in seq", `SELECT session_id, min(seq), max(seq), count(*) FROM messages GROUP BY session_id HAVING min(seq) <> 1 OR max(seq) <> count(*)`},
	{"counts of a session", `SELECT s.id, s.message_count, s.total_message_count, s.last_seq FROM sessions s WHERE
		s.message_count <> (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.origin_seq IS NULL)
		OR s.total_message_count <> (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND m.origin_seq IS NULL)
		OR s.last_seq <> (SELECT coalesce(max(m.seq), 0) FROM messages m WHERE m.session_id = s.id)`},
	{"an accepted message without exactly one turn", `SELECT i.id, i.external_id, i.turn_id, (SELECT count(*) FROM turns t WHERE t.inbound_id = i.id) FROM inbound_messages i
		WHERE NOT EXISTS (SELECT 1 FROM commands c WHERE c.inbound_id = i.id)
		AND ((SELECT count(*) FROM turns t WHERE t.inbound_id = i.id AND t.id = i.turn_id) <> 1 OR (SELECT count(*) FROM turns t WHERE t.inbound_id = i.id) <> 1)`},
	{"a command that is not done, or has a turn", `SELECT c.id, c.name, i.status, i.turn_id FROM commands c JOIN inbound_messages i ON i.id = c.inbound_id
		WHERE i.status <> 'done' OR i.finished_at IS NULL OR i.turn_id IS NOT NULL OR EXISTS (SELECT 1 FROM turns t WHERE t.inbound_id = i.id)`},
	{"a message and its turn disagree", `SELECT i.id, i.status, t.status FROM inbound_messages i JOIN turns t ON t.inbound_id = i.id
		WHERE i.status <> CASE t.status WHEN 'completed' THEN 'done' WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'cancelled' WHEN 'running' THEN 'dispatched' ELSE 'received' END`},
	{"a turn that began without exactly one user row", `SELECT t.id, t.status FROM turns t WHERE t.started_at IS NOT NULL
		AND (SELECT count(*) FROM messages m WHERE m.turn_id = t.id AND m.role = 'user' AND m.origin_seq IS NULL) <> 1`},
	{"a completed turn without exactly one answer", `SELECT t.id FROM turns t WHERE t.status = 'completed'
		AND (SELECT count(*) FROM messages m WHERE m.turn_id = t.id AND m.role = 'assistant' AND m.tool_calls IS NULL AND m.origin_seq IS NULL AND m.marker IS NULL) <> 1`},
	{"an answer in a turn that was not completed", `SELECT t.id, t.status FROM turns t JOIN messages m ON m.turn_id = t.id
		WHERE t.status <> 'completed' AND m.role = 'assistant' AND m.tool_calls IS NULL AND m.origin_seq IS NULL AND m.marker IS NULL`},
	{"a failed turn without exactly one error row, or one elsewhere", `SELECT t.id, t.status FROM turns t
		WHERE (SELECT count(*) FROM messages m WHERE m.turn_id = t.id AND m.marker = 'error' AND m.origin_seq IS NULL) <> (t.status = 'failed' AND t.started_at IS NOT NULL)`},
	{"an answer that is not the turn's last row", `SELECT t.id FROM turns t JOIN messages m ON m.turn_id = t.id JOIN messages later ON later.turn_id = t.id AND later.seq > m.seq
		WHERE m.role = 'assistant' AND m.tool_calls IS NULL AND m.origin_seq IS NULL AND later.origin_seq IS NULL`},
	{"two answers of one step", `SELECT turn_id, step, count(*) FROM messages WHERE role = 'assistant' AND turn_id IS NOT NULL AND origin_seq IS NULL AND marker IS NULL
		GROUP BY turn_id, step HAVING count(*) > 1`},
	{"rows of two turns mixed", `SELECT a.turn_id, b.turn_id FROM (SELECT session_id, turn_id, min(seq) lo, max(seq) hi FROM messages WHERE turn_id IS NOT NULL AND origin_seq IS NULL GROUP BY session_id, turn_id) a
		JOIN (SELECT session_id, turn_id, min(seq) lo FROM messages WHERE turn_id IS NOT NULL AND origin_seq IS NULL GROUP BY session_id, turn_id) b
		ON a.session_id = b.session_id AND a.turn_id <> b.turn_id AND b.lo BETWEEN a.lo AND a.hi`},
	{"a tool run without an end in a turn that ended", `SELECT t.id, r.step, r.position, r.status FROM turns t JOIN tool_runs r ON r.turn_id = t.id
		WHERE t.status IN ('completed', 'failed', 'cancelled') AND r.status = 'claimed'`},
	{"a tool run whose result is not what the conversation says", `SELECT r.turn_id, r.step, r.position, r.result, m.content FROM tool_runs r
		JOIN messages m ON m.turn_id = r.turn_id AND m.step = r.step AND m.role = 'tool' AND m.tool_call_id = r.call_id AND m.origin_seq IS NULL WHERE m.content <> r.result`},
	{"a tool row without a run", `SELECT m.session_id, m.seq FROM messages m WHERE m.role = 'tool' AND m.origin_seq IS NULL
		AND NOT EXISTS (SELECT 1 FROM tool_runs r WHERE r.turn_id = m.turn_id AND r.step = m.step AND r.call_id = m.tool_call_id)`},
	// A turn of an earlier schema has no calls, and one that has ended does not change when a call ends late.
	{"a turn that paid for other calls than its own, or answered a step without one", `SELECT t.id, t.steps, t.prompt_tokens, sum(c.prompt_tokens) FROM turns t JOIN model_calls c ON c.turn_id = t.id
		GROUP BY t.id HAVING sum(c.status = 'completed') < t.steps OR t.prompt_tokens > sum(c.prompt_tokens) OR t.completion_tokens > sum(c.completion_tokens)
		OR t.finished_at IS NULL AND (t.prompt_tokens <> sum(c.prompt_tokens) OR t.completion_tokens <> sum(c.completion_tokens))`},
	{"a copy that is not of an original row", `SELECT m.session_id, m.seq, m.origin_seq FROM messages m WHERE m.origin_seq IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM messages o WHERE o.session_id = m.session_id AND o.seq = m.origin_seq AND o.origin_seq IS NULL AND o.seq < m.seq
		AND o.role = m.role AND o.content = m.content AND o.tool_calls IS m.tool_calls AND o.tool_call_id IS m.tool_call_id AND o.turn_id IS m.turn_id AND o.step IS m.step AND o.marker IS m.marker)`},
	{"a row that is in the active segment twice, or not in its order", `SELECT a.session_id, a.seq, b.seq FROM messages b CROSS JOIN messages a
		WHERE b.origin_seq IS NOT NULL AND a.session_id = b.session_id AND a.seq < b.seq AND a.seq > (SELECT reset_cutoff_seq FROM sessions s WHERE s.id = a.session_id) AND b.origin_seq <= coalesce(a.origin_seq, a.seq)
		AND coalesce(a.marker, '') <> 'history_compaction'`},
	{"more than one running turn in a session", `SELECT session_id, count(*) FROM turns WHERE status = 'running' GROUP BY session_id HAVING count(*) > 1`},
}

// Record says what is wrong with a record. It may be read while PicoBot writes it, and
// looks at one snapshot.
func Record(db *sql.DB) ([]string, error) {
	tx, err := db.Begin()
	if err != nil {
		return nil, fmt.Errorf("read the record: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	integrity, err := lines(tx, `PRAGMA integrity_check`)
	if err != nil {
		return nil, err
	}
	var bad []string
	if len(integrity) != 1 || integrity[0] != "ok" {
		bad = append(bad, integrity...)
	}
	for _, c := range contradictions {
		found, err := lines(tx, c.query)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.what, err)
		}
		for _, f := range found {
			bad = append(bad, c.what+": "+f)
		}
	}
	running, err := lines(tx, `SELECT id FROM turns WHERE status = 'running'`)
	if err != nil {
		return nil, err
	}
	isRunning := map[string]bool{}
	for _, id := range running {
		isRunning[id] = true
	}
	for _, where := range []string{said, active} {
		sessions, err := conversations(tx, where)
		if err != nil {
			return nil, err
		}
		for id, rows := range sessions {
			for _, b := range Conversation(rows, func(turn string) bool { return isRunning[turn] }) {
				bad = append(bad, id+" "+b)
			}
		}
	}
	return bad, nil
}

// said are the rows that somebody said: copies and summaries of a compaction left out.
const said = `origin_seq IS NULL AND coalesce(marker, '') <> 'history_compaction'`

// active are the rows that a request is built from. A reset may have cut off the call
// of a result, which is then told to no model.
const active = `seq > (SELECT reset_cutoff_seq FROM sessions s WHERE s.id = messages.session_id)
	AND NOT (role = 'tool' AND NOT EXISTS (SELECT 1 FROM messages c, json_each(c.tool_calls) j WHERE c.session_id = messages.session_id AND c.role = 'assistant'
		AND c.seq > (SELECT reset_cutoff_seq FROM sessions s WHERE s.id = messages.session_id) AND c.seq < messages.seq AND json_extract(j.value, '$.id') = messages.tool_call_id))`

// conversations reads the rows of all sessions for which where holds.
func conversations(tx *sql.Tx, where string) (map[string][]Row, error) {
	rows, err := tx.Query(`SELECT session_id, seq, role, content, media_refs IS NOT NULL, coalesce(tool_calls, ''), coalesce(tool_call_id, ''), coalesce(marker, ''), coalesce(turn_id, '')
		FROM messages WHERE ` + where + ` ORDER BY session_id, seq`)
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	defer rows.Close()
	out := map[string][]Row{}
	for rows.Next() {
		var id, calls string
		var r Row
		if err := rows.Scan(&id, &r.Seq, &r.Role, &r.Content, &r.Media, &calls, &r.ToolCallID, &r.Marker, &r.TurnID); err != nil {
			return nil, fmt.Errorf("read messages: %w", err)
		}
		if calls != "" {
			if err := json.Unmarshal([]byte(calls), &r.Calls); err != nil || len(r.Calls) == 0 {
				return nil, fmt.Errorf("%s seq %d: tool_calls %q: %w", id, r.Seq, calls, err)
			}
		}
		out[id] = append(out[id], r)
	}
	return out, rows.Err()
}

// lines returns the rows of a query, the columns of each joined by "|".
func lines(tx *sql.Tx, query string) ([]string, error) {
	rows, err := tx.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []string
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		to := make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = v.String
		}
		out = append(out, strings.Join(words, "|"))
	}
	return out, rows.Err()
}
