package activities

import (
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/activity"

	"picobot/internal/brief"
	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/prompt"
	"picobot/internal/tools"
	"picobot/store"
)

// maxClaims: a turn that was begun this often without getting on takes its
// process down each time; it is given up rather than begun once more.
const maxClaims = 5

// BeginTurn claims the session's next turn and says where it stands.
func (a *Activities) BeginTurn(ctx context.Context, in flow.SessionInput) (flow.Begun, error) {
	agentPrompt, unreadable := a.Prompt.Read()
	info := activity.GetInfo(ctx)
	begin := store.Begin{
		SessionID:     in.SessionID,
		WorkflowID:    info.WorkflowExecution.ID,
		RunID:         info.WorkflowExecution.RunID,
		AgentPrompt:   agentPrompt,
		Personal:      prompt.Personal,
		ReinjectEvery: a.ReinjectEvery,
	}
	p, err := a.Record.BeginTurn(ctx, begin)
	if err == nil && p != nil && p.Prepare && p.Turn.Claims > maxClaims {
		// Whatever takes the process down with it is left out.
		if err = a.unprepared(ctx, p.Turn.ID); err == nil {
			p, err = a.Record.BeginTurn(ctx, begin)
		}
	}
	if err != nil {
		return flow.Begun{}, fmt.Errorf("begin the next turn of %s: %w", in.SessionID, err)
	}
	outbound, err := a.undelivered(ctx, in.SessionID)
	if err != nil {
		return flow.Begun{}, err
	}
	if p == nil {
		return flow.Begun{Outbound: outbound}, nil
	}
	name := p.Turn.Agent
	if name == "" { // it waits, or was begun by a build that did not write it down
		sess, err := a.Record.Session(ctx, in.SessionID)
		if err != nil {
			return flow.Begun{}, err
		}
		name = sess.Agent
	}
	agent := a.Agents.Agent(name)
	b := flow.Begun{
		TurnID:      p.Turn.ID,
		Step:        p.Step,
		Calls:       a.calls(p.Open),
		Models:      agent.Models,
		Model:       max(0, slices.Index(agent.Models, p.Turn.Model)),
		Keep:        true,
		MaxParallel: agent.MaxParallelTools,
		Outbound:    outbound,
		Cancelled:   p.Turn.CancelRequestedAt != 0,
		Prepare:     p.Prepare,
	}
	if p.Job != nil {
		b.Job = p.Job.WorkflowID
	}
	switch {
	case p.Turn.Claims > maxClaims:
		b.Failure = flow.Failure{Code: flow.CodePoisoned}
	case unreadable != nil && p.NoPrompt:
		// Without its prompt the agent is another one: the person must know.
		b.Failure = flow.Failure{Code: flow.CodePrompt, Detail: brief.Cut(a.Mask(unreadable.Error()), maxDetail)}
	}
	return b, nil
}

// undelivered lists the session's outbox rows that are still to be sent, such as
// those whose run was lost. A terminal's rows wait for somebody to connect.
func (a *Activities) undelivered(ctx context.Context, sessionID string) ([]string, error) {
	key, err := chat.ParseSessionID(sessionID)
	if err != nil || key.Channel == chat.ChannelCLI {
		return nil, err
	}
	return a.Record.Undelivered(ctx, sessionID)
}

// calls describes open calls for the workflow and the people who watch it.
func (a *Activities) calls(open []store.OpenCall) []flow.Call {
	out := make([]flow.Call, len(open))
	for i, o := range open {
		name, arguments := o.Call.Function.Name, chat.RawArguments(o.Call.Function.Arguments)
		out[i] = flow.Call{Position: o.Position, Name: name, Acts: a.Tools.Effect(name, arguments) != tools.ReadOnly}
		if a.Summaries {
			out[i].Summary = a.summary(o.Call)
		}
	}
	return out
}
