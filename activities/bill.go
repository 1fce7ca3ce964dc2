package activities

import (
	"context"
	"time"

	"picobot/internal/llm"
	"picobot/internal/tracing"
	"picobot/store"
)

// bill is what an attempt at a step has cost so far: every call that came to an end.
// An answer is committed together with it.
type bill struct{ calls []store.ModelCall }

// complete makes one call and puts it on the bill.
func (c *modelCall) complete(ctx context.Context, p llm.Provider, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	id, began := c.a.Record.NewID(), c.a.Now()
	traced, end := tracing.Call(ctx, req.Model.Provider, req.Model.Name)
	resp, err := p.Complete(traced, req, onDelta)
	call := store.ModelCall{
		ID: id, TurnID: c.in.TurnID, Step: c.in.Step, ModelIndex: c.in.Model, Attempt: c.attempt - showAs(c.in.Model, 0),
		Model: req.Model.Name, Provider: req.Model.Provider, Usage: resp.Usage,
		DurationMS: max(0, c.a.Now().Sub(began).Milliseconds()), CreatedAt: began.UnixMilli(),
		Rows: c.holds.rows, Stubs: c.holds.stubs,
	}
	if err != nil {
		if call.Error = string(llm.KindOf(err)); call.Error == "" {
			call.Error = string(llm.KindTransport) // every provider's errors have a kind
		}
	}
	end(call.Error, resp.Usage.PromptTokens, resp.Usage.CompletionTokens)
	c.bill.calls = append(c.bill.calls, call)
	return resp, err
}

// payFor bounds the wait for the record after a call that failed: the turn goes on
// without its bill rather than late.
const payFor = 5 * time.Second

// pay writes down what no answer was committed with. Nothing hangs on it but the
// count of what was spent.
func (c *modelCall) pay(ctx context.Context) {
	if len(c.bill.calls) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), payFor)
	defer cancel()
	if err := c.a.Record.RecordCalls(ctx, c.in.TurnID, c.bill.calls); err != nil {
		c.a.Logger.Warn("what a failed model call cost could not be recorded", "turn", c.in.TurnID, "step", c.in.Step, "calls", len(c.bill.calls), "error", err)
	}
}
