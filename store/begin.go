package store

import (
	"context"
	"errors"
	"fmt"

	"picobot/internal/chat"
)

// Begin says who begins a turn and with what prompt.
type Begin struct {
	SessionID   string
	WorkflowID  string
	RunID       string
	AgentPrompt string // the agent's prompt as it is now; "" = none
	// Personal leaves of the prompt only what the people of these scopes may be told; nil =
	// all of it is for everybody. It must be quick, and touch nothing.
	Personal func(prompt string, scopes []string) string
	// ReinjectEvery: after how many user turns a changed prompt is written again; 0 = never.
	ReinjectEvery int
}

// Position is where a turn stands, read from the record alone.
type Position struct {
	Turn Turn
	Step int        // the step of the next model call, or of the open calls
	Open []OpenCall // calls of Step without a final result; empty = call the model
	Job  *JobRun    // the turn is this run of a job; nil = it is none
	// NoPrompt: the session's active segment has no agent prompt.
	NoPrompt bool
	// Prepare: the turn waits, because something of its message is still to be fetched.
	Prepare bool
}

// OpenCall is a tool call that has no result yet.
type OpenCall struct {
	Position int
	Call     chat.ToolCall
}

// BeginTurn claims the session's next waiting turn, or again the one that is
// running, and says where it stands. It returns nil when nothing waits. A turn
// that begins for the first time gets its rows: the agent's prompt where it is
// due, what the chat was sent since its last turn, then the user's message.
func (s *Store) BeginTurn(ctx context.Context, b Begin) (*Position, error) {
	// Most sessions end with a begin that finds nothing: that must cost no write.
	var waiting bool
	err := s.view(ctx, func(q querier) (err error) {
		waiting, err = unfinished(q, b.SessionID)
		return err
	})
	if err != nil || !waiting {
		return nil, err
	}
	var out *Position
	err = s.update(ctx, func(t *tx) error {
		turn, err := scanTurn(t.row(`SELECT `+turnColumns+` FROM turns WHERE session_id = ? AND status IN ('queued', 'running')
			ORDER BY status = 'running' DESC, queued_at, rowid LIMIT 1`, b.SessionID))
		if errors.Is(err, ErrNotFound) {
			out = nil
			return nil
		}
		if err != nil {
			return err
		}
		job, err := jobOfTurn(t, turn.ID)
		if err != nil {
			return fmt.Errorf("begin turn %s: %w", turn.ID, err)
		}
		var prepare bool
		if turn.Status == chat.TurnQueued {
			if err := t.row(`SELECT unprepared FROM inbound_messages WHERE id = ?`, turn.InboundID).Scan(&prepare); err != nil {
				return fmt.Errorf("begin turn %s: %w", turn.ID, err)
			}
			if !prepare {
				if err := t.openTurn(turn, job, b); err != nil {
					return err
				}
			}
		}
		if _, err := t.exec(`UPDATE turns SET claims = claims + 1, workflow_id = ?, run_id = ?, progress_at = ?, rev = `+nextRev+` WHERE id = ?`,
			b.WorkflowID, b.RunID, t.at, turn.ID); err != nil {
			return fmt.Errorf("begin turn %s: %w", turn.ID, err)
		}
		t.touch(turn.SessionID)
		p, err := position(t, turn.ID)
		if err != nil {
			return err
		}
		p.Job, p.Prepare = job, prepare
		_, err = newestPrompt(t, turn.SessionID)
		if p.NoPrompt = errors.Is(err, ErrNotFound); p.NoPrompt {
			err = nil
		}
		out = &p
		return err
	})
	return out, err
}

// openTurn writes the rows a turn starts with. job is the run that the turn is, if it is one.
func (t *tx) openTurn(turn Turn, job *JobRun, b Begin) error {
	m, err := inboundByID(t, turn.InboundID)
	if err != nil {
		return fmt.Errorf("begin turn %s: %w", turn.ID, err)
	}
	if err := t.injectPrompt(b, m); err != nil {
		return fmt.Errorf("begin turn %s: %w", turn.ID, err)
	}
	sess, err := sessionByID(t, turn.SessionID)
	if err != nil {
		return fmt.Errorf("begin turn %s: %w", turn.ID, err)
	}
	if job != nil {
		if err := t.injectScheduled(turn.SessionID, job.Job.Payload.SystemPrompt); err != nil {
			return fmt.Errorf("begin turn %s: %w", turn.ID, err)
		}
	}
	if job == nil || sess.Active { // what the chat was sent is news to its people, not to a dialog of a job's own
		if err := t.noteOutbound(sess); err != nil {
			return fmt.Errorf("begin turn %s: %w", turn.ID, err)
		}
	}
	if _, err := t.append(Row{SessionID: turn.SessionID, TurnID: turn.ID,
		Message: chat.Message{Role: chat.RoleUser, Content: m.Content, Media: m.Media}}); err != nil {
		return err
	}
	agent := sess.Agent
	if job != nil && job.Job.Payload.Agent != "" {
		agent = job.Job.Payload.Agent
	}
	if _, err := t.exec(`UPDATE turns SET status = 'running', agent = ?, started_at = ? WHERE id = ?`, agent, t.at, turn.ID); err != nil {
		return fmt.Errorf("begin turn %s: %w", turn.ID, err)
	}
	_, err = t.exec(`UPDATE inbound_messages SET status = 'dispatched' WHERE id = ? AND status = 'received'`, m.ID)
	return err
}

