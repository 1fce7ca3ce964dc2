package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"picobot/internal/chat"
)

// Answer is what a model said in one step.
type Answer struct {
	Message chat.Message // role assistant; without tool calls it is the turn's last row
	Model   string       // name in the config
	Calls   []ModelCall  // those it took, written with it
	// Deliver: the reply must be sent to the chat (an outbox row is written with it).
	Deliver bool
	// Estimate and Reported are the tokens of the request that this answers, as they
	// were estimated and as the provider reported them; 0 = unknown.
	Estimate, Reported int64
	// CompactionDue: with this answer the session has grown so large that it is to be compacted.
	CompactionDue bool
}

// Committed is a step as the record holds it after a commit.
type Committed struct {
	Answer   Row
	Turn     Turn
	Outbound []string // ids of the outbox rows of a turn that this answer ended
	Existing bool     // the step had been answered before; nothing was changed
}

// AnsweredStep returns the answer of a step if there is one, else ErrNotFound.
func (s *Store) AnsweredStep(ctx context.Context, turnID string, step int) (Committed, error) {
	out := Committed{Existing: true}
	err := s.view(ctx, func(q querier) error { return out.load(q, turnID, step) })
	return out, err
}

func (c *Committed) load(q querier, turnID string, step int) (err error) {
	if c.Answer, err = answerOf(q, turnID, step); err != nil {
		return err
	}
	if c.Turn, err = turnByID(q, turnID); err != nil {
		return err
	}
	c.Outbound, err = outboundOf(q, turnID)
	return err
}

// CommitAnswer appends the answer of a step, once: if the step has an answer
// already that one is returned and a is discarded. An answer without tool calls
// ends the turn in the same transaction: as completed, or as cancelled (and
// without the row) when a cancel had been asked for. Fails with ErrTurnEnded when
// the turn is not running any more.
func (s *Store) CommitAnswer(ctx context.Context, turnID string, step int, a Answer) (Committed, error) {
	var out Committed
	err := s.update(ctx, func(t *tx) error {
		out = Committed{Existing: true}
		err := out.load(t, turnID, step)
		if err == nil {
			return t.charge(turnID, a.Calls) // paid for all the same
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		out = Committed{}
		turn, err := t.runningTurn(turnID)
		if err != nil {
			return err
		}
		if turn.CancelRequestedAt != 0 {
			return fmt.Errorf("%w: turn %s is to be cancelled", ErrTurnEnded, turnID)
		}
		if _, err := t.append(Row{SessionID: turn.SessionID, TurnID: turnID, Step: step, Message: a.Message}); err != nil {
			return err
		}
		if _, err := t.exec(`UPDATE turns SET steps = steps + 1, model = ? WHERE id = ?`, a.Model, turnID); err != nil {
			return err
		}
		if err := t.charge(turnID, a.Calls); err != nil {
			return err
		}
		if err := t.requestSize(turn.SessionID, a); err != nil {
			return err
		}
		if a.CompactionDue {
			if err := t.compactionDue(turn.SessionID, DueSize); err != nil {
				return err
			}
		}
		if err := t.progress(turn); err != nil {
			return err
		}
		if len(a.Message.ToolCalls) == 0 {
			if err := t.replyOf(turn, a.Message.Content, a.Deliver); err != nil {
				return err
			}
			if err := t.endTurn(turn, chat.TurnCompleted, "", ""); err != nil {
				return err
			}
		}
		return out.load(t, turnID, step)
	})
	return out, err
}

// TurnContext is what a model call is built from: one snapshot of the record.
type TurnContext struct {
	Turn    Turn
	Session Session // its agent is the turn's: what it was when the turn began
	Inbound InboundMessage
	Job     *JobRun // the turn is this run of a job; nil = it is none
	Rows    []Row   // of the session's active segment, in order
	Cut     bool    // earlier turns of the segment are not among them
}

// TurnContext returns the rows a request of this turn is built from: those of the
// active segment, but of earlier turns no more than the newest that fit into
// limit's answer. A segment that nobody compacted may be of any length,
// and what no window holds need not be read.
func (s *Store) TurnContext(ctx context.Context, turnID string, limit func(Session) (maxBytes int)) (TurnContext, error) {
	var out TurnContext
	err := s.view(ctx, func(q querier) (err error) {
		if err = out.head(q, turnID); err != nil {
			return err
		}
		out.Rows, out.Cut, err = newestRows(q, out.Session, turnID, limit(out.Session))
		return err
	})
	return out, err
}

func (c *TurnContext) head(q querier, turnID string) (err error) {
	if c.Turn, err = turnByID(q, turnID); err != nil {
		return err
	}
	if c.Session, err = sessionByID(q, c.Turn.SessionID); err != nil {
		return err
	}
	c.Session.Agent = cmp.Or(c.Turn.Agent, c.Session.Agent)
	if c.Job, err = jobOfTurn(q, turnID); err != nil {
		return err
	}
	c.Inbound, err = inboundByID(q, c.Turn.InboundID)
	return err
}
