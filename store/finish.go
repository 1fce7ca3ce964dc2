package store

import (
	"context"
	"errors"

	"picobot/internal/chat"
)

// Finish ends a turn that did not end with an answer.
type Finish struct {
	TurnID string
	Status chat.TurnStatus // failed or cancelled
	Code   string          // short and stable, for programs; "" when cancelled
	Text   string          // one sentence for people, also the turn's last row when it failed
	// NotRun and Unknown are the results of calls that never started, and of calls
	// that were claimed but whose outcome nobody knows.
	NotRun  string
	Unknown string
	Deliver bool // the text must be sent to the chat (an outbox row is written with it)
}

// Finished says how a turn ended.
type Finished struct {
	Turn     Turn
	Outbound []string // ids of the turn's outbox rows
}

// FinishTurn ends a running turn: every open call gets a result, so that the
// rows stay a valid request, and a failed turn an assistant row that says why. A
// turn that has ended already stays as it is.
func (s *Store) FinishTurn(ctx context.Context, f Finish) (Finished, error) {
	var out Finished
	err := s.update(ctx, func(t *tx) error {
		turn, err := turnByID(t, f.TurnID)
		if err != nil {
			return err
		}
		if !turn.Status.Final() {
			if err := t.finish(turn, f); err != nil {
				return err
			}
			if turn, err = turnByID(t, f.TurnID); err != nil {
				return err
			}
		}
		out.Turn = turn
		out.Outbound, err = outboundOf(t, turn.ID)
		return err
	})
	return out, err
}

func (t *tx) finish(turn Turn, f Finish) error {
	status, code, text := f.Status, f.Code, f.Text
	if turn.CancelRequestedAt != 0 {
		// Once a cancel was asked for, any error ends the turn as cancelled.
		status, code, text = chat.TurnCancelled, "", ""
	}
	if turn.Status == chat.TurnRunning {
		step, err := t.closeOpenCalls(turn, f)
		if err != nil {
			return err
		}
		if status == chat.TurnFailed {
			if _, err := t.append(Row{SessionID: turn.SessionID, TurnID: turn.ID, Step: step + 1,
				Message: chat.Message{Role: chat.RoleAssistant, Content: text, Marker: chat.MarkerError}}); err != nil {
				return err
			}
			if err := t.replyOf(turn, text, f.Deliver); err != nil {
				return err
			}
		}
	}
	return t.endTurn(turn, status, code, text)
}

// closeOpenCalls gives every call of the last step that has none a result, and
// returns the last step.
func (t *tx) closeOpenCalls(turn Turn, f Finish) (int, error) {
	last, err := lastAnswer(t, turn.ID)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	runs, err := stepRuns(t, turn.ID, last.Step)
	if err != nil {
		return 0, err
	}
	open := false
	for i, c := range last.ToolCalls {
		r, ok := runs[i]
		if ok && r.Status.Final() {
			continue
		}
		open = true
		if !ok {
			r, err = t.insertRun(ToolRun{TurnID: turn.ID, Step: last.Step, Position: i, CallID: c.ID, Name: c.Function.Name,
				Effect: "none", Status: chat.ToolFailed, Result: f.NotRun})
		} else {
			r, err = t.endRun(r, chat.ToolUnknown, f.Unknown)
		}
		if err != nil {
			return 0, err
		}
		runs[i] = r
	}
	if !open {
		return last.Step, nil
	}
	for i, c := range last.ToolCalls {
		if err := t.appendToolRow(turn, last.Step, c, runs[i].Result); err != nil {
			return 0, err
		}
	}
	return last.Step, nil
}
