package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"picobot/internal/chat"
	"picobot/internal/text"
)

// Turn is one inbound message and all that is done to answer it.
type Turn struct {
	ID                string
	SessionID         string
	InboundID         string
	Status            chat.TurnStatus
	Agent             string     // its agent since it began, whatever becomes of the session's; "" = not begun
	Model             string     // name in the config of the model that answered last
	Steps             int        // model calls made
	Usage             chat.Usage // of all its model calls
	Error             string     // for people; "" unless failed
	ErrorCode         string
	CancelRequestedAt int64
	WorkflowID        string
	RunID             string
	CreatedAt         int64
	StartedAt         int64
	FinishedAt        int64
	Claims            int // how often begun since the last progress
	Rev               int64
}

// nextRev numbers a change of a turn. Writers are one at a time, so max+1 is never given
// twice, also when the turn that had the greatest was erased.
const nextRev = `(SELECT max(coalesce((SELECT max(rev) FROM turns), 0), coalesce((SELECT max(rev) FROM tally_turns), 0)) + 1)`

const turnColumns = `id, session_id, inbound_id, status, coalesce(agent, ''), model, steps, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, coalesce(error, ''), coalesce(error_code, ''),
	coalesce(cancel_requested_at, 0), coalesce(workflow_id, ''), coalesce(run_id, ''), created_at, coalesce(started_at, 0), coalesce(finished_at, 0), claims, rev`

func scanTurn(r scanner) (Turn, error) {
	var t Turn
	err := r.Scan(&t.ID, &t.SessionID, &t.InboundID, &t.Status, &t.Agent, &t.Model, &t.Steps, &t.Usage.PromptTokens, &t.Usage.CompletionTokens, &t.Usage.CachedTokens, &t.Usage.ReasoningTokens, &t.Error, &t.ErrorCode,
		&t.CancelRequestedAt, &t.WorkflowID, &t.RunID, &t.CreatedAt, &t.StartedAt, &t.FinishedAt, &t.Claims, &t.Rev)
	return t, found(err)
}

func turnByID(q querier, id string) (Turn, error) {
	return scanTurn(q.row(`SELECT `+turnColumns+` FROM turns WHERE id = ?`, id))
}

// Turn returns the turn with this id, or ErrNotFound.
func (s *Store) Turn(ctx context.Context, id string) (Turn, error) {
	var out Turn
	err := s.view(ctx, func(q querier) (err error) {
		out, err = turnByID(q, id)
		return err
	})
	return out, err
}

// runningTurn is the fence: the turn, or ErrTurnEnded when it is not running any more.
func (t *tx) runningTurn(id string) (Turn, error) {
	turn, err := turnByID(t, id)
	if err == nil && turn.Status != chat.TurnRunning {
		err = fmt.Errorf("%w: turn %s is %s", ErrTurnEnded, id, turn.Status)
	}
	return turn, err
}

// progress records that a turn moved: readers see it, and its claims start anew.
func (t *tx) progress(turn Turn) error {
	_, err := t.exec(`UPDATE turns SET claims = 0, progress_at = ?, rev = `+nextRev+` WHERE id = ?`, t.at, turn.ID)
	t.touch(turn.SessionID)
	return err
}

// Forgive starts the count of a turn's claims anew: its process stopped of its own
// will, so the turn is not what takes processes down.
func (s *Store) Forgive(ctx context.Context, turnID string) error {
	return s.update(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE turns SET claims = 0 WHERE id = ? AND status = 'running'`, turnID)
		return err
	})
}

// Unfinished lists the sessions that have a queued or running turn, or an outbox row
// to send (a terminal's rows wait for somebody to connect and do not count), longest
// waiting first. With quietFor > 0 only those without progress for so long; progress
// in the future (the clock went back) counts as none.
func (s *Store) Unfinished(ctx context.Context, quietFor time.Duration) ([]string, error) {
	now, since := s.now().UnixMilli(), int64(math.MaxInt64)
	if quietFor > 0 {
		since = now - quietFor.Milliseconds()
	}
	var out []string
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT session_id FROM (
				SELECT session_id, progress_at, queued_at FROM turns WHERE status IN ('queued', 'running')
				UNION ALL
				SELECT session_id, created_at, created_at FROM outbound_messages
				WHERE status = 'pending' AND channel <> ?3 AND session_id IS NOT NULL)
			GROUP BY session_id HAVING max(progress_at) <= ?1 OR max(progress_at) > ?2
			ORDER BY min(queued_at)`, since, now, chat.ChannelCLI)
		out, err = collect(rows, err, scanOne[string])
		return err
	})
	return out, err
}

