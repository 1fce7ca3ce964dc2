package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/llm"
)

func TestCallModel_Answer_EndsTheTurn(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	r, err := f.ask(b.TurnID, b.Step)
	require.NoError(t, err)
	require.Empty(t, r.Calls)
	require.Empty(t, r.Outbound, "a terminal's replies are its rows")
	require.Equal(t, chat.TurnCompleted, f.turn(b.TurnID).Status)
	require.Equal(t, "main", f.turn(b.TurnID).Model)
}

func TestCallModel_AnswerOfAnotherChannel_IsPutIntoTheOutbox(t *testing.T) {
	f := newFixture(t)
	b := f.begin("feishu", "hello")
	r, err := f.ask(b.TurnID, b.Step)
	require.NoError(t, err)
	require.Len(t, r.Outbound, 1)
}

func TestCallModel_StepHasItsAnswer_CallsNobody(t *testing.T) {
	f := newFixture(t)
	f.model.reply = calls(chat.NewToolCall("a", "look", `{}`))
	b := f.begin("cli", "hello")
	first, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	second, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Equal(t, 1, f.model.count())
}

func TestCallModel_ProviderErrors_BecomeRetriesOrNot(t *testing.T) {
	for _, c := range []struct {
		err       *llm.Error
		retryable bool
		wait      time.Duration
	}{
		{&llm.Error{Kind: llm.KindRateLimited, Status: 429, RetryAfter: 7 * time.Second}, true, 7 * time.Second},
		{&llm.Error{Kind: llm.KindOverloaded, Status: 529, RetryAfter: 3 * time.Hour}, true, 5 * time.Minute},
		{&llm.Error{Kind: llm.KindTransport}, true, 0},
		{&llm.Error{Kind: llm.KindIncomplete}, true, 0},
		{&llm.Error{Kind: llm.KindAuth, Status: 401}, false, 0},
		{&llm.Error{Kind: llm.KindQuota, Status: 429}, false, 0},
		{&llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: strings.Repeat("x", 1000)}, false, 0},
	} {
		f := newFixture(t)
		f.model.reply = func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
			return llm.Response{}, c.err
		}
		b := f.begin("cli", "hello")
		_, err := f.ask(b.TurnID, 1)
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.Equal(t, flow.ErrTypeModel, app.Type())
		require.Equal(t, c.retryable, !app.NonRetryable(), c.err.Kind)
		require.Equal(t, c.wait, app.NextRetryDelay())
		var failure flow.Failure
		require.NoError(t, app.Details(&failure))
		require.Equal(t, string(c.err.Kind), failure.Code)
		require.LessOrEqual(t, len([]rune(failure.Detail)), 300)
		require.Equal(t, chat.TurnRunning, f.turn(b.TurnID).Status)
	}
}

func TestCallModel_EmptyAnswer_IsAskedForOnceMoreThenSaidHonestly(t *testing.T) {
	f := newFixture(t)
	f.model.reply = says("")
	b := f.begin("cli", "hello")
	_, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	require.Equal(t, 2, f.model.count())
	require.Contains(t, f.last(b.TurnID), "answered with nothing")
	require.EqualValues(t, 2, f.turn(b.TurnID).Usage.PromptTokens, "both calls were paid for")
}

func TestCallModel_BlankAnswer_IsAskedForOnceMoreAndReplaced(t *testing.T) {
	f := newFixture(t)
	f.model.reply = func(ctx context.Context, req llm.Request, n int, d func(llm.Delta)) (llm.Response, error) {
		content := []string{" \n", "hello yourself"}[n-1]
		d(llm.Delta{Kind: llm.DeltaText, Text: content})
		return says(content)(ctx, req, n, d)
	}
	b := f.begin("cli", "hello")
	w := f.hub.Watch(f.turn(b.TurnID).SessionID)
	defer w.Close()
	_, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	require.Equal(t, "hello yourself", f.last(b.TurnID))
	progress, _ := w.Take()
	require.Len(t, progress, 2)
	require.Greater(t, progress[1].Attempt, progress[0].Attempt)
}

func TestCallModel_EmptyAnswerThenAnError_TheNextAttemptReplacesBoth(t *testing.T) {
	f := newFixture(t)
	shows := func(then error) func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
		return func(_ context.Context, _ llm.Request, n int, d func(llm.Delta)) (llm.Response, error) {
			d(llm.Delta{Kind: llm.DeltaReasoning, Text: "hm"})
			if n == 2 {
				return llm.Response{}, then
			}
			return llm.Response{Stop: llm.StopEnd}, nil
		}
	}
	f.model.reply = shows(&llm.Error{Kind: llm.KindOverloaded})
	b := f.begin("cli", "hello")
	w := f.hub.Watch(f.turn(b.TurnID).SessionID)
	defer w.Close()
	_, err := f.ask(b.TurnID, 1)
	require.Error(t, err)
	env := f.newEnv()
	// To the test environment each attempt is the first: More counts for one of them, too.
	env.SetHeartbeatDetails([]flow.Attempt{{More: 2}})
	_, err = do[flow.ModelResult](f, env, flow.CallModel, flow.ModelInput{TurnID: b.TurnID, Step: 1})
	require.NoError(t, err)
	progress, _ := w.Take()
	var attempts []int
	for _, p := range progress {
		attempts = append(attempts, p.Attempt)
	}
	require.Equal(t, []int{1, 2, 3, 4}, attempts)
}

