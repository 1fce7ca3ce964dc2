package activities_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/llm"
	"picobot/store"
)

func (f *fixture) modelCalls(turnID string) []store.ModelCall {
	f.Helper()
	out, err := f.record.ModelCalls(f.Context(), turnID)
	require.NoError(f, err)
	return out
}

func TestCallModel_FailedAttempt_IsRecordedWithWhatItCost(t *testing.T) {
	f := newFixture(t)
	f.agent.Models = []string{"main", "spare"}
	f.model.reply = func(_ context.Context, req llm.Request, _ int, _ func(llm.Delta)) (llm.Response, error) {
		u := chat.Usage{PromptTokens: 10, CompletionTokens: 5, CachedTokens: 4, ReasoningTokens: 2}
		if req.Model.Name == "main" {
			return llm.Response{Usage: u}, &llm.Error{Kind: llm.KindOverloaded, Model: "main"}
		}
		return llm.Response{Content: "hi", Stop: llm.StopEnd, Usage: u}, nil
	}
	b := f.begin("cli", "hello")
	_, err := f.ask(b.TurnID, 1)
	require.Error(t, err)
	require.EqualValues(t, 10, f.turn(b.TurnID).Usage.PromptTokens)
	_, err = do[flow.ModelResult](f, f.env, flow.CallModel, flow.ModelInput{TurnID: b.TurnID, Step: 1, Model: 1})
	require.NoError(t, err)
	require.Equal(t, chat.Usage{PromptTokens: 20, CompletionTokens: 10, CachedTokens: 8, ReasoningTokens: 4}, f.turn(b.TurnID).Usage)
	got := f.modelCalls(b.TurnID)
	require.Len(t, got, 2)
	require.Equal(t, []string{"main", "overloaded", "failed"}, []string{got[0].Model, got[0].Error, got[0].Status()})
	require.Equal(t, []string{"spare", "", "completed"}, []string{got[1].Model, got[1].Error, got[1].Status()})
	require.Equal(t, []int{1, 1, 1}, []int{got[1].ModelIndex, got[1].Attempt, got[1].Step})
	require.Equal(t, chat.Usage{PromptTokens: 10, CompletionTokens: 5, CachedTokens: 4, ReasoningTokens: 2}, got[0].Usage)
}

func TestCallModel_EmptyAnswerAskedForAgain_IsTwoCalls(t *testing.T) {
	f := newFixture(t)
	f.model.reply = says("")
	b := f.begin("cli", "hello")
	_, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	require.Len(t, f.modelCalls(b.TurnID), 2)
}

func TestCallModel_AnswerAfterACancel_IsPaidFor(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	f.model.reply = func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
		_, err := f.record.Cancel(context.Background(), f.turn(b.TurnID).SessionID, b.TurnID)
		require.NoError(t, err)
		return llm.Response{Content: "too late", Stop: llm.StopEnd, Usage: chat.Usage{PromptTokens: 3}}, nil
	}
	_, err := f.ask(b.TurnID, 1)
	require.Error(t, err)
	require.EqualValues(t, 3, f.turn(b.TurnID).Usage.PromptTokens)
	got := f.modelCalls(b.TurnID)
	require.Len(t, got, 1)
	require.Equal(t, "completed", got[0].Status(), "the model did answer")
}

func TestCallModel_StepHasItsAnswer_IsBilledOnce(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	for range 3 {
		_, err := f.ask(b.TurnID, 1)
		require.NoError(t, err)
	}
	require.Len(t, f.modelCalls(b.TurnID), 1)
	require.EqualValues(t, 1, f.turn(b.TurnID).Usage.PromptTokens)
}

// What a model saw can be told from the record: which rows, and which only as stubs.
func TestCallModel_EachCallNamesTheRowsOfItsRequest(t *testing.T) {
	f := newFixture(t)
	f.window = 4200
	turn := f.step(chat.NewToolCall("a", "look", `{"text":"`+strings.Repeat("x", 3000)+`"}`), chat.NewToolCall("b", "look", `{"text":"b"}`))
	for pos := range 2 {
		_, err := f.tool(turn, 1, pos)
		require.NoError(t, err)
	}
	f.model.reply = calls(chat.NewToolCall("c", "look", `{"text":"`+strings.Repeat("y", 3000)+`"}`))
	_, err := f.ask(turn, 2)
	require.NoError(t, err)
	_, err = f.tool(turn, 2, 0)
	require.NoError(t, err)
	f.model.reply = says("done")
	_, err = f.ask(turn, 3)
	require.NoError(t, err)

	made, err := f.record.ModelCalls(t.Context(), turn)
	require.NoError(t, err)
	require.Len(t, made, 3)
	require.Equal(t, "1-2", made[0].Rows.String(), "the agent's prompt and the message")
	require.Equal(t, "1-5", made[1].Rows.String(), "and the call with its results")
	require.Empty(t, made[0].Stubs)
	require.Equal(t, "1-7", made[2].Rows.String())
	require.Equal(t, "4", made[2].Stubs.String(), "the first result is only named")
	for i, req := range f.model.calls {
		var rows []int64
		for _, m := range req.Messages {
			if m.Seq != 0 {
				rows = append(rows, m.Seq)
			}
		}
		require.Equal(t, store.NewSeqs(rows), made[i].Rows)
	}
}
