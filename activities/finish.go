package activities

import (
	"context"
	"errors"
	"strings"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/llm"
	"picobot/internal/text"
	"picobot/store"
)

// FinishTurn ends a turn that did not end with an answer.
func (a *Activities) FinishTurn(ctx context.Context, in flow.FinishInput) (flow.FinishResult, error) {
	turn, err := a.Record.Turn(ctx, in.TurnID)
	if err != nil {
		return flow.FinishResult{}, a.failure(ctx, err)
	}
	key, err := chat.ParseSessionID(turn.SessionID)
	if err != nil {
		return flow.FinishResult{}, err
	}
	f := store.Finish{
		TurnID:  in.TurnID,
		Status:  in.Status,
		NotRun:  notRunResult,
		Unknown: unknownResult("the turn ended"),
		Deliver: key.Channel != chat.ChannelCLI,
	}
	if in.Status == chat.TurnFailed {
		f.Code, f.Text = in.Failure.Code, a.failureText(in.Failure, in.Others)
	}
	claimed, err := a.Record.ClaimedRuns(ctx, in.TurnID)
	if err != nil {
		return flow.FinishResult{}, err
	}
	for _, r := range claimed {
		a.killLeftovers(ctx, runID(flow.ToolInput{TurnID: r.TurnID, Step: r.Step, Position: r.Position}))
	}
	done, err := a.Record.FinishTurn(ctx, f)
	if err != nil {
		return flow.FinishResult{}, err
	}
	out := flow.FinishResult{Outbound: done.Outbound}
	if done.Turn.StartedAt != 0 {
		out.Then = a.then(ctx, done.Turn.SessionID)
	}
	return out, nil
}

// failureText is what a person reads about a failure.
func (a *Activities) failureText(f flow.Failure, others []flow.Failure) string {
	reason := a.Texts.Say(reasonOf(f))
	if len(others) == 0 {
		return reason
	}
	var too []string
	for _, o := range others {
		too = append(too, a.Texts.Say(text.FailedToo{Model: o.Model, Why: a.Texts.Say(text.WhyModelFailed(llm.Kind(o.Code)))}))
	}
	return a.Texts.Say(text.FallbacksFailed{Reason: reason, Others: strings.Join(too, ", ")})
}

// reasonOf is the sentence about one failure.
func reasonOf(f flow.Failure) text.Message {
	switch f.Code {
	case flow.CodePoisoned:
		return text.PoisonTurn{Attempts: maxClaims}
	case flow.CodeInternal, flow.CodePrompt:
		return text.TurnFailed{Detail: f.Detail}
	default:
		return text.ModelFailed(&llm.Error{Kind: llm.Kind(f.Code), Status: f.Status, Provider: f.Provider, Model: f.Model, Message: f.Detail})
	}
}

// RequestCancel records that the run was cancelled from outside Temporal's way:
// from then on it is a /stop like any other.
func (a *Activities) RequestCancel(ctx context.Context, turnID string) error {
	turn, err := a.Record.Turn(ctx, turnID)
	if err != nil {
		return err
	}
	_, err = a.Record.Cancel(ctx, turn.SessionID, turnID)
	if errors.Is(err, store.ErrNotFound) {
		return nil // it has ended meanwhile
	}
	if err == nil {
		a.CancelTurn(turnID)
	}
	return err
}