// injectScheduled writes a job's system prompt, unless the newest one of the active
// segment says the same.
func (t *tx) injectScheduled(sessionID, text string) error {
	if text == "" {
		return nil
	}
	newest, err := newestMarked(t, sessionID, chat.MarkerScheduledSystemPrompt)
	if err == nil && newest.Content == text || err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	_, err = t.append(Row{SessionID: sessionID,
		Message: chat.Message{Role: chat.RoleSystem, Content: text, Marker: chat.MarkerScheduledSystemPrompt}})
	return err
}

// injectPrompt writes the agent's prompt as a system row: when the active segment
// has none, and again after ReinjectEvery user turns if it has changed since.
func (t *tx) injectPrompt(b Begin, m InboundMessage) error {
	if b.AgentPrompt == "" {
		return nil
	}
	newest, err := newestPrompt(t, b.SessionID)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return err
	case newest.Content == b.AgentPrompt || b.ReinjectEvery <= 0:
		return nil
	default:
		var turns int
		if err := t.row(`SELECT count(*) FROM (SELECT 1 FROM messages WHERE session_id = ? AND seq > ? AND role = 'user' AND origin_seq IS NULL LIMIT ?)`,
			b.SessionID, newest.saidAt(), b.ReinjectEvery).Scan(&turns); err != nil {
			return err
		}
		if turns < b.ReinjectEvery {
			return nil
		}
	}
	prompt, err := t.personal(b, m)
	if err != nil || prompt == "" || prompt == newest.Content { // what has changed may be none of this chat's business
		return err
	}
	_, err = t.append(Row{SessionID: b.SessionID,
		Message: chat.Message{Role: chat.RoleSystem, Content: prompt, Marker: chat.MarkerAgentPrompt}})
	return err
}

// newestPrompt returns the newest agent prompt of the active segment, or ErrNotFound.
func newestPrompt(q querier, sessionID string) (Row, error) {
	return newestMarked(q, sessionID, chat.MarkerAgentPrompt)
}

// newestMarked returns the newest row with a marker of the active segment, or ErrNotFound.
func newestMarked(q querier, sessionID string, marker chat.Marker) (Row, error) {
	return scanRow(q.row(`SELECT `+rowColumns+` FROM messages
		WHERE session_id = ?1 AND marker = ?2 AND seq > (SELECT reset_cutoff_seq FROM sessions WHERE id = ?1)
		ORDER BY seq DESC LIMIT 1`, sessionID, marker))
}

// position derives where a running turn stands from its rows.
func position(q querier, turnID string) (Position, error) {
	turn, err := turnByID(q, turnID)
	if err != nil {
		return Position{}, err
	}
	p := Position{Turn: turn, Step: 1}
	last, err := lastAnswer(q, turnID)
	if errors.Is(err, ErrNotFound) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.Step = last.Step
	runs, err := stepRuns(q, turnID, last.Step)
	if err != nil {
		return p, err
	}
	for i, c := range last.ToolCalls {
		if r, ok := runs[i]; !ok || !r.Status.Final() {
			p.Open = append(p.Open, OpenCall{Position: i, Call: c})
		}
	}
	if len(p.Open) == 0 {
		p.Step++
	}
	return p, nil
}

// lastAnswer returns the turn's newest assistant row.
func lastAnswer(q querier, turnID string) (Row, error) {
	return scanRow(q.row(`SELECT `+rowColumns+` FROM messages
		WHERE turn_id = ? AND role = 'assistant' AND origin_seq IS NULL AND marker IS NULL ORDER BY step DESC LIMIT 1`, turnID))
}

// answerOf returns the assistant row of one step.
func answerOf(q querier, turnID string, step int) (Row, error) {
	return scanRow(q.row(`SELECT `+rowColumns+` FROM messages
		WHERE turn_id = ? AND step = ? AND role = 'assistant' AND origin_seq IS NULL AND marker IS NULL`, turnID, step))
}
