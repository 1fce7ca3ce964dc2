package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/internal/prompt"
	"picobot/store"
)

// maxRetryAfter bounds how long an endpoint may make a turn wait before its next try.
const maxRetryAfter = 5 * time.Minute

// CallModel asks a model for the answer of one step and writes it down. A step
// that has its answer is never asked again.
func (a *Activities) CallModel(ctx context.Context, in flow.ModelInput) (flow.ModelResult, error) {
	info := activity.GetInfo(ctx)
	k := flightKey{turn: in.TurnID, step: in.Step, position: -1, attempt: in.Model}
	return fly(ctx, a, k, func(ctx context.Context) (flow.ModelResult, error) {
		c := modelCall{a: a, in: in, attempt: showAs(in.Model, info.Attempt)}
		done, err := c.run(ctx)
		if err != nil {
			return flow.ModelResult{}, a.modelFailure(a.fenced(context.WithoutCancel(ctx), in.TurnID, err))
		}
		return a.modelResult(ctx, done)
	})
}

// showAs numbers the attempts of a step through its models: what a later one
// shows replaces what earlier ones did.
func showAs(model int, attempt int32) int { return model*1000 + int(attempt) }

// modelResult reads from the record what is left to do after an answer.
func (a *Activities) modelResult(ctx context.Context, done store.Committed) (flow.ModelResult, error) {
	var open []store.OpenCall
	for i, c := range done.Answer.ToolCalls {
		open = append(open, store.OpenCall{Position: i, Call: c})
	}
	return flow.ModelResult{Calls: a.calls(open), Outbound: done.Outbound}, nil
}

// modelFailure gives a provider's error the type and the delay Temporal needs.
func (a *Activities) modelFailure(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	return temporal.NewApplicationErrorWithOptions(a.Mask(e.Error()), flow.ErrTypeModel, temporal.ApplicationErrorOptions{
		NonRetryable:   !e.Retryable(),
		NextRetryDelay: min(e.RetryAfter, maxRetryAfter),
		Details:        []any{flow.Failure{Code: string(e.Kind), Model: e.Model, Provider: e.Provider, Status: e.Status, Detail: cut(a.Mask(e.Message), maxDetail)}},
	})
}

// maxDetail bounds what Temporal's history keeps of a provider's words, in runes.
const maxDetail = 300

func cut(s string, max int) string {
	r := []rune(s)
	if len(r) <= max {
		return s
	}
	return string(r[:max-1]) + "…"
}

// modelCall is one attempt at one step.
type modelCall struct {
	a       *Activities
	in      flow.ModelInput
	attempt int
}

func (c modelCall) run(ctx context.Context) (store.Committed, error) {
	done, err := c.a.Record.AnsweredStep(ctx, c.in.TurnID, c.in.Step)
	if !errors.Is(err, store.ErrNotFound) {
		return done, recorded(err)
	}
	var use chosen
	var nobody error
	t, err := c.a.Record.TurnContext(ctx, c.in.TurnID, func(s store.Session) (maxBytes int) {
		use, nobody = c.choose(s.Agent)
		return prompt.MaxBytes(use.window)
	})
	if err != nil {
		return done, recorded(err)
	}
	if err := open(t.Turn); err != nil {
		return done, err
	}
	if nobody != nil {
		return done, nobody
	}
	req, limit, err := c.a.request(t, use.model, use.window, use.agent.MaxToolIterations, c.in.Step)
	if err != nil {
		return done, err
	}
	resp, err := c.ask(ctx, use.provider, req, t.Session.ID)
	if err != nil {
		if why := stopped(ctx); why != nil {
			return done, why
		}
		return done, err
	}
	answer := store.Answer{
		Message: c.a.answer(resp, req, limit, t.Rows),
		Usage:   resp.Usage,
		Model:   use.model.Name,
		Deliver: t.Session.Channel != chat.ChannelCLI,
	}
	done, err = persist(ctx, func(ctx context.Context) (store.Committed, error) {
		return c.a.Record.CommitAnswer(ctx, c.in.TurnID, c.in.Step, answer)
	})
	return done, recorded(err)
}

// chosen is whom a step asks.
type chosen struct {
	agent    Agent
	provider llm.Provider
	model    llm.Model
	window   int // tokens
}

func (c modelCall) choose(agentName string) (use chosen, err error) {
	use.agent = c.a.Agents.Agent(agentName)
	if c.in.Model >= len(use.agent.Models) {
		return use, fmt.Errorf("agent %s has no fallback %d any more", agentName, c.in.Model)
	}
	name := use.agent.Models[c.in.Model]
	use.provider, use.model, use.window, err = c.a.Models.Model(name)
	if err != nil {
		return use, &llm.Error{Kind: llm.KindNotFound, Model: name, Message: err.Error()}
	}
	return use, nil
}

// ask makes the call and shows what streams in. An answer with nothing in it is
// asked for once more; the second one counts whatever it is.
func (c modelCall) ask(ctx context.Context, p llm.Provider, req llm.Request, sessionID string) (llm.Response, error) {
	var total chat.Usage
	for try := 0; ; try++ {
		resp, err := p.Complete(ctx, req, func(d llm.Delta) {
			c.a.Hub.Publish(sessionID, live.Progress{TurnID: c.in.TurnID, Step: c.in.Step, Attempt: c.attempt, Kind: d.Kind, Text: d.Text})
		})
		if err != nil {
			return resp, err
		}
		total = total.Add(resp.Usage)
		resp.Usage = total
		if try > 0 || resp.Content != "" || len(resp.ToolCalls) > 0 || resp.Stop == llm.StopLength || resp.Stop == llm.StopContentFilter {
			return resp, nil
		}
	}
}
