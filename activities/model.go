package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/activity"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/internal/prompt"
	"picobot/internal/text"
	"picobot/store"
)

// CallModel asks a model for the answer of one step and writes it down. A step
// that has its answer is never asked again.
func (a *Activities) CallModel(ctx context.Context, in flow.ModelInput) (flow.ModelResult, error) {
	info := activity.GetInfo(ctx)
	k := flightKey{turn: in.TurnID, step: in.Step, position: -1, attempt: in.Model}
	first := showAs(in.Model, int(info.Attempt)+tries(earlier(ctx)))
	c := &modelCall{a: a, in: in, attempt: first, bill: &bill{}}
	result, err := fly(ctx, a, k, func(ctx context.Context) (flow.ModelResult, error) {
		done, err := c.run(ctx)
		if err != nil {
			c.pay(ctx)
			return flow.ModelResult{}, a.fenced(context.WithoutCancel(ctx), in.TurnID, err)
		}
		return a.modelResult(ctx, c, done), nil
	})
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return result, a.modelFailure(ctx, in, e, c.attempt-first)
	}
	return result, err
}

// showAs numbers the attempts of a step through its models: what a later one
// shows replaces what earlier ones did.
func showAs(model, attempt int) int { return model*1000 + attempt }

// modelResult says what is left to do after an answer.
func (a *Activities) modelResult(ctx context.Context, c *modelCall, done store.Committed) flow.ModelResult {
	var open []store.OpenCall
	for i, c := range done.Answer.ToolCalls {
		open = append(open, store.OpenCall{Position: i, Call: c})
	}
	out := flow.ModelResult{Calls: a.calls(open), Outbound: done.Outbound}
	switch {
	case len(open) > 0:
	case done.Existing:
		out.Then = a.then(ctx, done.Turn.SessionID) // an attempt that did not live to say it
	default:
		out.Then = c.then
	}
	return out
}

// modelCall is one attempt at one step.
type modelCall struct {
	a       *Activities
	in      flow.ModelInput
	attempt int // as it is shown
	bill    *bill
	holds   held      // what the present request holds
	then    flow.Then // what its answer makes due, if it ends the turn
}

func (c *modelCall) run(ctx context.Context) (store.Committed, error) {
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
	resp, req, limit, err := c.answerOf(ctx, use, t)
	if err != nil {
		if why := stopped(ctx); why != nil {
			return done, why
		}
		return done, err
	}
	answer := store.Answer{
		Message: c.a.answer(resp, req, limit, c.taken(ctx, t.Session.ID)),
		Model:   use.model.Name,
		Calls:   c.bill.calls,
		Deliver: t.Session.Channel != chat.ChannelCLI,
	}
	answer.Estimate, answer.Reported = c.a.estimate(req), resp.Usage.PromptTokens
	if len(answer.Message.ToolCalls) == 0 {
		c.then = c.a.thenAfter(t, answer)
		answer.CompactionDue = c.then.Compact
	}
	done, err = persist(ctx, func(ctx context.Context) (store.Committed, error) {
		return c.a.Record.CommitAnswer(ctx, c.in.TurnID, c.in.Step, answer)
	})
	return done, recorded(err)
}

// taken tells which ids calls of this session have had already, also where a request
// does not hold them: what came before a reset or is beyond the window may be read
// again by a later one.
func (c *modelCall) taken(ctx context.Context, sessionID string) func(id string) bool {
	return func(id string) bool {
		was, err := c.a.Record.CallTaken(context.WithoutCancel(ctx), sessionID, id)
		if err != nil {
			// The answer is worth more than a name that was there before.
			c.a.Logger.Warn("the ids of earlier calls could not be read", "session", sessionID, "error", err)
		}
		return was
	}
}

// maxSmaller bounds how often a request that an endpoint finds too long is made
// smaller.
const maxSmaller = 3

// answerOf asks with a request that the model has room for. How many tokens a text is
// only the endpoint knows for sure: a request that it refuses as too long goes again
// with less in it, as long as there is something to leave out.
func (c *modelCall) answerOf(ctx context.Context, use chosen, t store.TurnContext) (resp llm.Response, req llm.Request, limit text.Message, err error) {
	iterations := use.agent.MaxToolIterations
	if t.Job != nil && t.Job.Job.Payload.MaxToolIterations > 0 {
		iterations = t.Job.Job.Payload.MaxToolIterations
	}
	size := requestSize{tokens: room(use.window, use.model.MaxOutputTokens), images: maxImages, imageBytes: maxImageBytes}
	index := c.a.Index(ctx)
	build := func() (requestSize, error) {
		req, limit, err = c.a.request(t, use.model, size, index, iterations, c.in.Step)
		c.holds = heldIn(req, t.Rows)
		return sizeOf(req), err
	}
	now, err := build()
	for n := 0; err == nil; n++ {
		if resp, err = c.ask(ctx, use.provider, req, t.Session.ID); llm.KindOf(err) != llm.KindContextTooLarge || n == maxSmaller {
			break
		}
		refused, before := err, now
		size.tokens = before.tokens * 6 / 10
		if now, err = build(); err == nil && now.tokens >= before.tokens {
			size.images = before.images / 2
			now, err = build()
		}
		if err == nil && now.tokens >= before.tokens && now.images >= before.images {
			return resp, req, limit, refused
		}
		c.a.Logger.Info("a request was too long for the model and goes again with less in it", "model", use.model.Name, "turn", c.in.TurnID, "step", c.in.Step)
	}
	return resp, req, limit, err
}

// chosen is whom a step asks.
type chosen struct {
	agent    Agent
	provider llm.Provider
	model    llm.Model
	window   int // tokens
}

func (c *modelCall) choose(agentName string) (use chosen, err error) {
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
func (c *modelCall) ask(ctx context.Context, p llm.Provider, req llm.Request, sessionID string) (llm.Response, error) {
	for try := 0; ; try++ {
		resp, err := c.complete(ctx, p, req, func(d llm.Delta) {
			c.a.Hub.Publish(sessionID, live.Progress{TurnID: c.in.TurnID, Step: c.in.Step, Attempt: c.attempt, Kind: d.Kind, Text: d.Text})
		})
		if err != nil {
			return resp, err
		}
		if try > 0 || !isEmpty(resp) {
			return resp, nil
		}
		c.attempt++ // what it thought or left blank is replaced, too
	}
}

// isEmpty reports an answer that says nothing and gives no reason for it.
func isEmpty(r llm.Response) bool {
	return strings.TrimSpace(r.Content) == "" && len(r.ToolCalls) == 0 && r.Stop != llm.StopLength && r.Stop != llm.StopContentFilter
}
