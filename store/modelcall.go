package store

import (
	"context"
	"fmt"

	"picobot/internal/chat"
)

// ModelCall is one call of a model: what became of it and what it cost.
type ModelCall struct {
	// ID is made with NewID before the call is written, so that it is counted once
	// however often that is tried; "" = whoever writes it does so once.
	ID         string
	TurnID     string
	Step       int
	ModelIndex int // which of the agent's models: 0, or which fallback
	Attempt    int
	Model      string // names in the config
	Provider   string
	Error      string // the kind of failure, "" = it was answered
	Usage      chat.Usage
	DurationMS int64
	CreatedAt  int64 // when it began
	// Rows are those of the session that the request held, Stubs those of them that only
	// name where the whole is. Empty = not known.
	Rows  Seqs
	Stubs Seqs
}

// States of a model call.
const (
	CallCompleted = "completed"
	CallFailed    = "failed"
)

// Status says whether the call was answered.
func (c ModelCall) Status() string {
	if c.Error != "" {
		return CallFailed
	}
	return CallCompleted
}

// NewID returns an id for a row that is written later.
func (s *Store) NewID() string { return s.ids.New() }

// RecordCalls writes down calls of a turn that no answer is committed with: those that
// failed, and those whose answer came too late. turnID "" = they were made outside of any.
func (s *Store) RecordCalls(ctx context.Context, turnID string, calls []ModelCall) error {
	return s.update(ctx, func(t *tx) error {
		if turnID != "" {
			if _, err := turnByID(t, turnID); err != nil {
				return err
			}
		}
		return t.charge(turnID, calls)
	})
}

// charge writes calls down and adds what is new of them to their turn's tokens, which
// is no news for readers: a turn's usage is told at its end. A turn that has ended
// does not change any more; a call that comes later is in the table only.
func (t *tx) charge(turnID string, calls []ModelCall) error {
	spent, err := t.insertCalls(turnID, calls)
	if err != nil || turnID == "" || spent == (chat.Usage{}) {
		return err
	}
	_, err = t.exec(`UPDATE turns SET prompt_tokens = prompt_tokens + ?, completion_tokens = completion_tokens + ?,
		cached_tokens = cached_tokens + ?, reasoning_tokens = reasoning_tokens + ? WHERE id = ? AND finished_at IS NULL`,
		spent.PromptTokens, spent.CompletionTokens, spent.CachedTokens, spent.ReasoningTokens, turnID)
	return err
}

// insertCalls writes calls down, once, and returns what those cost that were not there.
func (t *tx) insertCalls(turnID string, calls []ModelCall) (spent chat.Usage, err error) {
	for _, c := range calls {
		if c.ID == "" {
			c.ID = t.s.ids.New()
		}
		u := c.Usage
		n, err := t.exec(`INSERT INTO model_calls (id, turn_id, step, model_index, attempt, model, provider, status, error,
				prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, duration_ms, created_at, request_rows, request_stubs)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			c.ID, nullString(turnID), c.Step, c.ModelIndex, c.Attempt, c.Model, c.Provider, c.Status(), nullString(c.Error),
			u.PromptTokens, u.CompletionTokens, u.CachedTokens, u.ReasoningTokens, c.DurationMS, c.CreatedAt, nullString(c.Rows.String()), nullString(c.Stubs.String()))
		if err != nil {
			return spent, fmt.Errorf("record model call: %w", err)
		}
		if n > 0 {
			spent = spent.Add(u)
		}
	}
	return spent, nil
}

const modelCallColumns = `id, coalesce(turn_id, ''), step, model_index, attempt, model, provider, coalesce(error, ''),
	prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, duration_ms, created_at, coalesce(request_rows, ''), coalesce(request_stubs, '')`

func scanModelCall(r scanner) (ModelCall, error) {
	var c ModelCall
	u := &c.Usage
	var rows, stubs string
	err := r.Scan(&c.ID, &c.TurnID, &c.Step, &c.ModelIndex, &c.Attempt, &c.Model, &c.Provider, &c.Error,
		&u.PromptTokens, &u.CompletionTokens, &u.CachedTokens, &u.ReasoningTokens, &c.DurationMS, &c.CreatedAt, &rows, &stubs)
	if err != nil {
		return c, err
	}
	if c.Rows, err = ParseSeqs(rows); err != nil {
		return c, fmt.Errorf("model call %s: %w", c.ID, err)
	}
	if c.Stubs, err = ParseSeqs(stubs); err != nil {
		return c, fmt.Errorf("model call %s: %w", c.ID, err)
	}
	return c, nil
}

// ModelCalls lists the calls of a turn in the order in which they ended.
func (s *Store) ModelCalls(ctx context.Context, turnID string) ([]ModelCall, error) {
	var out []ModelCall
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+modelCallColumns+` FROM model_calls WHERE turn_id = ? ORDER BY rowid`, turnID)
		out, err = collect(rows, err, scanModelCall)
		return err
	})
	return out, err
}
