package activities

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"picobot/internal/brief"
	"picobot/internal/flow"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/internal/text"
)

const (
	// maxRetryAfter bounds how long an endpoint may make a turn wait before its next try.
	maxRetryAfter = 5 * time.Minute
	// longWait is how long a model may be waited for, and longAttempt how long an attempt
	// may take to fail, until people are told that it is asked again.
	longWait    = 2 * time.Second
	longAttempt = 15 * time.Second
	// maxDetail bounds what Temporal's history keeps of a provider's words, in runes.
	maxDetail = 300
)

// earlier returns the failed attempts at this call before this one. They travel in
// the heartbeat: Temporal's history itself keeps only the last failure of an
// activity, and whoever reads it wants to know of all.
func earlier(ctx context.Context) []flow.Attempt {
	var past []flow.Attempt
	if !activity.HasHeartbeatDetails(ctx) || activity.GetHeartbeatDetails(ctx, &past) != nil {
		return nil
	}
	return past
}

// beat tells the server that an attempt lives, and hands on what came before it.
func beat(ctx context.Context, past []flow.Attempt) {
	if len(past) == 0 {
		activity.RecordHeartbeat(ctx)
		return
	}
	activity.RecordHeartbeat(ctx, past)
}

// modelFailure gives a provider's error the type and the delay Temporal needs, and
// tells who watches when the model is asked again only later, or not at all. The
// attempt has asked the model so often more than once.
func (a *Activities) modelFailure(ctx context.Context, in flow.ModelInput, e *llm.Error, more int) error {
	past := earlier(ctx)
	this := flow.Attempt{More: more, Failure: flow.Failure{
		Code: string(e.Kind), Model: e.Model, Provider: e.Provider, Status: e.Status, Detail: brief.Cut(a.Mask(e.Message), maxDetail),
	}}
	info := activity.GetInfo(ctx)
	retryAfter := min(e.RetryAfter, maxRetryAfter)
	switch {
	case e.Retryable() && !lastAttempt(info):
		wait := retryAfter
		if wait == 0 {
			wait = backoff(info)
		}
		if (wait > longWait || a.Now().Sub(info.StartedTime) > longAttempt) && !told(past) {
			this.Told = true
			a.tell(ctx, in, more, func(c *text.Catalogue) string {
				return c.Say(text.ModelRetried{Model: e.Model, Provider: e.Provider, Why: c.Say(text.WhyModelFailed(e.Kind)), Seconds: int(math.Ceil(wait.Seconds()))})
			})
		}
		beat(ctx, append(past, this))
	case in.Fallback != "":
		a.tell(ctx, in, more, func(c *text.Catalogue) string {
			return c.Say(text.UsingFallback{Model: e.Model, Why: c.Say(text.WhyModelFailed(e.Kind)), Fallback: in.Fallback})
		})
	}
	return temporal.NewApplicationErrorWithOptions(a.Mask(e.Error())+listed(past), flow.ErrTypeModel, temporal.ApplicationErrorOptions{
		NonRetryable:   !e.Retryable(),
		NextRetryDelay: retryAfter,
		Details:        []any{this.Failure, past},
	})
}

// tell shows a sentence to those who watch the turn, each in their language.
func (a *Activities) tell(ctx context.Context, in flow.ModelInput, more int, say func(*text.Catalogue) string) {
	turn, err := a.Record.Turn(context.WithoutCancel(ctx), in.TurnID)
	if err != nil || open(turn) != nil {
		return // nobody waits for it any more
	}
	attempt := showAs(in.Model, int(activity.GetInfo(ctx).Attempt)+tries(earlier(ctx))+more)
	a.Hub.Publish(turn.SessionID, live.Progress{TurnID: in.TurnID, Step: in.Step, Attempt: attempt, Notice: live.NewNotice(fmt.Sprintf("model/%s/%d/%d", in.TurnID, in.Step, attempt), say)})
}

// tries counts how often earlier attempts asked the model more than once.
func tries(past []flow.Attempt) (n int) {
	for _, p := range past {
		n += p.More
	}
	return n
}

func told(past []flow.Attempt) bool {
	for _, p := range past {
		if p.Told {
			return true
		}
	}
	return false
}

// listed names what went before a failure, for people who read Temporal's UI.
func listed(past []flow.Attempt) string {
	var out []string
	for _, p := range past {
		line := p.Failure.Code
		if p.Failure.Status != 0 {
			line += fmt.Sprintf(" (HTTP %d)", p.Failure.Status)
		}
		out = append(out, line)
	}
	if out == nil {
		return ""
	}
	return "; attempts before: " + strings.Join(out, ", ")
}

func lastAttempt(info activity.Info) bool {
	p := info.RetryPolicy
	return p != nil && p.MaximumAttempts > 0 && info.Attempt >= p.MaximumAttempts
}

// backoff is how long Temporal waits after this attempt when nobody says how long.
func backoff(info activity.Info) time.Duration {
	p := info.RetryPolicy
	if p == nil {
		return 0
	}
	wait := float64(p.InitialInterval) * math.Pow(p.BackoffCoefficient, float64(info.Attempt-1))
	if p.MaximumInterval > 0 {
		wait = min(wait, float64(p.MaximumInterval))
	}
	return time.Duration(wait)
}
