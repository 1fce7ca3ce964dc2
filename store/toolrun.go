package store

import (
	"context"
	"errors"
	"fmt"

	"picobot/internal/chat"
)

// ToolRun is one call of a tool within a step.
type ToolRun struct {
	ID         string
	TurnID     string
	Step       int
	Position   int
	CallID     string
	Name       string
	Effect     string
	Status     chat.ToolStatus
	Result     string
	StartedAt  int64
	FinishedAt int64
}

const toolRunColumns = `id, turn_id, step, position, call_id, name, effect, status, coalesce(result, ''), started_at, coalesce(finished_at, 0)`

func scanToolRun(r scanner) (ToolRun, error) {
	var t ToolRun
	err := r.Scan(&t.ID, &t.TurnID, &t.Step, &t.Position, &t.CallID, &t.Name, &t.Effect, &t.Status, &t.Result, &t.StartedAt, &t.FinishedAt)
	return t, found(err)
}

func toolRunAt(q querier, turnID string, step, pos int) (ToolRun, error) {
	return scanToolRun(q.row(`SELECT `+toolRunColumns+` FROM tool_runs WHERE turn_id = ? AND step = ? AND position = ?`, turnID, step, pos))
}

// stepRuns returns a step's runs by position.
func stepRuns(q querier, turnID string, step int) (map[int]ToolRun, error) {
	rows, err := q.rows(`SELECT `+toolRunColumns+` FROM tool_runs WHERE turn_id = ? AND step = ? ORDER BY position`, turnID, step)
	list, err := collect(rows, err, scanToolRun)
	out := make(map[int]ToolRun, len(list))
	for _, r := range list {
		out[r.Position] = r
	}
	return out, err
}

// ClaimedRuns lists the turn's runs that were claimed and have no result.
func (s *Store) ClaimedRuns(ctx context.Context, turnID string) ([]ToolRun, error) {
	var out []ToolRun
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+toolRunColumns+` FROM tool_runs WHERE turn_id = ? AND status = 'claimed' ORDER BY step, position`, turnID)
		out, err = collect(rows, err, scanToolRun)
		return err
	})
	return out, err
}

// ToolWork is a tool call as the record knows it, before it is run.
type ToolWork struct {
	TurnContext // without Rows
	Call        chat.ToolCall
	Run         *ToolRun // nil = never claimed
}

// ToolWork returns what RunTool needs to know of one call. Fails with ErrNotFound
// when the step has no such call.
func (s *Store) ToolWork(ctx context.Context, turnID string, step, pos int) (ToolWork, error) {
	var w ToolWork
	err := s.view(ctx, func(q querier) error {
		if err := w.head(q, turnID); err != nil {
			return err
		}
		answer, err := answerOf(q, turnID, step)
		if err != nil {
			return err
		}
		if pos < 0 || pos >= len(answer.ToolCalls) {
			return fmt.Errorf("turn %s step %d has no call %d: %w", turnID, step, pos, ErrNotFound)
		}
		w.Call = answer.ToolCalls[pos]
		run, err := toolRunAt(q, turnID, step, pos)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		w.Run = &run
		return err
	})
	return w, err
}

// ClaimTool writes down that a call is about to act. claimed is false when it had
// been claimed before, by an attempt whose fate is unknown; run is then that
// claim. Fails with ErrTurnEnded when the turn is not running any more or is to
// be cancelled: nothing new may start then.
func (s *Store) ClaimTool(ctx context.Context, r ToolRun) (run ToolRun, claimed bool, err error) {
	err = s.update(ctx, func(t *tx) error {
		turn, err := t.runningTurn(r.TurnID)
		if err != nil {
			return err
		}
		if run, err = toolRunAt(t, r.TurnID, r.Step, r.Position); !errors.Is(err, ErrNotFound) {
			claimed = false
			return err
		}
		if turn.CancelRequestedAt != 0 {
			return fmt.Errorf("%w: turn %s is to be cancelled", ErrTurnEnded, turn.ID)
		}
		r.Status, r.Result = chat.ToolClaimed, ""
		run, err = t.insertRun(r)
		claimed = true
		t.touch(turn.SessionID)
		return err
	})
	return run, claimed, err
}

