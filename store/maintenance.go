package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"picobot/internal/chat"
	"picobot/internal/memory"
)

// Maintenance is one run of memory maintenance.
type Maintenance struct {
	ID         string // of its first workflow run
	Scope      string // "" = all
	Status     string // running | completed | failed
	Scopes     int    // people whose memories a model was asked about
	Changed    int    // of those: tidied
	Failed     int    // of those: nothing was changed, Error says why
	Merged     int    // memories that became part of others
	Deleted    int
	Conflicts  int // contradictions for people to decide
	Tokens     int64
	Error      string
	StartedAt  int64
	FinishedAt int64
}

// States of a run of maintenance.
const (
	MaintenanceRunning   = "running"
	MaintenanceCompleted = "completed"
	MaintenanceFailed    = "failed"
)

const maintenanceColumns = `id, scope_key, status, scopes, changed, failed, merged, deleted, conflicts, tokens, coalesce(error, ''), started_at, coalesce(finished_at, 0)`

func scanMaintenance(r scanner) (Maintenance, error) {
	var m Maintenance
	err := r.Scan(&m.ID, &m.Scope, &m.Status, &m.Scopes, &m.Changed, &m.Failed, &m.Merged, &m.Deleted, &m.Conflicts, &m.Tokens, &m.Error, &m.StartedAt, &m.FinishedAt)
	return m, found(err)
}

func maintenanceByID(q querier, id string) (Maintenance, error) {
	return scanMaintenance(q.row(`SELECT `+maintenanceColumns+` FROM memory_runs WHERE id = ?`, id))
}

// Maintenance returns a run of maintenance, or ErrNotFound.
func (s *Store) Maintenance(ctx context.Context, id string) (Maintenance, error) {
	var out Maintenance
	err := s.view(ctx, func(q querier) (err error) {
		out, err = maintenanceByID(q, id)
		return err
	})
	return out, err
}

// Maintenances lists runs of maintenance, the newest first, from behind a place on.
func (s *Store) Maintenances(ctx context.Context, after After, n int) ([]Maintenance, error) {
	var out []Maintenance
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+maintenanceColumns+` FROM memory_runs WHERE ?2 = '' OR (started_at, id) < (?1, ?2)
			ORDER BY started_at DESC, id DESC LIMIT ?3`, after.At, after.ID, limit(n))
		out, err = collect(rows, err, scanMaintenance)
		return err
	})
	return out, err
}

// NextMaintenance asks for the next person whose memories are to be looked at.
type NextMaintenance struct {
	Run   string // made when it is not there
	Scope string // only this one; "" = all
	After string // the scope that was the last
	// Again: also those whose plans for the memories as they are were refused before.
	Again bool
	// MaxTokens is what the run may spend.
	MaxTokens int64
}

// maxRefusals: plans in a row for the same memories that were refused. A model that
// could not do it so often is not asked again until something changes.
const maxRefusals = 3

// MaintenanceScope is a person whose memories have changed since they were looked at.
type MaintenanceScope struct {
	Scope string // "" = there is none
	Rev   int64
	Left  bool // there are some, but nothing may be spent on them any more
}

// NextMaintenance begins the run if it has not begun, and finds the next person. Who
// has no memories any more has no notes either, for which nobody need be asked.
func (s *Store) NextMaintenance(ctx context.Context, n NextMaintenance) (MaintenanceScope, error) {
	var out MaintenanceScope
	err := s.update(ctx, func(t *tx) error {
		out = MaintenanceScope{}
		if _, err := t.exec(`INSERT INTO memory_runs (id, scope_key, status, started_at) VALUES (?, ?, 'running', ?) ON CONFLICT DO NOTHING`, n.Run, n.Scope, t.at); err != nil {
			return fmt.Errorf("begin maintenance: %w", err)
		}
		if _, err := t.exec(`UPDATE memory_runs SET status = 'failed', error = coalesce(error || char(10), '') || 'it was given up, and another run took its place', finished_at = ?
			WHERE status = 'running' AND id <> ?`, t.at, n.Run); err != nil {
			return fmt.Errorf("begin maintenance: %w", err)
		}
		if _, err := t.exec(`UPDATE memory_scopes SET markdown = '', maintained_rev = rev WHERE rev <> maintained_rev AND NOT EXISTS (
			SELECT 1 FROM memories m WHERE m.scope_kind = memory_scopes.scope_kind AND m.scope_key = memory_scopes.scope_key)`); err != nil {
			return fmt.Errorf("begin maintenance: %w", err)
		}
		err := t.row(`SELECT scope_key, rev FROM memory_scopes WHERE scope_kind = ?1 AND scope_key > ?2 AND (?3 = '' OR scope_key = ?3)
			AND rev <> maintained_rev AND (?4 OR failed_rev <> rev OR failures < ?5) ORDER BY scope_key LIMIT 1`,
			memory.KindUser, n.After, n.Scope, n.Again, maxRefusals).Scan(&out.Scope, &out.Rev)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		run, err := maintenanceByID(t, n.Run)
		if err == nil && run.Tokens >= n.MaxTokens {
			out = MaintenanceScope{Left: true}
		}
		return err
	})
	return out, err
}

