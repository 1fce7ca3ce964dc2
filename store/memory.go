package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"picobot/internal/chat"
	"picobot/internal/memory"
)

const memoryColumns = `m.id, m.scope_key, m.namespace, m.memory_key, m.content, coalesce(m.source_type, ''), coalesce(m.source_session_id, ''),
	coalesce(m.source_message_id, ''), coalesce(m.source_message_seq, 0), coalesce(m.source_channel, ''), coalesce(m.source_chat_id, ''), m.created_at, m.updated_at`

func scanMemory(r scanner) (memory.Memory, error) {
	var m memory.Memory
	s := &m.Source
	err := r.Scan(&m.ID, &m.Scope, &m.Namespace, &m.Key, &m.Content, &s.Type, &s.SessionID, &s.MessageID, &s.MessageSeq, &s.Channel, &s.ChatID, &m.CreatedAt, &m.UpdatedAt)
	return m, found(err)
}

// Memory returns one memory of a scope. Where there is none it fails with a
// *memory.MissingError that names what may have been meant.
func (s *Store) Memory(ctx context.Context, scope string, n memory.Name) (memory.Memory, error) {
	var out memory.Memory
	err := s.view(ctx, func(q querier) (err error) {
		out, err = memoryNamed(q, scope, n)
		if errors.Is(err, ErrNotFound) {
			return missing(q, scope, n)
		}
		return err
	})
	return out, err
}

func memoryNamed(q querier, scope string, n memory.Name) (memory.Memory, error) {
	return scanMemory(q.row(`SELECT `+memoryColumns+` FROM memories m WHERE scope_kind = ? AND scope_key = ? AND namespace = ? AND memory_key = ?`,
		memory.KindUser, scope, n.Namespace, n.Key))
}

// maxLookedAt bounds how many names are compared with one that is not there: some of
// its namespace and the newest.
const maxLookedAt = 500

// missing is the error for a memory that is not there.
func missing(q querier, scope string, n memory.Name) error {
	rows, err := q.rows(`SELECT namespace, memory_key FROM memories WHERE scope_kind = ?1 AND scope_key = ?2 AND rowid IN (
			SELECT rowid FROM (SELECT rowid FROM memories WHERE scope_kind = ?1 AND scope_key = ?2 AND namespace = ?3 LIMIT ?4)
			UNION SELECT rowid FROM (SELECT rowid FROM memories WHERE scope_kind = ?1 AND scope_key = ?2 LIMIT ?4))`,
		memory.KindUser, scope, n.Namespace, maxLookedAt)
	names, err := collect(rows, err, scanName)
	if err != nil {
		return err
	}
	return &memory.MissingError{Name: n, Nearest: memory.Nearest(n, names)}
}

func scanName(r scanner) (memory.Name, error) {
	var n memory.Name
	err := r.Scan(&n.Namespace, &n.Key)
	return n, err
}

// Memories lists memories in the order of scope, namespace and key.
func (s *Store) Memories(ctx context.Context, f memory.Filter) ([]memory.Memory, error) {
	var out []memory.Memory
	err := s.view(ctx, func(q querier) (err error) {
		out, err = memories(q, f)
		return err
	})
	return out, err
}

func memories(q querier, f memory.Filter) ([]memory.Memory, error) {
	// One scope and everybody's are two queries, so that each is a walk along the index.
	query := `SELECT ` + memoryColumns + ` FROM memories m
		WHERE scope_kind = ?1 AND scope_key = ?2 AND (?3 = '' OR namespace = ?3) AND (namespace, memory_key) > (?5, ?6)
		ORDER BY namespace, memory_key LIMIT ?7`
	if f.Scope == "" {
		query = `SELECT ` + memoryColumns + ` FROM memories m
			WHERE scope_kind = ?1 AND ?2 = '' AND (?3 = '' OR namespace = ?3) AND (scope_key, namespace, memory_key) > (?4, ?5, ?6)
			ORDER BY scope_key, namespace, memory_key LIMIT ?7`
	}
	rows, err := q.rows(query, memory.KindUser, f.Scope, f.Namespace, f.After.Scope, f.After.Namespace, f.After.Key, limit(f.Limit))
	return collect(rows, err, scanMemory)
}

// MemoryOverview says what there is in a scope.
func (s *Store) MemoryOverview(ctx context.Context, scope string) (memory.Overview, error) {
	var out memory.Overview
	err := s.view(ctx, func(q querier) error {
		if err := q.row(`SELECT count(*) FROM memories WHERE scope_kind = ? AND scope_key = ?`, memory.KindUser, scope).Scan(&out.Count); err != nil {
			return err
		}
		rows, err := q.rows(`SELECT namespace FROM memories WHERE scope_kind = ? AND scope_key = ? GROUP BY namespace ORDER BY count(*) DESC, namespace LIMIT 20`,
			memory.KindUser, scope)
		out.Namespaces, err = collect(rows, err, scanOne[string])
		return err
	})
	return out, err
}

