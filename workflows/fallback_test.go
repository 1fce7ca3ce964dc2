package workflows_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"picobot/internal/chat"
	"picobot/internal/flow"
)

// models is a turn's begin with several models, and what each of them does at each
// step: "call" asks for a tool, "done" answers, anything else is how it fails.
type models struct {
	names []string
	does  func(model string, step int) string
	asked []string
}

func (m *models) begun() flow.Begun {
	b := turn("t1")
	b.Models, b.Keep = m.names, true
	return b
}

func (m *models) answer(_ context.Context, in flow.ModelInput) (flow.ModelResult, error) {
	name := m.names[in.Model]
	what := m.does(name, in.Step)
	line := fmt.Sprintf("%d %s: %s", in.Step, name, what)
	if in.Fallback != "" {
		line += ", then " + in.Fallback
	}
	m.asked = append(m.asked, line)
	switch what {
	case "done":
		return flow.ModelResult{}, nil
	case "call":
		return flow.ModelResult{Calls: []flow.Call{{Name: "x"}}}, nil
	}
	return flow.ModelResult{}, temporal.NewApplicationErrorWithOptions(what, flow.ErrTypeModel, temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{flow.Failure{Code: what, Model: name, Provider: "p"}}})
}

func (m *models) run(t *testing.T, b flow.Begun) *script {
	t.Helper()
	s := &script{begun: []flow.Begun{b}, model: m.answer}
	require.NoError(t, run(s.env(t)))
	return s
}

func TestSession_EveryModelFails_FailsTheTurnAndSaysOfEachWhy(t *testing.T) {
	m := &models{names: []string{"main", "spare", "last"}, does: func(model string, _ int) string {
		return map[string]string{"main": "auth", "spare": "overloaded", "last": "quota"}[model]
	}}
	s := m.run(t, m.begun())
	require.Equal(t, []string{"1 main: auth, then spare", "1 spare: overloaded, then last", "1 last: quota"}, m.asked)
	require.Equal(t, []flow.FinishInput{{TurnID: "t1", Status: chat.TurnFailed,
		Failure: flow.Failure{Code: "auth", Model: "main", Provider: "p"},
		Others:  []flow.Failure{{Code: "overloaded", Model: "spare", Provider: "p"}, {Code: "quota", Model: "last", Provider: "p"}},
	}}, s.finished)
}

func TestSession_FallbackAnswers_StaysForTheTurn(t *testing.T) {
	m := &models{names: []string{"main", "spare"}, does: func(model string, step int) string {
		switch {
		case model == "main" && step > 1:
			return "auth"
		case step < 4:
			return "call"
		}
		return "done"
	}}
	s := m.run(t, m.begun())
	require.Equal(t, []string{"1 main: call, then spare", "2 main: auth, then spare", "2 spare: call", "3 spare: call, then main", "4 spare: done, then main"}, m.asked)
	require.Empty(t, s.finished)
}

func TestSession_FallbackFailsLater_TheOthersAreAskedAgain(t *testing.T) {
	m := &models{names: []string{"main", "spare"}, does: func(model string, step int) string {
		switch {
		case step == 1 && model == "main", step == 2 && model == "spare":
			return "overloaded"
		case step == 1:
			return "call"
		}
		return "done"
	}}
	m.run(t, m.begun())
	require.Equal(t, []string{"1 main: overloaded, then spare", "1 spare: call", "2 spare: overloaded, then main", "2 main: done"}, m.asked)
}

func TestSession_BegunWhereAFallbackAnswered_GoesOnWithIt(t *testing.T) {
	m := &models{names: []string{"main", "spare"}, does: func(string, int) string { return "done" }}
	b := m.begun()
	b.Step, b.Model = 3, 1
	m.run(t, b)
	require.Equal(t, []string{"3 spare: done, then main"}, m.asked)
}

// Runs that an earlier build began go on as they were: their history has to replay.
func TestSession_BegunByAnEarlierBuild_AsksTheFirstModelAtEachStep(t *testing.T) {
	m := &models{names: []string{"main", "spare"}, does: func(model string, step int) string {
		switch {
		case model == "main":
			return "auth"
		case step == 1:
			return "call"
		}
		return "done"
	}}
	b := m.begun()
	b.Keep, b.Model = false, 1
	m.run(t, b)
	require.Equal(t, []string{"1 main: auth, then spare", "1 spare: call", "2 main: auth, then spare", "2 spare: done"}, m.asked)
}
