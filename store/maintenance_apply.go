package store

import (
	"context"
	"errors"
	"fmt"

	"picobot/internal/memory"
)

// MaintenanceOutcome says what became of a person's plans.
type MaintenanceOutcome struct {
	Applied bool
	Refused string // why the plans were refused; nothing was changed
	Rev     int64  // neither = the memories have changed, this is what they are now
}

// ApplyMaintenance carries out the plans for a person's memories, all of them or none,
// once. Plans that do not hold against what is there are refused: the run has failed
// for this person, and says why.
func (s *Store) ApplyMaintenance(ctx context.Context, run, scope string, rev int64) (MaintenanceOutcome, error) {
	var out MaintenanceOutcome
	err := s.update(ctx, func(t *tx) error {
		row, err := scopeRow(t, scope)
		if err != nil {
			return err
		}
		if row.planned == rev {
			out = MaintenanceOutcome{Applied: true} // by an attempt that did not live to say it
			return nil
		}
		out = MaintenanceOutcome{Rev: row.rev}
		plans, err := plansOf(t, scope, rev)
		if err != nil || row.rev != rev || len(plans) == 0 {
			return err
		}
		list := make([]memory.Plan, len(plans))
		for i, p := range plans {
			list[i] = p.plan
		}
		rows, err := t.rows(`SELECT namespace, memory_key FROM memories WHERE scope_kind = ? AND scope_key = ?`, memory.KindUser, scope)
		names, err := collect(rows, err, scanName)
		if err != nil {
			return err
		}
		tidy, refused := memory.Tidy(list, names)
		if refused != nil {
			out = MaintenanceOutcome{Refused: refused.Error(), Rev: rev}
			return t.failMaintenance(run, scope, rev, "the plan was refused: "+refused.Error())
		}
		out = MaintenanceOutcome{Applied: true}
		return t.tidy(run, scope, rev, tidy)
	})
	return out, err
}

func (t *tx) tidy(run, scope string, rev int64, do memory.Tidying) error {
	merged := 0
	for _, m := range do.Merges {
		merged += len(m.From)
		if err := t.mergeMemories(scope, m); err != nil {
			return err
		}
	}
	for _, n := range do.Deletes {
		if err := t.deleteMemory(scope, n); err != nil {
			return err
		}
	}
	// What this has changed itself is no reason to look again.
	if _, err := t.exec(`UPDATE memory_scopes SET maintained_rev = rev, planned_rev = ?, maintained_at = ?, failures = 0, error = NULL,
		markdown = CASE ?3 WHEN '' THEN markdown ELSE ?3 END WHERE scope_kind = ?4 AND scope_key = ?5`,
		rev, t.at, do.Markdown, memory.KindUser, scope); err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE memory_runs SET scopes = scopes + 1, changed = changed + ?, merged = merged + ?, deleted = deleted + ?, conflicts = conflicts + ? WHERE id = ?`,
		len(do.Merges)+len(do.Deletes) > 0, merged, len(do.Deletes), do.Conflicts, run); err != nil {
		return err
	}
	return t.dropPlans(scope)
}

// mergeMemories puts one memory in the place of others. It is as old as the oldest.
func (t *tx) mergeMemories(scope string, m memory.Merged) error {
	oldest := t.at
	for _, n := range append([]memory.Name{m.Into}, m.From...) {
		one, err := memoryNamed(t, scope, n)
		if errors.Is(err, ErrNotFound) && n == m.Into {
			continue
		}
		if err != nil {
			return err
		}
		oldest = min(oldest, one.CreatedAt)
	}
	for _, n := range m.From {
		if err := t.deleteMemory(scope, n); err != nil {
			return err
		}
	}
	if _, err := t.putMemory(scope, m.Into, m.Content, memory.Source{Type: memory.SourceMaintenance}); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE memories SET created_at = ? WHERE scope_kind = ? AND scope_key = ? AND namespace = ? AND memory_key = ?`,
		oldest, memory.KindUser, scope, m.Into.Namespace, m.Into.Key)
	return err
}

// FailMaintenance writes down that a person's memories could not be tidied, and why.
// Nothing of them has changed. A run fails once for a person, however often it is told.
func (s *Store) FailMaintenance(ctx context.Context, run, scope string, rev int64, why string) error {
	return s.update(ctx, func(t *tx) error { return t.failMaintenance(run, scope, rev, why) })
}

func (t *tx) failMaintenance(run, scope string, rev int64, why string) error {
	if err := t.dropPlans(scope); err != nil {
		return err
	}
	line := scope + ": " + why
	n, err := t.exec(`UPDATE memory_runs SET scopes = scopes + 1, failed = failed + 1, error = coalesce(error || char(10), '') || ?1
		WHERE id = ?2 AND status = 'running' AND instr(char(10) || coalesce(error, '') || char(10), char(10) || ?3 || ': ') = 0`, line, run, scope)
	if err != nil {
		return fmt.Errorf("record maintenance: %w", err)
	}
	if n == 0 {
		return nil
	}
	_, err = t.exec(`UPDATE memory_scopes SET failures = CASE failed_rev WHEN ?1 THEN failures + 1 ELSE 1 END, failed_rev = ?1, error = ?2
		WHERE scope_kind = ?3 AND scope_key = ?4`, rev, why, memory.KindUser, scope)
	return err
}

func (t *tx) dropPlans(scope string) error {
	_, err := t.exec(`DELETE FROM memory_plans WHERE scope_kind = ? AND scope_key = ?`, memory.KindUser, scope)
	return err
}

// EndMaintenance ends a run: as failed where why says so or it failed for somebody. A
// run that has ended stays as it is.
func (s *Store) EndMaintenance(ctx context.Context, run, why string) (Maintenance, error) {
	var out Maintenance
	err := s.update(ctx, func(t *tx) error {
		if _, err := t.exec(`UPDATE memory_runs SET status = CASE WHEN failed > 0 OR ?1 <> '' THEN 'failed' ELSE 'completed' END,
			error = CASE ?1 WHEN '' THEN error ELSE coalesce(error || char(10), '') || ?1 END, finished_at = ?2
			WHERE id = ?3 AND status = 'running'`, why, t.at, run); err != nil {
			return fmt.Errorf("end maintenance: %w", err)
		}
		var err error
		out, err = maintenanceByID(t, run)
		return err
	})
	return out, err
}

// MemoryNotes is what AGENT.md says of a person.
type MemoryNotes struct{ Scope, Markdown string }

// MemoryNotes lists the notes on all people, those of who was looked at last first.
func (s *Store) MemoryNotes(ctx context.Context) ([]MemoryNotes, error) {
	var out []MemoryNotes
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT scope_key, markdown FROM memory_scopes WHERE scope_kind = ? AND markdown <> '' ORDER BY maintained_at DESC, scope_key`, memory.KindUser)
		out, err = collect(rows, err, func(r scanner) (n MemoryNotes, err error) { return n, r.Scan(&n.Scope, &n.Markdown) })
		return err
	})
	return out, err
}
