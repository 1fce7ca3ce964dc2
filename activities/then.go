package activities

import (
	"context"

	"picobot/internal/chat"
	"picobot/internal/compact"
	"picobot/internal/flow"
	"picobot/internal/llm"
	"picobot/internal/prompt"
	"picobot/internal/tools"
	"picobot/store"
)

// maxTitleTries bounds how often a model is asked for a title that it does not give.
const maxTitleTries = 3

// estimate is how many tokens a request has.
func (a *Activities) estimate(req llm.Request) int64 {
	weight := a.toolsWeight
	for _, m := range req.Messages {
		weight += prompt.Weight(m.Message)
	}
	return int64(prompt.Tokens(weight))
}

// toolsWeight is the weight of what goes into each request besides messages.
func toolsWeight(registry *tools.Registry) int {
	weight := 0
	for _, d := range registry.Definitions() {
		weight += prompt.TextWeight(d.Name) + prompt.TextWeight(d.Description) + prompt.TextWeight(string(d.Parameters))
	}
	return weight
}

// thenAfter says what an answer that ends its turn makes due. It knows everything
// already and reads nothing: an answer must not wait for what comes after it.
func (a *Activities) thenAfter(t store.TurnContext, answer store.Answer) flow.Then {
	turns, weight := 0, a.toolsWeight+prompt.Weight(answer.Message)
	for _, r := range t.Rows { // more than went into the request where that was too long
		weight += prompt.Weight(r.Message)
		if r.Role == chat.RoleUser {
			turns++
		}
	}
	if t.Cut {
		t.Session.Compacting.Strikes = 0 // how far it has grown cannot be told from here: Summarise looks at all of it
	}
	return flow.Then{
		Compact: (t.Cut || turns > a.Compaction.KeepTurns) && a.grown(t.Session, compact.Corrected(prompt.Tokens(weight), answer.Estimate, answer.Reported)),
		Title:   a.nameless(t.Session),
	}
}

// then is thenAfter from the record, for turns that ended in another way.
func (a *Activities) then(ctx context.Context, sessionID string) (due flow.Then) {
	p, err := a.Record.PlanCompaction(ctx, sessionID, a.Compaction.KeepTurns, prompt.Weight, nil)
	if err == nil && p.Cut > 0 && a.grown(p.Session, a.segmentTokens(p)) {
		err = a.Record.SetCompactionDue(ctx, sessionID)
		due.Compact = err == nil
	}
	if err != nil {
		// The turn has ended and nothing of it is lost: the next one will find out.
		a.Logger.Warn("whether a session is to be compacted could not be found out", "session", sessionID, "error", err)
		return flow.Then{}
	}
	due.Title = a.nameless(p.Session)
	return due
}

// segmentTokens is the size of a session's next request, as far as it is known.
func (a *Activities) segmentTokens(p store.CompactionPlan) int {
	c := p.Session.Compacting
	return compact.Corrected(prompt.Tokens(p.Weight+a.toolsWeight), c.Estimate, c.Reported)
}

// grown reports whether a session of so many tokens is to be compacted by itself.
func (a *Activities) grown(s store.Session, tokens int) bool {
	if a.Compaction.Threshold <= 0 || s.DeletedAt != 0 {
		return false
	}
	_, _, window, err := a.Models.Model(a.Agents.Agent(s.Agent).Models[0])
	return err == nil && compact.Large(tokens, a.Compaction.Threshold, window) &&
		!compact.Resting(s.Compacting.Strikes, s.Compacting.Size, tokens)
}

// nameless reports whether a model is to name the session.
func (a *Activities) nameless(s store.Session) bool {
	return a.TitleAfter > 0 && s.MessageCount >= int64(a.TitleAfter) && !s.Titled && s.TitleSource == store.TitleDefault &&
		s.TitleTries < maxTitleTries && s.DeletedAt == 0
}
