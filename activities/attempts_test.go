package activities_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/internal/text"
)

// fails makes every call of the fixture's model fail.
func (f *fixture) fails(e llm.Error) {
	f.model.reply = func(_ context.Context, req llm.Request, _ int, _ func(llm.Delta)) (llm.Response, error) {
		e.Model, e.Provider = req.Model.Name, "p"
		return llm.Response{}, &e
	}
}

// attempt makes an attempt that earlier ones went before, and returns its failure and
// what those who watch were told.
func (f *fixture) attempt(in flow.ModelInput, past ...flow.Attempt) (*temporal.ApplicationError, []string) {
	f.Helper()
	w := f.hub.Watch(f.turn(in.TurnID).SessionID)
	defer w.Close()
	env := f.newEnv()
	if past != nil {
		env.SetHeartbeatDetails(past)
	}
	_, err := do[flow.ModelResult](f, env, flow.CallModel, in)
	var app *temporal.ApplicationError
	require.ErrorAs(f, err, &app)
	var said []string
	progress, _ := w.Take()
	for _, p := range progress {
		if p.Notice != nil {
			require.NotEmpty(f, p.Notice.ID)
			require.Equal(f, live.Progress{TurnID: in.TurnID, Step: in.Step, Attempt: p.Attempt, Notice: p.Notice}, p)
			said = append(said, p.Notice.In(text.For("en")))
		}
	}
	return app, said
}

func TestCallModel_FailsAndIsAskedAgainLater_TellsWhoWatchesOnce(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	in := flow.ModelInput{TurnID: b.TurnID, Step: 1, Fallback: "spare"}

	f.fails(llm.Error{Kind: llm.KindRateLimited, Status: 429, RetryAfter: 2 * time.Second})
	_, said := f.attempt(in)
	require.Empty(t, said, "a short wait is no news")

	f.fails(llm.Error{Kind: llm.KindRateLimited, Status: 429, RetryAfter: 6500 * time.Millisecond})
	_, said = f.attempt(in)
	require.Equal(t, []string{"Model main at provider p does not answer now (too many calls in a short time). It is asked again in 7 seconds."}, said)

	f.fails(llm.Error{Kind: llm.KindTimeout, RetryAfter: time.Second})
	_, said = f.attempt(in)
	require.Empty(t, said)
	f.acts.Now = func() time.Time { return time.Now().Add(time.Minute) }
	_, said = f.attempt(in)
	require.Equal(t, []string{"Model main at provider p does not answer now (no answer in time). It is asked again in 1 second."}, said, "a minute has passed meanwhile")

	_, said = f.attempt(in, flow.Attempt{}, flow.Attempt{Told: true})
	require.Empty(t, said, "it was said before")
}

func TestCallModel_FailsForGood_TellsWhoTakesOver(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	f.fails(llm.Error{Kind: llm.KindAuth, Status: 401})
	_, said := f.attempt(flow.ModelInput{TurnID: b.TurnID, Step: 1, Fallback: "spare"})
	require.Equal(t, []string{"Model main fails (the API key is refused); spare takes over."}, said)
	_, said = f.attempt(flow.ModelInput{TurnID: b.TurnID, Step: 1})
	require.Empty(t, said, "the end of the turn says it")
}

func TestCallModel_FailsInATurnThatIsStopped_TellsNobody(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	f.model.reply = func(ctx context.Context, _ llm.Request, _ int, _ func(llm.Delta)) (llm.Response, error) {
		_, err := f.record.Cancel(ctx, f.turn(b.TurnID).SessionID, b.TurnID)
		require.NoError(t, err)
		return llm.Response{}, &llm.Error{Kind: llm.KindAuth}
	}
	_, said := f.attempt(flow.ModelInput{TurnID: b.TurnID, Step: 1, Fallback: "spare"})
	require.Empty(t, said)
}

// Temporal's history keeps an activity's last failure only.
func TestCallModel_FailsAgain_SaysWhatWentBefore(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	f.fails(llm.Error{Kind: llm.KindOverloaded, Status: 529, Message: "busy"})
	past := []flow.Attempt{{Failure: flow.Failure{Code: "rate_limited", Status: 429, Detail: "slow down"}}, {Failure: flow.Failure{Code: "incomplete_stream"}}}
	app, _ := f.attempt(flow.ModelInput{TurnID: b.TurnID, Step: 1}, past...)
	require.Equal(t, "model main at provider p: overloaded (HTTP 529): busy; attempts before: rate_limited (HTTP 429), incomplete_stream", app.Message())
	var failure flow.Failure
	var before []flow.Attempt
	require.NoError(t, app.Details(&failure, &before))
	require.Equal(t, flow.Failure{Code: "overloaded", Model: "main", Provider: "p", Status: 529, Detail: "busy"}, failure)
	require.Equal(t, past, before)
}

