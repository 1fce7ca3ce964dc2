package store

import (
	"context"
	"errors"
	"fmt"

	"picobot/internal/chat"
)

// ToolTx is what a tool that changes the record may do: all of it happens with the
// tool's result or not at all.
type ToolTx struct {
	Session Session // where the turn is
	Inbound InboundMessage
	Job     *JobRun // the turn is this run of a job; nil = it is none
	Run     ToolRun // as it will be written; its ID names the effect's origin
	t       *tx
	sent    int // parts enqueued so far
}

// RunRecordTool runs a tool that changes the record and writes down its effect and
// its result in one transaction, once: a call that has a row already comes back as
// that row, and nothing is run.
//
// run may be called several times (each time as if for the first) while the record
// is locked, so it must be quick and change nothing but the record. A status other
// than completed undoes what it changed and keeps the result. err is why the tool
// failed, if it did: where that was SQLite's doing, everything is undone and tried
// again, because the model can do nothing about it.
//
// Fails with ErrTurnEnded when the turn is not running any more or is to be cancelled.
func (s *Store) RunRecordTool(ctx context.Context, r ToolRun, run func(*ToolTx) (status chat.ToolStatus, result string, err error)) (ToolRun, error) {
	var out ToolRun
	err := s.update(ctx, func(t *tx) error {
		turn, err := t.runningTurn(r.TurnID)
		if err != nil {
			return err
		}
		if out, err = toolRunAt(t, r.TurnID, r.Step, r.Position); !errors.Is(err, ErrNotFound) {
			return err
		}
		if turn.CancelRequestedAt != 0 {
			return fmt.Errorf("%w: turn %s is to be cancelled", ErrTurnEnded, turn.ID)
		}
		if out, err = t.runTool(turn, r, run); err != nil {
			return err
		}
		if err := t.progress(turn); err != nil {
			return err
		}
		return t.closeStep(turn, r.Step)
	})
	return out, err
}

func (t *tx) runTool(turn Turn, r ToolRun, run func(*ToolTx) (chat.ToolStatus, string, error)) (ToolRun, error) {
	var work TurnContext
	if err := work.head(t, turn.ID); err != nil {
		return r, err
	}
	r.ID = t.s.ids.New()
	if _, err := t.exec(`SAVEPOINT tool`); err != nil {
		return r, err
	}
	status, result, failure := run(&ToolTx{Session: work.Session, Inbound: work.Inbound, Job: work.Job, Run: r, t: t})
	if ofSQLite(failure) {
		return r, failure
	}
	if status != chat.ToolCompleted {
		if _, err := t.exec(`ROLLBACK TO tool`); err != nil {
			return r, err
		}
	}
	if _, err := t.exec(`RELEASE tool`); err != nil {
		return r, err
	}
	r.Status, r.Result = status, result
	return t.insertRun(r)
}