// Cancelled says what a cancel request reached.
type Cancelled struct {
	Turn    Turn
	Running bool // the turn was running: whoever runs it must still be told
}

// Cancel asks for a turn to stop: the one named, else the session's running one,
// else its oldest waiting one. A waiting turn ends at once and leaves no row in the
// conversation; a running one is marked and ended by whoever runs it. It fails
// with ErrNotFound when there is nothing to stop (a named turn that has ended
// included).
func (s *Store) Cancel(ctx context.Context, sessionID, turnID string) (Cancelled, error) {
	var out Cancelled
	err := s.update(ctx, func(t *tx) (err error) {
		out, err = t.cancel(sessionID, turnID)
		return err
	})
	return out, err
}

func (t *tx) cancel(sessionID, turnID string) (Cancelled, error) {
	turn, err := scanTurn(t.row(`SELECT `+turnColumns+` FROM turns
		WHERE session_id = ? AND status IN ('queued', 'running') AND (?2 = '' OR id = ?2)
		ORDER BY status = 'running' DESC, queued_at, rowid LIMIT 1`, sessionID, turnID))
	if err != nil {
		return Cancelled{}, err
	}
	out := Cancelled{Running: turn.Status == chat.TurnRunning}
	if out.Running {
		if _, err := t.exec(`UPDATE turns SET cancel_requested_at = coalesce(cancel_requested_at, ?), rev = `+nextRev+` WHERE id = ?`, t.at, turn.ID); err != nil {
			return Cancelled{}, err
		}
		t.touch(turn.SessionID)
	} else if err := t.endTurn(turn, chat.TurnCancelled, "", ""); err != nil {
		return Cancelled{}, err
	}
	out.Turn, err = turnByID(t, turn.ID)
	return out, err
}

// CancelRequested reports whether the turn should stop: a cancel was asked for,
// or it is not running any more.
func (s *Store) CancelRequested(ctx context.Context, turnID string) (bool, error) {
	turn, err := s.Turn(ctx, turnID)
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	return turn.CancelRequestedAt != 0 || turn.Status != chat.TurnRunning, err
}

// CancelledAmong lists those of the turns that were cancelled, or are to be as soon as their
// work has stopped.
func (s *Store) CancelledAmong(ctx context.Context, turnIDs []string) ([]string, error) {
	ids, err := json.Marshal(turnIDs)
	if err != nil {
		return nil, fmt.Errorf("list cancelled turns: %w", err)
	}
	var out []string
	err = s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT id FROM turns WHERE id IN (SELECT value FROM json_each(?))
			AND (status = 'cancelled' OR status = 'running' AND cancel_requested_at IS NOT NULL)`, string(ids))
		out, err = collect(rows, err, scanOne[string])
		return err
	})
	return out, err
}

// endTurn ends a turn and its inbound message.
func (t *tx) endTurn(turn Turn, status chat.TurnStatus, code, reason string) error {
	cancelAt := turn.CancelRequestedAt
	if status == chat.TurnCancelled && cancelAt == 0 {
		cancelAt = t.at
	}
	if _, err := t.exec(`UPDATE turns SET status = ?, error_code = ?, error = ?, cancel_requested_at = ?, finished_at = ?, progress_at = ?, rev = `+nextRev+` WHERE id = ?`,
		status, nullString(code), nullString(reason), nullInt(cancelAt), t.at, t.at, turn.ID); err != nil {
		return fmt.Errorf("end turn %s: %w", turn.ID, err)
	}
	inbound := map[chat.TurnStatus]string{chat.TurnCompleted: "done", chat.TurnFailed: "failed", chat.TurnCancelled: "cancelled"}[status]
	if _, err := t.exec(`UPDATE inbound_messages SET status = ?, finished_at = ? WHERE id = ?`, inbound, t.at, turn.InboundID); err != nil {
		return fmt.Errorf("end turn %s: %w", turn.ID, err)
	}
	t.touch(turn.SessionID)
	run, why := RunFailed, reason
	switch status {
	case chat.TurnCompleted:
		run = RunCompleted
	case chat.TurnCancelled:
		why = t.say(text.JobStopped{})
	}
	return t.endRunOf(turn.ID, run, why)
}
