package activities_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/activities"
	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/store"
)

// step makes the model ask for calls and returns the turn at its first step.
func (f *fixture) step(cs ...chat.ToolCall) string {
	f.Helper()
	f.model.reply = calls(cs...)
	b := f.begin("cli", "hello")
	r, err := f.ask(b.TurnID, 1)
	require.NoError(f, err)
	require.Len(f, r.Calls, len(cs))
	return b.TurnID
}

func act(id, text string) chat.ToolCall {
	return chat.NewToolCall(id, "act", fmt.Sprintf(`{"text":%q}`, text))
}

func TestRunTool_RunTwice_ActsOnce(t *testing.T) {
	f := newFixture(t)
	turn := f.step(act("a", "x"), act("b", "y"))
	for range 2 {
		r, err := f.tool(turn, 1, 0)
		require.NoError(t, err)
		require.Equal(t, chat.ToolCompleted, r.Status)
	}
	require.Len(t, f.acted, 1)
}

func TestRunTool_ClaimedByADeadAttempt_IsUnknownAndNotRun(t *testing.T) {
	f := newFixture(t)
	turn := f.step(act("a", "x"))
	_, fresh, err := f.record.ClaimTool(t.Context(), store.ToolRun{TurnID: turn, Step: 1, CallID: "a", Name: "act", Effect: "outside"})
	require.NoError(t, err)
	require.True(t, fresh)
	r, err := f.tool(turn, 1, 0)
	require.NoError(t, err)
	require.Equal(t, chat.ToolUnknown, r.Status)
	require.Empty(t, f.acted)
	require.True(t, strings.HasPrefix(f.last(turn), "Unknown outcome:"))
}

func TestRunTool_ReadOnly_ClaimsNothing(t *testing.T) {
	f := newFixture(t)
	turn := f.step(chat.NewToolCall("a", "look", `{}`))
	r, err := f.tool(turn, 1, 0)
	require.NoError(t, err)
	require.Equal(t, chat.ToolCompleted, r.Status)
	require.Equal(t, 1, f.readRuns)
}

func TestRunTool_UnknownToolOrArgument_IsAnErrorForTheModel(t *testing.T) {
	f := newFixture(t)
	turn := f.step(chat.NewToolCall("a", "nonsense", `{}`), chat.NewToolCall("b", "act", `{"wrong":1}`))
	for pos := range 2 {
		r, err := f.tool(turn, 1, pos)
		require.NoError(t, err)
		require.Equal(t, chat.ToolFailed, r.Status)
	}
	for _, row := range f.rows(turn)[3:] {
		require.True(t, strings.HasPrefix(row.Content, "Error:"))
	}
	require.Empty(t, f.acted)
}

func TestRunTool_Cancelled_KeepsWhatTheToolDidAndSaysSo(t *testing.T) {
	f := newFixture(t)
	turn := f.step(act("a", "slow"))
	go func() {
		<-f.acted
		if _, err := f.record.Cancel(t.Context(), f.turn(turn).SessionID, turn); err == nil {
			f.acts.CancelTurn(turn)
		}
	}()
	_, err := f.tool(turn, 1, 0)
	requireType(t, err, flow.ErrTypeCancelled)
	_, err = do[flow.FinishResult](f, f.env, flow.FinishTurn, flow.FinishInput{TurnID: turn, Status: chat.TurnCancelled})
	require.NoError(t, err)
	require.Contains(t, f.last(turn), "stopped by the user")
	require.Contains(t, f.last(turn), "half done")
	require.Equal(t, chat.TurnCancelled, f.turn(turn).Status)
}

func TestRunTool_WorkerStops_LeavesAKnownResult(t *testing.T) {
	f := newFixture(t)
	turn := f.step(act("a", "slow"))
	stop := make(chan struct{})
	f.env.SetWorkerStopChannel(stop)
	go func() {
		<-f.acted
		close(stop)
	}()
	r, err := f.tool(turn, 1, 0)
	require.NoError(t, err)
	require.Equal(t, chat.ToolFailed, r.Status)
	require.Contains(t, f.last(turn), "stopped by shutdown")
	require.Equal(t, 2, f.beginAgain(f.turn(turn).SessionID).Step, "the turn goes on after it")
}

