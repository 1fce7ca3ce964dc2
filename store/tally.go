package store

import (
	"context"
	"errors"

	"picobot/internal/chat"
)

// Tally reads what has ended in the record, each thing once, also what was erased
// since: its figures stay under the numbers it had, so that nothing is counted twice and
// nobody counts less after a restart than before. Whoever counts from it
// counts what the record says, whichever process did it and however often it was
// tried, and the work itself knows nothing of being counted. For one goroutine at a
// time.
type Tally struct {
	s     *Store
	rev   int64   // of the newest turn that was read
	call  int64   // rowid of the newest model call that was read
	run   int64   // rowid of the newest tool run that was read
	going []int64 // rowids of tool runs that had no result when they were read
}

// Tally returns a Tally that begins with the oldest there is.
func (s *Store) Tally() *Tally { return &Tally{s: s} }

// Ended is what has ended since the last look.
type Ended struct {
	Turns []EndedTurn
	Calls []EndedCall
	Runs  []EndedRun
}

// Empty reports that nothing has.
func (e Ended) Empty() bool { return len(e.Turns)+len(e.Calls)+len(e.Runs) == 0 }

// EndedTurn is a turn in its final state. Times are in ms; a turn that never began
// has only waited.
type EndedTurn struct {
	Channel string
	Status  chat.TurnStatus
	Began   bool
	Waited  int64 // until it began, or until it was withdrawn
	Took    int64 // from its beginning to its end
}

// EndedCall is a model call, answered or failed.
type EndedCall struct {
	Model, Provider string
	Error           string // the kind of failure, "" = none
	Usage           chat.Usage
	Took            int64 // ms
}

// EndedRun is a tool run in its final state.
type EndedRun struct {
	Tool   string
	Status chat.ToolStatus
	Took   int64 // ms
}

// tallyPage bounds what one look reads of each kind: a long record is read in several.
const tallyPage = 5000

// Next returns what has ended since the call before, oldest first, and nothing once
// there is nothing more. After an error the same is read again.
func (t *Tally) Next(ctx context.Context) (Ended, error) {
	next := *t
	var out Ended
	err := t.s.view(ctx, func(q querier) error {
		return errors.Join(next.turns(q, &out), next.calls(q, &out), next.runs(q, &out))
	})
	if err != nil {
		return Ended{}, err
	}
	*t = next
	return out, nil
}

// How long a turn has waited and taken, and a tool run.
const (
	turnWaited = `max(0, coalesce(started_at, finished_at) - created_at)`
	turnTook   = `max(0, finished_at - coalesce(started_at, finished_at))`
	runTook    = `max(0, coalesce(finished_at, started_at) - started_at)`
)

// turns go by rev: the change that ends a turn is its last.
func (t *Tally) turns(q querier, out *Ended) error {
	rows, err := q.rows(`SELECT rev, substr(session_id, 1, instr(session_id, ':') - 1), status, started_at IS NOT NULL, `+turnWaited+`, `+turnTook+`
		FROM turns WHERE rev > ?1 AND status IN ('completed', 'failed', 'cancelled')
		UNION ALL SELECT rev, channel, status, began, waited_ms, took_ms FROM tally_turns WHERE rev > ?1
		ORDER BY 1 LIMIT ?2`, t.rev, tallyPage)
	out.Turns, err = collect(rows, err, func(r scanner) (e EndedTurn, err error) {
		return e, r.Scan(&t.rev, &e.Channel, &e.Status, &e.Began, &e.Waited, &e.Took)
	})
	return err
}

func (t *Tally) calls(q querier, out *Ended) error {
	rows, err := q.rows(`SELECT rowid, model, provider, coalesce(error, ''), prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, duration_ms
		FROM model_calls WHERE rowid > ?1
		UNION ALL SELECT id, model, provider, error, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, duration_ms FROM tally_calls WHERE id > ?1
		ORDER BY 1 LIMIT ?2`, t.call, tallyPage)
	out.Calls, err = collect(rows, err, func(r scanner) (e EndedCall, err error) {
		u := &e.Usage
		return e, r.Scan(&t.call, &e.Model, &e.Provider, &e.Error, &u.PromptTokens, &u.CompletionTokens, &u.CachedTokens, &u.ReasoningTokens, &e.Took)
	})
	return err
}

const (
	runsAfter = `SELECT rowid, name, status, ` + runTook + ` FROM tool_runs WHERE rowid > ?1
		UNION ALL SELECT id, name, status, took_ms FROM tally_runs WHERE id > ?1 ORDER BY 1 LIMIT ?2`
	runAt = `SELECT rowid, name, status, ` + runTook + ` FROM tool_runs WHERE rowid = ?1
		UNION ALL SELECT id, name, status, took_ms FROM tally_runs WHERE id = ?1`
)

// runs are written when they are claimed and get their result later: those without
// one are looked at again until they have it.
func (t *Tally) runs(q querier, out *Ended) error {
	seen := t.going
	t.going = nil
	scan := func(r scanner) error {
		var e EndedRun
		var row int64
		if err := r.Scan(&row, &e.Tool, &e.Status, &e.Took); err != nil {
			return err
		}
		t.run = max(t.run, row)
		if e.Status.Final() {
			out.Runs = append(out.Runs, e)
		} else {
			t.going = append(t.going, row)
		}
		return nil
	}
	for _, row := range seen {
		if err := found(scan(q.row(runAt, row))); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	rows, err := q.rows(runsAfter, t.run, tallyPage)
	_, err = collect(rows, err, func(r scanner) (struct{}, error) { return struct{}{}, scan(r) })
	return err
}

// Backlog is what waits.
type Backlog struct {
	QueuedTurns   int64 // accepted and not begun
	PendingOutbox int64 // messages to be sent
}

// Backlog counts what waits.
func (s *Store) Backlog(ctx context.Context) (Backlog, error) {
	var b Backlog
	err := s.view(ctx, func(q querier) error {
		// Each in the words of the index that answers it.
		return q.row(`SELECT
			(SELECT count(*) FROM turns WHERE status IN ('queued', 'running') AND status = 'queued'),
			(SELECT count(*) FROM outbound_messages WHERE status = 'pending')`).Scan(&b.QueuedTurns, &b.PendingOutbox)
	})
	return b, err
}
