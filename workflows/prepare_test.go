package workflows_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/flow"
)

func TestSession_MessageThatIsNotWhole_IsPreparedBeforeItsTurnBegins(t *testing.T) {
	waiting := flow.Begun{TurnID: "t1", Prepare: true}
	var asked []flow.PrepareInput
	s := &script{begun: []flow.Begun{waiting, turn("t1")}, model: done, prepare: func(in flow.PrepareInput) error {
		asked = append(asked, in)
		if len(asked) == 1 {
			return errors.New("feishu does not answer")
		}
		return nil
	}}
	require.NoError(t, run(s.env(t)))
	require.Equal(t, []flow.PrepareInput{{TurnID: "t1", Attempts: 5}, {TurnID: "t1", Attempts: 5}}, asked)
	require.Equal(t, []flow.ModelInput{{TurnID: "t1", Step: 1}}, s.calls)
}

// The next begin counts and goes on without what is missing: nothing may wait for ever.
func TestSession_PreparingFailsForGood_TheNextBeginDecides(t *testing.T) {
	tries := 0
	s := &script{begun: []flow.Begun{{TurnID: "t1", Prepare: true}, turn("t1")}, model: done, prepare: func(flow.PrepareInput) error {
		tries++
		return errors.New("no")
	}}
	require.NoError(t, run(s.env(t)))
	require.Equal(t, 5, tries)
	require.Len(t, s.calls, 1)
}

func TestSession_CancelledBeforeItIsWhole_IsNotPrepared(t *testing.T) {
	s := &script{begun: []flow.Begun{{TurnID: "t1", Prepare: true, Cancelled: true}}, model: done, prepare: func(flow.PrepareInput) error {
		t.Error("prepared")
		return nil
	}}
	require.NoError(t, run(s.env(t)))
	require.Equal(t, []flow.FinishInput{{TurnID: "t1", Status: chat.TurnCancelled}}, s.finished)
}