func TestRunTool_CancelWasAskedFor_RunsNothing(t *testing.T) {
	f := newFixture(t)
	turn := f.step(act("a", "x"), chat.NewToolCall("b", "look", `{}`))
	_, err := f.record.Cancel(t.Context(), f.turn(turn).SessionID, turn)
	require.NoError(t, err)
	for pos := range 2 {
		_, err = f.tool(turn, 1, pos)
		requireType(t, err, flow.ErrTypeCancelled)
	}
	require.Empty(t, f.acted)
	require.Zero(t, f.readRuns)
}

func TestRunTool_ReadOnlyWhenTheWorkerStops_LeavesNothingAndRunsAgain(t *testing.T) {
	f := newFixture(t)
	turn := f.step(chat.NewToolCall("a", "look", `{"text":"slow"}`))
	stop := make(chan struct{})
	env := f.newEnv()
	env.SetWorkerStopChannel(stop)
	go func() {
		<-f.acted
		close(stop)
	}()
	_, err := do[flow.ToolResult](f, env, flow.RunTool, flow.ToolInput{TurnID: turn, Step: 1})
	requireType(t, err, flow.ErrTypeShutdown)
	require.Len(t, f.beginAgain(f.turn(turn).SessionID).Calls, 1, "the call is still open")
	close(f.release)
	r, err := f.tool(turn, 1, 0)
	require.NoError(t, err)
	require.Equal(t, chat.ToolCompleted, r.Status)
	require.Equal(t, 2, f.readRuns)
	require.Contains(t, f.last(turn), "seen slow")
}

func TestRunTool_ReadOnlyWhenCancelled_LeavesNothing(t *testing.T) {
	f := newFixture(t)
	turn := f.step(chat.NewToolCall("a", "look", `{"text":"slow"}`))
	go func() {
		<-f.acted
		if _, err := f.record.Cancel(f.Context(), f.turn(turn).SessionID, turn); err == nil {
			f.acts.CancelTurn(turn)
		}
	}()
	_, err := f.tool(turn, 1, 0)
	requireType(t, err, flow.ErrTypeCancelled)
	require.Len(t, f.beginAgain(f.turn(turn).SessionID).Calls, 1, "the call is still open")
}

func TestRunTool_EndedTurn_ActsNot(t *testing.T) {
	f := newFixture(t)
	turn := f.step(act("a", "x"))
	_, err := do[flow.FinishResult](f, f.env, flow.FinishTurn, flow.FinishInput{TurnID: turn, Status: chat.TurnFailed, Failure: flow.Failure{Code: flow.CodePoisoned}})
	require.NoError(t, err)
	_, err = f.tool(turn, 1, 0)
	require.NoError(t, err, "the call has a result: it was not run")
	require.Empty(t, f.acted)
	require.Contains(t, f.last(turn), "process died")
}

func TestBegin_DescribesOpenCallsForPeople(t *testing.T) {
	f := newFixture(t)
	turn := f.step(act("a", "x"), act("b", "y"))
	_, err := f.tool(turn, 1, 0)
	require.NoError(t, err)
	b := f.beginAgain(f.turn(turn).SessionID)
	require.Equal(t, turn, b.TurnID)
	require.Len(t, b.Calls, 1)
	require.Equal(t, 1, b.Calls[0].Position)
	require.Contains(t, b.Calls[0].Summary, "act")
	require.Equal(t, []string{"main"}, b.Models)
}

func TestCalls_SayWhetherTheyAct(t *testing.T) {
	f := newFixture(t)
	f.model.reply = calls(chat.NewToolCall("a", "look", `{}`), act("b", "x"), chat.NewToolCall("c", "act", `{"wrong":1}`), chat.NewToolCall("d", "nonsense", `{}`))
	b := f.begin("cli", "hello")
	r, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	want := []bool{false, true, false, false} // what will be refused changes nothing
	for _, open := range [][]flow.Call{r.Calls, f.beginAgain(f.turn(b.TurnID).SessionID).Calls} {
		var got []bool
		for _, c := range open {
			got = append(got, c.Acts)
		}
		require.Equal(t, want, got)
	}
}