func TestCallModel_CutByLength_NeverRunsHalfWrittenCalls(t *testing.T) {
	f := newFixture(t)
	f.model.reply = func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
		return llm.Response{Content: "I will", ToolCalls: []chat.ToolCall{chat.NewToolCall("a", "act", `{"text":"ha`)}, Stop: llm.StopLength}, nil
	}
	b := f.begin("cli", "hello")
	r, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	require.Empty(t, r.Calls)
	require.Contains(t, f.last(b.TurnID), "I will")
	require.Contains(t, f.last(b.TurnID), "cut off")
}

func TestCallModel_RepeatedIDsAndBrokenArguments_AreStoredValid(t *testing.T) {
	f := newFixture(t)
	f.model.reply = calls(chat.NewToolCall("call_1", "look", `{"text":`), chat.NewToolCall("call_1", "look", `{}`), chat.NewToolCall("call_1", "look", ``))
	b := f.begin("cli", "hello")
	_, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	for pos := range 3 {
		_, err := f.tool(b.TurnID, 1, pos)
		require.NoError(t, err)
	}
	rows := f.rows(b.TurnID)
	stored := rows[2].ToolCalls
	require.Equal(t, []string{"call_1", "call_1_2", "call_1_3"}, []string{stored[0].ID, stored[1].ID, stored[2].ID})
	require.JSONEq(t, `{"_unparsed":"{\"text\":"}`, stored[0].Function.Arguments)
	require.True(t, strings.HasPrefix(rows[3].Content, "Error:"), rows[3].Content)
	require.Contains(t, rows[3].Content, "JSON")
	require.Equal(t, "seen", strings.TrimSpace(rows[4].Content))

	_, err = f.ask(b.TurnID, 2)
	require.NoError(t, err)
	require.Equal(t, "call_1_4", f.rows(b.TurnID)[6].ToolCalls[0].ID, "ids are unique in the conversation")
}

func TestCallModel_IDsOfRowsThatNoRequestHolds_AreNotGivenAgain(t *testing.T) {
	f := newFixture(t)
	f.model.reply = func(ctx context.Context, req llm.Request, n int, d func(llm.Delta)) (llm.Response, error) {
		if n%2 == 0 {
			return says("done")(ctx, req, n, d)
		}
		return calls(chat.NewToolCall("call_1", "look", `{}`))(ctx, req, n, d)
	}
	use := func(content string) {
		b := f.begin("cli", content)
		_, err := f.ask(b.TurnID, 1)
		require.NoError(t, err)
		_, err = f.tool(b.TurnID, 1, 0)
		require.NoError(t, err)
		_, err = f.ask(b.TurnID, 2)
		require.NoError(t, err)
	}
	use("first")
	f.window = 1000
	use(strings.Repeat("long ", 2000))
	use("third")
	var ids []string
	b := f.begin("cli", "look at the rows")
	for _, r := range f.rows(b.TurnID) {
		for _, c := range r.ToolCalls {
			ids = append(ids, c.ID)
		}
	}
	require.Equal(t, []string{"call_1", "call_1_2", "call_1_3"}, ids)
}

func TestCallModel_ToolLimitReached_AsksOnceMoreWithoutTools(t *testing.T) {
	f := newFixture(t)
	f.agent.MaxToolIterations = 2
	n := 0
	f.model.reply = func(ctx context.Context, req llm.Request, _ int, d func(llm.Delta)) (llm.Response, error) {
		n++
		return calls(chat.NewToolCall(fmt.Sprint("c", n), "look", fmt.Sprintf(`{"text":"%d"}`, n)))(ctx, req, n, d)
	}
	b := f.begin("cli", "hello")
	for step := 1; step <= 2; step++ {
		r, err := f.ask(b.TurnID, step)
		require.NoError(t, err)
		require.Len(t, r.Calls, 1)
		_, err = f.tool(b.TurnID, step, 0)
		require.NoError(t, err)
	}
	r, err := f.ask(b.TurnID, 3)
	require.NoError(t, err)
	require.Empty(t, r.Calls, "calls made in spite of it are not run")
	require.True(t, f.model.calls[2].ForbidTools)
	require.NotEmpty(t, f.model.calls[2].Tools, "the tools are still named")
	require.Equal(t, chat.TurnCompleted, f.turn(b.TurnID).Status)
	require.Contains(t, f.last(b.TurnID), "max_tool_iterations")
}