// tooLong refuses requests of more than so many runes of text, or of more than so
// many images.
func (f *fixture) tooLong(runes, images int) {
	f.model.reply = func(ctx context.Context, req llm.Request, n int, d func(llm.Delta)) (llm.Response, error) {
		total, shown := 0, 0
		for _, m := range req.Messages {
			total += len([]rune(m.Content))
			shown += len(m.Images)
		}
		if total > runes || shown > images {
			return llm.Response{}, &llm.Error{Kind: llm.KindContextTooLarge, Status: 400, Model: "main", Provider: "p"}
		}
		return says("it fits")(ctx, req, n, d)
	}
}

func TestCallModel_EndpointFindsTheRequestTooLong_LeavesOutTheOldestResults(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	n := 0
	f.model.reply = func(ctx context.Context, req llm.Request, _ int, d func(llm.Delta)) (llm.Response, error) {
		n++
		return calls(chat.NewToolCall(string(rune('a'+n)), "look", `{"text":"`+strings.Repeat("x", 4000)+`"}`))(ctx, req, n, d)
	}
	for step := 1; step <= 4; step++ {
		_, err := f.ask(b.TurnID, step)
		require.NoError(t, err)
		_, err = f.tool(b.TurnID, step, 0)
		require.NoError(t, err)
	}
	f.tooLong(12_000, 0)
	_, err := f.ask(b.TurnID, 5)
	require.NoError(t, err)
	require.Equal(t, "it fits", f.last(b.TurnID))
	var told []string
	for _, m := range f.model.calls[len(f.model.calls)-1].Messages {
		if m.Role == chat.RoleTool {
			told = append(told, m.Content)
		}
	}
	require.Greater(t, len(told), 1)
	require.Contains(t, told[0], ".picobot/output/look.txt")
	require.Contains(t, told[len(told)-1], "xxxx", "the newest result stays whole")
}

func TestCallModel_NothingCanBeLeftOut_SaysThatItIsTooLong(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", strings.Repeat("long ", 2000))
	f.tooLong(5000, 0)
	app, _ := f.attempt(flow.ModelInput{TurnID: b.TurnID, Step: 1})
	require.True(t, app.NonRetryable())
	var failure flow.Failure
	require.NoError(t, app.Details(&failure))
	require.Equal(t, "context_too_large", failure.Code)
	require.Equal(t, 1, f.model.count(), "the same request is not sent twice")
	_, err := do[flow.FinishResult](f, f.env, flow.FinishTurn, flow.FinishInput{TurnID: b.TurnID, Status: chat.TurnFailed, Failure: failure})
	require.NoError(t, err)
	require.Contains(t, f.last(b.TurnID), "too long for model main")
}

func TestFinishTurn_EveryModelFailed_NamesThemAll(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	_, err := do[flow.FinishResult](f, f.env, flow.FinishTurn, flow.FinishInput{TurnID: b.TurnID, Status: chat.TurnFailed,
		Failure: flow.Failure{Code: "auth", Model: "main", Provider: "p"},
		Others:  []flow.Failure{{Code: "overloaded", Model: "spare"}, {Code: "odd", Model: "last"}}})
	require.NoError(t, err)
	require.Equal(t, "The provider p refuses the API key for model main. Check api_key of the provider. "+
		"The other models failed, too: spare (no capacity left), last (for a reason of its own).", f.last(b.TurnID))
	require.Equal(t, "auth", f.turn(b.TurnID).ErrorCode)
}

func TestBeginTurn_AFallbackAnsweredBefore_SaysWhichOne(t *testing.T) {
	f := newFixture(t)
	f.agent.Models = []string{"main", "spare"}
	f.model.reply = calls(chat.NewToolCall("a", "look", `{}`))
	b := f.begin("cli", "hello")
	require.True(t, b.Keep)
	require.Zero(t, b.Model)
	_, err := do[flow.ModelResult](f, f.env, flow.CallModel, flow.ModelInput{TurnID: b.TurnID, Step: 1, Model: 1})
	require.NoError(t, err)
	again := f.beginAgain(f.turn(b.TurnID).SessionID)
	require.Equal(t, 1, again.Model)
	f.agent.Models = []string{"other"}
	require.Zero(t, f.beginAgain(f.turn(b.TurnID).SessionID).Model, "it is not configured any more")
}