func TestBegin_SixthClaimWithoutProgress_IsPoisoned(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	for range 4 {
		b = f.beginAgain(f.turn(b.TurnID).SessionID)
		require.Empty(t, b.Failure.Code)
	}
	require.Equal(t, flow.CodePoisoned, f.beginAgain(f.turn(b.TurnID).SessionID).Failure.Code)
}

func TestBegin_UnusablePrompt_FailsTheTurnWithTheReason(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(f.dir, "AGENT.md")
	require.NoError(t, os.WriteFile(path, make([]byte, 300<<10), 0o600))
	b := f.begin("cli", "hello")
	require.Equal(t, flow.CodePrompt, b.Failure.Code)
	_, err := do[flow.FinishResult](f, f.env, flow.FinishTurn, flow.FinishInput{TurnID: b.TurnID, Status: chat.TurnFailed, Failure: b.Failure})
	require.NoError(t, err)
	require.Contains(t, f.last(b.TurnID), "shorten it")
	require.NoError(t, os.WriteFile(path, []byte("be good"), 0o600))
	require.Empty(t, f.begin("cli", "again").Failure.Code)
}

func TestFinish_EachFailure_IsASentenceThatSaysWhatFailed(t *testing.T) {
	for code, want := range map[string]string{
		"auth":            "gpt",
		"rate_limited":    "gpt",
		"bad_request":     "no such thing",
		flow.CodeInternal: "",
		flow.CodePoisoned: "process died",
	} {
		f := newFixture(t)
		b := f.begin("feishu", "hello")
		out, err := do[flow.FinishResult](f, f.env, flow.FinishTurn, flow.FinishInput{TurnID: b.TurnID, Status: chat.TurnFailed,
			Failure: flow.Failure{Code: code, Model: "gpt", Provider: "p", Detail: "no such thing"}})
		require.NoError(t, err)
		require.Len(t, out.Outbound, 1)
		turn := f.turn(b.TurnID)
		require.Equal(t, code, turn.ErrorCode)
		require.Contains(t, turn.Error, want)
		rows := f.rows(b.TurnID)
		require.Equal(t, chat.MarkerError, rows[len(rows)-1].Marker)
	}
}

func TestDeliver_Outcomes(t *testing.T) {
	f := newFixture(t)
	b := f.begin("feishu", "hello")
	r, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	id := r.Outbound[0]
	deliver := func() error {
		_, err := f.env.ExecuteActivity(flow.Deliver, id)
		return err
	}
	status := func() string {
		o, err := f.record.Outbound(t.Context(), id)
		require.NoError(t, err)
		return o.Status
	}
	f.sender.err = errors.New("busy")
	require.Error(t, deliver())
	require.Equal(t, "pending", status())
	f.sender.err = activities.ErrNobodyThere
	require.NoError(t, deliver())
	require.Equal(t, "pending", status())
	f.sender.err = nil
	require.NoError(t, deliver())
	require.Equal(t, "sent", status())
	require.NoError(t, deliver())
	require.Equal(t, []string{"hi"}, f.sender.sent, "a sent message is not sent again")
}

func TestDeliver_RefusedForGood_IsRecordedAndNotRetried(t *testing.T) {
	f := newFixture(t)
	b := f.begin("feishu", "hello")
	r, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	f.sender.err = fmt.Errorf("%w: the chat was dissolved", activities.ErrRefused)
	_, err = f.env.ExecuteActivity(flow.Deliver, r.Outbound[0])
	requireType(t, err, flow.ErrTypeDelivery)
	o, err := f.record.Outbound(t.Context(), r.Outbound[0])
	require.NoError(t, err)
	require.Equal(t, "failed", o.Status)
	require.Contains(t, o.Error, "dissolved")
}