// MaintenanceWork is what a model is to be shown.
type MaintenanceWork struct {
	Rev     int64 // of the scope as it is; another one than was asked for = start again
	Planned bool  // the plan for this part is there already
	More    bool  // there are parts behind it, if it is planned
	// Memories of the part and, up to the limit, of those behind it.
	Memories []memory.Memory
	Notes    string
}

// MaintenanceWork returns what the plan for one part of a person's memories is made
// from: at most n of those behind the parts before it.
func (s *Store) MaintenanceWork(ctx context.Context, scope string, rev int64, part, n int) (MaintenanceWork, error) {
	var out MaintenanceWork
	err := s.view(ctx, func(q querier) error {
		row, err := scopeRow(q, scope)
		if err != nil {
			return err
		}
		if out = (MaintenanceWork{Rev: row.rev, Notes: row.markdown}); row.rev != rev {
			return nil
		}
		plans, err := plansOf(q, scope, rev)
		if err != nil {
			return err
		}
		if part < len(plans) {
			out.Planned, out.More = true, plans[part].more
			return nil
		}
		if part > len(plans) {
			return fmt.Errorf("part %d of %s cannot be planned before part %d", part, scope, len(plans))
		}
		f := memory.Filter{Scope: scope, Limit: n}
		for _, p := range plans {
			f.After = memory.Cursor{Scope: scope, Namespace: p.until.Namespace, Key: p.until.Key}
			if text := p.plan.Markdown(); text != "" {
				out.Notes = text
			}
		}
		out.Memories, err = memories(q, f)
		return err
	})
	return out, err
}

// MaintenancePlan is the plan for one part of a person's memories.
type MaintenancePlan struct {
	Run   string
	Scope string
	Rev   int64
	Part  int
	Plan  memory.Plan
	Until memory.Name // the last memory the model was shown
	More  bool        // there are more behind it
}

// SavePlan keeps a plan until it is carried out, once, and pays for it. A plan for
// memories that have changed meanwhile is paid for and dropped.
func (s *Store) SavePlan(ctx context.Context, p MaintenancePlan, calls []ModelCall) error {
	raw, err := json.Marshal(p.Plan)
	if err != nil {
		return fmt.Errorf("keep plan: %w", err)
	}
	return s.update(ctx, func(t *tx) error {
		if err := t.payMaintenance(p.Run, calls); err != nil {
			return err
		}
		row, err := scopeRow(t, p.Scope)
		if err != nil || row.rev != p.Rev {
			return err
		}
		_, err = t.exec(`INSERT INTO memory_plans (scope_kind, scope_key, rev, chunk, plan, until_namespace, until_key, more, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			memory.KindUser, p.Scope, p.Rev, p.Part, string(raw), p.Until.Namespace, p.Until.Key, p.More, t.at)
		return err
	})
}

// PayMaintenance pays for calls that led to no plan.
func (s *Store) PayMaintenance(ctx context.Context, run string, calls []ModelCall) error {
	return s.update(ctx, func(t *tx) error { return t.payMaintenance(run, calls) })
}

func (t *tx) payMaintenance(run string, calls []ModelCall) error {
	spent, err := t.insertCalls("", calls)
	if err != nil || spent == (chat.Usage{}) {
		return err
	}
	_, err = t.exec(`UPDATE memory_runs SET tokens = tokens + ? WHERE id = ?`, spent.PromptTokens+spent.CompletionTokens, run)
	return err
}

type scopeState struct {
	rev, planned int64
	markdown     string
}

func scopeRow(q querier, scope string) (s scopeState, err error) {
	err = q.row(`SELECT rev, planned_rev, markdown FROM memory_scopes WHERE scope_kind = ? AND scope_key = ?`, memory.KindUser, scope).Scan(&s.rev, &s.planned, &s.markdown)
	return s, found(err)
}

type planRow struct {
	plan  memory.Plan
	until memory.Name
	more  bool
}

// plansOf returns the plans for a scope's parts, in order.
func plansOf(q querier, scope string, rev int64) ([]planRow, error) {
	rows, err := q.rows(`SELECT plan, until_namespace, until_key, more FROM memory_plans WHERE scope_kind = ? AND scope_key = ? AND rev = ? ORDER BY chunk`,
		memory.KindUser, scope, rev)
	return collect(rows, err, func(r scanner) (p planRow, err error) {
		var raw string
		if err := r.Scan(&raw, &p.until.Namespace, &p.until.Key, &p.more); err != nil {
			return p, err
		}
		return p, json.Unmarshal([]byte(raw), &p.plan)
	})
}

// RunningMaintenance returns the run that has begun and not ended, nil when there is none.
func (s *Store) RunningMaintenance(ctx context.Context) (*Maintenance, error) {
	var out *Maintenance
	err := s.view(ctx, func(q querier) error {
		m, err := scanMaintenance(q.row(`SELECT ` + maintenanceColumns + ` FROM memory_runs WHERE status = 'running' ORDER BY started_at DESC LIMIT 1`))
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		out = &m
		return err
	})
	return out, err
}
