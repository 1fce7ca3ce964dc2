package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"picobot/internal/memory"
)

// maxCandidates bounds how many memories a search ranks: of more that have its words
// the newest. Words that more memories have than this tell them apart badly.
const maxCandidates = 500

// SearchMemories returns the memories that a query is answered best by: those that have
// all its words first, then those that have some; the best by bm25 over content, key
// and namespace, of equals the newest. scope "" searches everybody's, which is for
// operators only.
func (s *Store) SearchMemories(ctx context.Context, scope, namespace, query string, n int) ([]memory.Hit, error) {
	q := memory.ParseQuery(query)
	if len(q.Whole) == 0 {
		return nil, nil
	}
	if err := s.indexMissing(ctx); err != nil {
		return nil, err
	}
	var out []memory.Hit
	err := s.view(ctx, func(v querier) error {
		search := memorySearch{querier: v, scope: scope, namespace: namespace, limit: limit(n), seen: map[string]bool{}}
		if err := search.add(strings.Join(q.Whole, " AND ")); err != nil {
			return err
		}
		if parts, err := search.telling(q.Parts); err != nil {
			return err
		} else if len(search.found) < search.limit && len(parts) > 0 && strings.Join(parts, "") != strings.Join(q.Whole, "") {
			if err := search.add(strings.Join(parts, " OR ")); err != nil {
				return err
			}
		}
		out = nil
		for _, m := range search.found {
			out = append(out, memory.Hit{Memory: m, Snippet: q.Snippet(m.Content)})
		}
		return nil
	})
	return out, err
}

// memorySearch is one search, in steps that each add what they find.
type memorySearch struct {
	querier
	scope, namespace string
	limit            int
	found            []memory.Memory
	seen             map[string]bool
}

// match makes an FTS5 query of terms, within the scope and a namespace of these words:
// whether it is exactly that one is looked at in the memory itself. (One that is signs
// only has no words: it is found among the newest maxCandidates of all.)
func (m *memorySearch) match(terms string) string {
	match := fmt.Sprintf(`{content memory_key namespace} : (%s)`, terms)
	if words := memory.Segment(m.namespace); words != "" {
		match = fmt.Sprintf(`namespace : "%s" AND %s`, words, match)
	}
	if m.scope != "" {
		match = fmt.Sprintf(`scope : "%s" AND %s`, scopeTerm(m.scope), match)
	}
	return match
}

// add ranks what matches and adds what is new of it.
func (m *memorySearch) add(terms string) error {
	match := m.match(terms)
	var oldest int64
	if err := m.row(`SELECT coalesce(min(at), 0) FROM (SELECT rowid AS at FROM memories_search WHERE memories_search MATCH ?1 ORDER BY rowid DESC LIMIT ?2)`,
		match, maxCandidates).Scan(&oldest); err != nil {
		return fmt.Errorf("search memories: %w", err)
	}
	// The best are found by their terms alone, and only then read. A namespace is looked
	// at in between; without one that costs nothing.
	query := `SELECT ` + memoryColumns + ` FROM (SELECT rowid AS at, bm25(memories_search, 0, 1, 2, 0.5) AS rank FROM memories_search
			WHERE memories_search MATCH ?1 AND rowid >= ?2 AND ?3 = '' ORDER BY rank, at DESC LIMIT ?4)
		JOIN memories m ON m.search_id = at ORDER BY rank, at DESC`
	if m.namespace != "" {
		query = `SELECT ` + memoryColumns + ` FROM (SELECT rowid AS at, bm25(memories_search, 0, 1, 2, 0.5) AS rank FROM memories_search
				WHERE memories_search MATCH ?1 AND rowid >= ?2)
			JOIN memories m ON m.search_id = at WHERE m.namespace = ?3 ORDER BY rank, at DESC LIMIT ?4`
	}
	rows, err := m.rows(query, match, oldest, m.namespace, m.limit+len(m.found))
	list, err := collect(rows, err, scanMemory)
	if err != nil {
		return fmt.Errorf("search memories: %w", err)
	}
	for _, one := range list {
		if len(m.found) < m.limit && !m.seen[one.ID] {
			m.seen[one.ID] = true
			m.found = append(m.found, one)
		}
	}
	return nil
}

