package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/llm"
	"picobot/internal/title"
	"picobot/store"
)

// maxTitleRows bounds what of a conversation a title is made from.
const maxTitleRows = 40

// MakeTitle has a model name a session that nobody has named. An answer that is no
// title leaves the one there is; so does a model that fails, and both are counted.
func (a *Activities) MakeTitle(ctx context.Context, sessionID string) error {
	last := lastAttempt(activity.GetInfo(ctx))
	_, err := background(ctx, a, flow.MakeTitle, sessionID, func(ctx context.Context, c *modelCall) (struct{}, error) {
		made, err := c.makeTitle(ctx, sessionID)
		if e, ok := errors.AsType[*llm.Error](err); ok && (last || !e.Retryable()) && stopped(ctx) == nil {
			made = new(string)
			a.Logger.Warn("a session gets no title: its model fails", "session", sessionID, "error", a.Mask(err.Error()))
			err = nil
		}
		if err != nil || made == nil {
			return struct{}{}, err
		}
		return persist(ctx, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, recorded(a.Record.SetModelTitle(ctx, sessionID, *made, c.bill.calls))
		})
	})
	return err
}

// makeTitle returns the title, "" when the answer is none, nil when none is wanted.
func (c *modelCall) makeTitle(ctx context.Context, sessionID string) (*string, error) {
	sess, err := c.a.Record.Session(ctx, sessionID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, recorded(err)
	}
	if !c.a.nameless(sess) {
		return nil, nil
	}
	rows, err := c.a.Record.Opening(ctx, sess, maxTitleRows)
	if err != nil || len(rows) == 0 {
		return nil, recorded(err)
	}
	use, err := c.choose(sess.Agent)
	if err != nil {
		return nil, err
	}
	messages := make([]chat.Message, len(rows))
	for i, r := range rows {
		messages[i] = r.Message
	}
	answer, err := c.words(ctx, use, title.Request(messages))
	if err != nil {
		return nil, err
	}
	made := title.Clean(answer)
	return &made, nil
}