func (t *tx) insertRun(r ToolRun) (ToolRun, error) {
	if r.ID == "" {
		r.ID = t.s.ids.New()
	}
	if r.StartedAt == 0 {
		r.StartedAt = t.at
	}
	if r.Status.Final() {
		r.FinishedAt = t.at
	}
	_, err := t.exec(`INSERT INTO tool_runs (id, turn_id, step, position, call_id, name, effect, status, result, started_at, finished_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.TurnID, r.Step, r.Position, r.CallID, r.Name, r.Effect, r.Status, nullString(r.Result), r.StartedAt, nullInt(r.FinishedAt))
	if err != nil {
		return r, fmt.Errorf("record tool run: %w", err)
	}
	return r, nil
}

// CommitTool writes down the result of a call, once: a call that has a final
// result keeps it. The commit that completes the step appends the tool rows in
// call order. Fails with ErrTurnEnded when the turn is not running any more.
func (s *Store) CommitTool(ctx context.Context, r ToolRun) (ToolRun, error) {
	var out ToolRun
	err := s.update(ctx, func(t *tx) error {
		turn, err := t.runningTurn(r.TurnID)
		if err != nil {
			return err
		}
		prior, err := toolRunAt(t, r.TurnID, r.Step, r.Position)
		switch {
		case errors.Is(err, ErrNotFound):
			if out, err = t.insertRun(r); err != nil {
				return err
			}
		case err != nil:
			return err
		case prior.Status.Final():
			out = prior
			return nil
		default:
			if out, err = t.endRun(prior, r.Status, r.Result); err != nil {
				return err
			}
		}
		if err := t.progress(turn); err != nil {
			return err
		}
		return t.closeStep(turn, r.Step)
	})
	return out, err
}

func (t *tx) endRun(r ToolRun, status chat.ToolStatus, result string) (ToolRun, error) {
	r.Status, r.Result, r.FinishedAt = status, result, t.at
	if _, err := t.exec(`UPDATE tool_runs SET status = ?, result = ?, finished_at = ? WHERE id = ?`, r.Status, r.Result, r.FinishedAt, r.ID); err != nil {
		return r, fmt.Errorf("record tool run: %w", err)
	}
	return r, nil
}

// closeStep appends the tool rows of a step once every call has its result.
func (t *tx) closeStep(turn Turn, step int) error {
	answer, err := answerOf(t, turn.ID, step)
	if err != nil {
		return err
	}
	runs, err := stepRuns(t, turn.ID, step)
	if err != nil {
		return err
	}
	for i := range answer.ToolCalls {
		if r, ok := runs[i]; !ok || !r.Status.Final() {
			return nil
		}
	}
	for i, c := range answer.ToolCalls {
		if err := t.appendToolRow(turn, step, c, runs[i].Result); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) appendToolRow(turn Turn, step int, c chat.ToolCall, result string) error {
	_, err := t.append(Row{SessionID: turn.SessionID, TurnID: turn.ID, Step: step, Message: chat.Message{
		Role: chat.RoleTool, Content: result, ToolCallID: c.ID, ToolName: c.Function.Name}})
	return err
}

// ToolLine is a tool call as it is shown while a turn runs.
type ToolLine struct {
	Name      string
	Arguments string
	Status    chat.ToolStatus // "" = it waits
}

// ToolLines lists the calls of a turn's newest steps, oldest first, at most most.
func (s *Store) ToolLines(ctx context.Context, turnID string, most int) ([]ToolLine, error) {
	var out []ToolLine
	err := s.view(ctx, func(q querier) error {
		out = nil
		last, err := lastAnswer(q, turnID)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		for step := last.Step; step > 0 && len(out) < most; step-- {
			row, err := answerOf(q, turnID, step)
			if err != nil {
				return err
			}
			runs, err := stepRuns(q, turnID, step)
			if err != nil {
				return err
			}
			var lines []ToolLine
			for i, c := range row.ToolCalls {
				lines = append(lines, ToolLine{Name: c.Function.Name, Arguments: chat.RawArguments(c.Function.Arguments), Status: runs[i].Status})
			}
			out = append(lines, out...)
		}
		out = out[max(0, len(out)-most):]
		return nil
	})
	return out, err
}