func TestCallModel_SameFailingCallThreeTimes_ForbidsTools(t *testing.T) {
	f := newFixture(t)
	n := 0
	f.model.reply = func(ctx context.Context, req llm.Request, _ int, d func(llm.Delta)) (llm.Response, error) {
		n++
		if req.ForbidTools {
			return says("I give up")(ctx, req, n, d)
		}
		return calls(chat.NewToolCall(fmt.Sprint("c", n), "nonsense", `{}`))(ctx, req, n, d)
	}
	b := f.begin("cli", "hello")
	for step := 1; ; step++ {
		require.LessOrEqual(t, step, 4)
		r, err := f.ask(b.TurnID, step)
		require.NoError(t, err)
		if len(r.Calls) == 0 {
			require.Equal(t, 4, step)
			break
		}
		_, err = f.tool(b.TurnID, step, 0)
		require.NoError(t, err)
	}
	require.Equal(t, "I give up", f.last(b.TurnID))
}

func TestCallModel_TurnTooLongForTheWindow_NamesTheFileWithTheWhole(t *testing.T) {
	f := newFixture(t)
	f.window = 6000
	n := 0
	f.model.reply = func(ctx context.Context, req llm.Request, _ int, d func(llm.Delta)) (llm.Response, error) {
		n++
		return calls(chat.NewToolCall(fmt.Sprint("c", n), "look", fmt.Sprintf(`{"text":"%s"}`, strings.Repeat("x", 5000))))(ctx, req, n, d)
	}
	b := f.begin("cli", "hello")
	for step := 1; step <= 3; step++ {
		_, err := f.ask(b.TurnID, step)
		require.NoError(t, err)
		_, err = f.tool(b.TurnID, step, 0)
		require.NoError(t, err)
	}
	var told []string
	for _, m := range f.model.calls[2].Messages {
		if m.Role == chat.RoleTool {
			told = append(told, m.Content)
		}
	}
	require.Len(t, told, 2)
	require.Contains(t, told[0], ".picobot/output/look.txt")
	require.Contains(t, told[1], "xxxx", "the newest result stays whole")
	for _, r := range f.rows(b.TurnID) {
		if r.Role == chat.RoleTool {
			require.Contains(t, r.Content, "xxxx", "the record is untouched")
		}
	}
}

func TestCallModel_EndedOrCancelledTurn_IsLeftAlone(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	_, err := f.record.Cancel(t.Context(), f.turn(b.TurnID).SessionID, b.TurnID)
	require.NoError(t, err)
	_, err = f.ask(b.TurnID, 1)
	requireType(t, err, flow.ErrTypeCancelled)
	_, err = do[flow.FinishResult](f, f.env, flow.FinishTurn, flow.FinishInput{TurnID: b.TurnID, Status: chat.TurnCancelled})
	require.NoError(t, err)
	_, err = f.ask(b.TurnID, 1)
	requireType(t, err, flow.ErrTypeEnded)
	require.Zero(t, f.model.count())
}

func TestCallModel_CancelWhileItStreams_StopsItAtOnce(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	started := make(chan struct{})
	f.model.reply = func(ctx context.Context, _ llm.Request, _ int, _ func(llm.Delta)) (llm.Response, error) {
		close(started)
		<-ctx.Done()
		return llm.Response{}, &llm.Error{Kind: llm.KindCanceled, Err: ctx.Err()}
	}
	go func() {
		<-started
		_, err := f.record.Cancel(t.Context(), f.turn(b.TurnID).SessionID, b.TurnID)
		if err == nil {
			f.acts.CancelTurn(b.TurnID)
		}
	}()
	_, err := f.ask(b.TurnID, 1)
	requireType(t, err, flow.ErrTypeCancelled)
}

func TestCallModel_WorkerStops_IsARetryNotACancel(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	stop := make(chan struct{})
	f.env.SetWorkerStopChannel(stop)
	f.model.reply = func(ctx context.Context, _ llm.Request, _ int, _ func(llm.Delta)) (llm.Response, error) {
		close(stop)
		<-ctx.Done()
		return llm.Response{}, &llm.Error{Kind: llm.KindCanceled, Err: ctx.Err()}
	}
	_, err := f.ask(b.TurnID, 1)
	requireType(t, err, flow.ErrTypeShutdown)
	require.Equal(t, chat.TurnRunning, f.turn(b.TurnID).Status)
}

func TestCallModel_SecondAttemptInTheSameProcess_JoinsTheFirst(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	started, release := make(chan struct{}), make(chan struct{})
	f.model.reply = func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
		close(started)
		<-release
		return llm.Response{Content: "once", Stop: llm.StopEnd}, nil
	}
	errs := make(chan error, 2)
	go func() {
		_, err := f.ask(b.TurnID, 1)
		errs <- err
	}()
	<-started
	second := f.newEnv()
	go func() {
		_, err := do[flow.ModelResult](f, second, flow.CallModel, flow.ModelInput{TurnID: b.TurnID, Step: 1})
		errs <- err
	}()
	time.Sleep(50 * time.Millisecond)
	close(release)
	require.NoError(t, errors.Join(<-errs, <-errs))
	require.Equal(t, 1, f.model.count())
}

func requireType(t *testing.T, err error, want string) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, want, app.Type())
}