// PutMemory writes a memory of an operator's, in place of one of this name.
func (s *Store) PutMemory(ctx context.Context, scope string, n memory.Name, content string) (stored memory.Memory, created bool, err error) {
	err = s.update(ctx, func(t *tx) error {
		if created, err = t.putMemory(scope, n, content, memory.Source{Type: memory.SourceAPI}); err != nil {
			return err
		}
		stored, err = memoryNamed(t, scope, n)
		return err
	})
	return stored, created, err
}

// DeleteMemory deletes a memory. Fails with *memory.MissingError where there is none.
func (s *Store) DeleteMemory(ctx context.Context, scope string, n memory.Name) error {
	return s.update(ctx, func(t *tx) error { return t.deleteMemory(scope, n) })
}

// putMemory writes a memory, and the terms it is found by. A content that is there
// already is left alone, so that nothing has changed.
func (t *tx) putMemory(scope string, n memory.Name, content string, from memory.Source) (created bool, err error) {
	old, err := memoryNamed(t, scope, n)
	switch {
	case err == nil && old.Content == content:
		return false, nil
	case err == nil:
		_, err = t.exec(`UPDATE memories SET content = ?, source_type = ?, source_session_id = ?, source_message_id = ?, source_message_seq = ?,
			source_channel = ?, source_chat_id = ?, updated_at = ? WHERE id = ?`,
			content, from.Type, nullString(from.SessionID), nullString(from.MessageID), nullInt(from.MessageSeq),
			nullString(from.Channel), nullString(from.ChatID), t.at, old.ID)
	case errors.Is(err, ErrNotFound):
		created = true
		_, err = t.exec(`INSERT INTO memories (id, scope_kind, scope_key, namespace, memory_key, content, source_type, source_session_id,
			source_message_id, source_message_seq, source_channel, source_chat_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			t.s.ids.New(), memory.KindUser, scope, n.Namespace, n.Key, content, from.Type, nullString(from.SessionID),
			nullString(from.MessageID), nullInt(from.MessageSeq), nullString(from.Channel), nullString(from.ChatID), t.at, t.at)
	}
	if err != nil {
		return false, fmt.Errorf("write memory: %w", err)
	}
	return created, t.indexMemories()
}

func (t *tx) deleteMemory(scope string, n memory.Name) error {
	gone, err := t.exec(`DELETE FROM memories WHERE scope_kind = ? AND scope_key = ? AND namespace = ? AND memory_key = ?`, memory.KindUser, scope, n.Namespace, n.Key)
	if err != nil {
		return fmt.Errorf("delete memory: %w", err)
	}
	if gone == 0 {
		return missing(t, scope, n)
	}
	return t.indexMemories()
}

// PutMemory writes a memory of the turn's person, in place of one of this name.
func (t *ToolTx) PutMemory(n memory.Name, content string) (created bool, err error) {
	scope, from, err := t.memorySource()
	if err != nil {
		return false, err
	}
	return t.t.putMemory(scope, n, content, from)
}

// UpdateMemory replaces the content of a memory of the turn's person. Fails with
// *memory.MissingError where there is none.
func (t *ToolTx) UpdateMemory(n memory.Name, content string) error {
	scope, from, err := t.memorySource()
	if err != nil {
		return err
	}
	if _, err := memoryNamed(t.t, scope, n); errors.Is(err, ErrNotFound) {
		return missing(t.t, scope, n)
	} else if err != nil {
		return err
	}
	_, err = t.t.putMemory(scope, n, content, from)
	return err
}

// DeleteMemory deletes a memory of the turn's person. Fails with *memory.MissingError
// where there is none.
func (t *ToolTx) DeleteMemory(n memory.Name) error {
	scope, _, err := t.memorySource()
	if err != nil {
		return err
	}
	return t.t.deleteMemory(scope, n)
}

// memorySource says whose memories the turn's are, and where they come from: the
// message that the turn answers.
func (t *ToolTx) memorySource() (scope string, from memory.Source, err error) {
	from = memory.Source{Type: memory.SourceTool, SessionID: t.Session.ID, Channel: t.Session.Channel, ChatID: t.Session.ChatID}
	err = t.t.row(`SELECT id, seq FROM messages WHERE turn_id = ? AND role = ? AND origin_seq IS NULL ORDER BY seq LIMIT 1`, t.Run.TurnID, chat.RoleUser).
		Scan(&from.MessageID, &from.MessageSeq)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil // a turn without a message of a person's
	}
	return memory.Scope(t.Session.Channel, t.Inbound.SenderID), from, err
}
