package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/llm"
)

type reply = func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error)

// slowly answers when the test says so, and stops when it is told to.
func slowly(content string) (say reply, started, release chan struct{}) {
	started, release = make(chan struct{}, 10), make(chan struct{})
	return func(ctx context.Context, _ llm.Request, _ int, _ func(llm.Delta)) (llm.Response, error) {
		started <- struct{}{}
		select {
		case <-release:
			return llm.Response{Content: content, Stop: llm.StopEnd}, nil
		case <-ctx.Done():
			return llm.Response{}, &llm.Error{Kind: llm.KindCanceled, Err: ctx.Err()}
		}
	}, started, release
}

// newEnvThatEnds returns the surroundings of an attempt that the server may give up.
func (f *fixture) newEnvThatEnds() (*testsuite.TestActivityEnvironment, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(f.Context())
	f.Cleanup(func() { end(nil) })
	env := f.newEnv()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	return env, end
}

func TestCallModel_AttemptGivenUp_WorkGoesOnAndTheNextAttemptGetsItsResult(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	say, started, release := slowly("once")
	f.model.reply = say
	in := flow.ModelInput{TurnID: b.TurnID, Step: 1}
	first, giveUp := f.newEnvThatEnds()
	go func() {
		<-started
		giveUp(nil)
	}()
	_, err := do[flow.ModelResult](f, first, flow.CallModel, in)
	requireLost(t, err)
	second, giveUp := f.newEnvThatEnds()
	giveUp(nil)
	_, err = do[flow.ModelResult](f, second, flow.CallModel, in)
	requireLost(t, err)
	require.Equal(t, chat.TurnRunning, f.turn(b.TurnID).Status)

	last := make(chan error, 1)
	go func() {
		_, err := do[flow.ModelResult](f, f.env, flow.CallModel, in)
		last <- err
	}()
	close(release)
	require.NoError(t, <-last)
	require.Equal(t, "once", f.last(b.TurnID))
	require.Equal(t, 1, f.model.count())
}

func TestRunTool_AttemptGivenUp_WorkGoesOnAndTheNextAttemptGetsItsResult(t *testing.T) {
	f := newFixture(t)
	turn := f.step(act("a", "slow"))
	in := flow.ToolInput{TurnID: turn, Step: 1}
	first, giveUp := f.newEnvThatEnds()
	go func() {
		<-f.acted
		giveUp(nil)
	}()
	_, err := do[flow.ToolResult](f, first, flow.RunTool, in)
	requireLost(t, err)
	last := make(chan flow.ToolResult, 1)
	go func() {
		r, _ := do[flow.ToolResult](f, f.env, flow.RunTool, in)
		last <- r
	}()
	close(f.release)
	require.Equal(t, chat.ToolCompleted, (<-last).Status)
	require.Contains(t, f.last(turn), "done slow")
	require.Empty(t, f.acted, "it acted once")
}

// requireLost: such an attempt is made again, and the turn is not cancelled by it.
func requireLost(t *testing.T, err error) {
	t.Helper()
	requireType(t, err, flow.ErrTypeLost)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.False(t, app.NonRetryable())
}

func TestCallModel_ContextEndsAfterACancelInTheRecord_IsCancelled(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	say, started, _ := slowly("never")
	f.model.reply = say
	env, end := f.newEnvThatEnds()
	go func() {
		<-started
		if _, err := f.record.Cancel(f.Context(), f.turn(b.TurnID).SessionID, b.TurnID); err == nil {
			end(nil)
		}
	}()
	_, err := do[flow.ModelResult](f, env, flow.CallModel, flow.ModelInput{TurnID: b.TurnID, Step: 1})
	requireType(t, err, flow.ErrTypeCancelled)
}

func TestCallModel_ContextEndsWithTheWorker_IsAShutdown(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	say, started, _ := slowly("never")
	f.model.reply = say
	env, end := f.newEnvThatEnds()
	go func() {
		<-started
		end(worker.ErrWorkerShutdown)
	}()
	_, err := do[flow.ModelResult](f, env, flow.CallModel, flow.ModelInput{TurnID: b.TurnID, Step: 1})
	requireType(t, err, flow.ErrTypeShutdown)
	require.Equal(t, chat.TurnRunning, f.turn(b.TurnID).Status)
}

// stopsBefore ends the work as a shutdown if nothing else has ended it by then.
func (f *fixture) stopsBefore(limit time.Duration) {
	timer := time.AfterFunc(limit, f.acts.Shutdown)
	f.Cleanup(func() { timer.Stop() })
}

func TestCallModel_CancelIsOnlyInTheRecord_StopsWithTheNextHeartbeat(t *testing.T) {
	t.Parallel() // it waits for a heartbeat
	f := newFixture(t)
	f.stopsBefore(20 * time.Second)
	b := f.begin("cli", "hello")
	say, _, _ := slowly("never")
	f.model.reply = func(ctx context.Context, req llm.Request, n int, d func(llm.Delta)) (llm.Response, error) {
		if _, err := f.record.Cancel(f.Context(), f.turn(b.TurnID).SessionID, b.TurnID); err != nil {
			return llm.Response{}, err
		}
		return say(ctx, req, n, d)
	}
	_, err := f.ask(b.TurnID, 1)
	requireType(t, err, flow.ErrTypeCancelled)
}

func TestRunTool_CancelIsOnlyInTheRecord_StopsWithTheNextHeartbeat(t *testing.T) {
	t.Parallel() // it waits for a heartbeat
	f := newFixture(t)
	f.stopsBefore(20 * time.Second)
	turn := f.step(act("a", "slow"))
	go func() {
		<-f.acted
		_, _ = f.record.Cancel(f.Context(), f.turn(turn).SessionID, turn)
	}()
	_, err := f.tool(turn, 1, 0)
	requireType(t, err, flow.ErrTypeCancelled)
	require.Contains(t, f.last(turn), "half done")
}

func TestCallModel_ProviderPanics_IsAnErrorAndTheNextAttemptWorks(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	f.model.reply = func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
		panic("a bug in a provider")
	}
	_, err := f.ask(b.TurnID, 1)
	require.ErrorContains(t, err, "a bug in a provider")
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.False(t, app.NonRetryable())
	f.model.reply = says("here again")
	_, err = f.ask(b.TurnID, 1)
	require.NoError(t, err)
	require.Equal(t, "here again", f.last(b.TurnID))
}

func TestBegin_AfterCleanShutdowns_IsNeverPoisoned(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	say, started, _ := slowly("never")
	f.model.reply = say
	for range 7 {
		stop := make(chan struct{})
		env := f.newEnv()
		env.SetWorkerStopChannel(stop)
		go func() {
			<-started
			close(stop)
		}()
		_, err := do[flow.ModelResult](f, env, flow.CallModel, flow.ModelInput{TurnID: b.TurnID, Step: 1})
		requireType(t, err, flow.ErrTypeShutdown)
		require.Zero(t, f.turn(b.TurnID).Claims)
		require.Empty(t, f.beginAgain(f.turn(b.TurnID).SessionID).Failure.Code)
	}
}

func TestShutdown_StopsWhatRunsAsARetry(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	say, started, _ := slowly("never")
	f.model.reply = say
	go func() {
		<-started
		f.acts.Shutdown()
	}()
	_, err := f.ask(b.TurnID, 1)
	requireType(t, err, flow.ErrTypeShutdown)
	require.Zero(t, f.turn(b.TurnID).Claims)
}
