package activities

import (
	"context"
	"errors"
	"strings"

	"go.temporal.io/sdk/activity"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/llm"
)

// background runs model work that is no turn's, as CallModel runs a turn's: beside the
// attempt, with the same retries, and paid for.
func background[T any](ctx context.Context, a *Activities, what, sessionID string, fn func(context.Context, *modelCall) (T, error)) (T, error) {
	c := &modelCall{a: a, attempt: showAs(0, int(activity.GetInfo(ctx).Attempt)), bill: &bill{}}
	out, err := fly(ctx, a, flightKey{session: sessionID, what: what}, func(ctx context.Context) (T, error) {
		out, err := fn(ctx, c)
		if err != nil {
			if why := stopped(ctx); why != nil {
				err = why
			}
			c.pay(ctx)
		}
		return out, err
	})
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return out, a.modelFailure(ctx, flow.ModelInput{}, e, 0)
	}
	return out, err
}

// words asks for an answer in words, without tools. An empty one is asked for once
// more and then is "".
func (c *modelCall) words(ctx context.Context, use chosen, messages []chat.Message) (string, error) {
	req := llm.Request{Model: use.model}
	for _, m := range messages {
		req.Messages = append(req.Messages, llm.Message{Message: m})
	}
	for try := 0; ; try++ {
		resp, err := c.complete(ctx, use.provider, req, nil)
		if err != nil {
			return "", err
		}
		if resp.Stop == llm.StopContentFilter || len(resp.ToolCalls) > 0 {
			resp.Content = "" // a notice of a filter, or words around calls, are no answer
		}
		if said := strings.TrimSpace(resp.Content); said != "" || try > 0 {
			return said, nil
		}
	}
}