// telling leaves out the terms that too many memories have, where there are others.
func (m *memorySearch) telling(parts []string) ([]string, error) {
	if len(m.found) >= m.limit || len(parts) < 2 {
		return parts, nil
	}
	var rare []string
	for _, p := range parts {
		var n int
		if err := m.row(`SELECT count(*) FROM (SELECT rowid FROM memories_search WHERE memories_search MATCH ?1 LIMIT ?2)`, m.match(p), maxCandidates).Scan(&n); err != nil {
			return nil, fmt.Errorf("search memories: %w", err)
		}
		if n > 0 && n < maxCandidates {
			rare = append(rare, p)
		}
	}
	if len(rare) == 0 {
		return parts, nil
	}
	return rare, nil
}

// scopeTerm is what a scope is in the index: one term, whatever an id is made of.
func scopeTerm(scope string) string {
	sum := sha256.Sum256([]byte(scope))
	return "s" + hex.EncodeToString(sum[:16])
}

// indexBatch is how many memories are indexed in one transaction.
const indexBatch = 500

// indexMissing brings the index up to the memories that are not as it has them, such as
// those that another program wrote into the file. A reader leaves them as they are.
func (s *Store) indexMissing(ctx context.Context) error {
	if s.writer == nil {
		return nil
	}
	for {
		var left bool
		err := s.view(ctx, func(q querier) error {
			return q.row(`SELECT EXISTS (SELECT 1 FROM memories WHERE search_id IS NULL) OR EXISTS (SELECT 1 FROM memory_search_gone)`).Scan(&left)
		})
		if err != nil || !left {
			return err
		}
		if err := s.update(ctx, (*tx).indexMemories); err != nil {
			return err
		}
	}
}

// indexMemories takes the terms out of the index that are no memory's any more, and makes
// those of memories that have none. What was changed in this transaction is among them,
// whoever changed it.
func (t *tx) indexMemories() error {
	for _, statement := range []string{
		`DELETE FROM memories_search WHERE rowid IN (SELECT search_id FROM memory_search_gone ORDER BY search_id LIMIT ?)`,
		`DELETE FROM memory_search_gone WHERE search_id IN (SELECT search_id FROM memory_search_gone ORDER BY search_id LIMIT ?)`,
	} {
		if _, err := t.exec(statement, indexBatch); err != nil {
			return fmt.Errorf("index memories: %w", err)
		}
	}
	rows, err := t.rows(`SELECT rowid, scope_key, namespace, memory_key, content FROM memories WHERE search_id IS NULL LIMIT ?`, indexBatch)
	type memo struct {
		rowid                          int64
		scope, namespace, key, content string
	}
	list, err := collect(rows, err, func(r scanner) (m memo, err error) {
		return m, r.Scan(&m.rowid, &m.scope, &m.namespace, &m.key, &m.content)
	})
	if err != nil {
		return fmt.Errorf("index memories: %w", err)
	}
	for _, m := range list {
		var id int64
		if err := t.row(`UPDATE memory_search_ids SET last = last + 1 RETURNING last`).Scan(&id); err != nil {
			return fmt.Errorf("index memories: %w", err)
		}
		if _, err := t.exec(`INSERT INTO memories_search (rowid, scope, content, memory_key, namespace) VALUES (?, ?, ?, ?, ?)`,
			id, scopeTerm(m.scope), memory.Segment(m.content), memory.Segment(m.key), memory.Segment(m.namespace)); err != nil {
			return fmt.Errorf("index memories: %w", err)
		}
		if _, err := t.exec(`UPDATE memories SET search_id = ? WHERE rowid = ?`, id, m.rowid); err != nil {
			return fmt.Errorf("index memories: %w", err)
		}
	}
	return nil
}
