package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"picobot/activities"
	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/store"
)

// preparer adds a picture, or fails.
type preparer struct {
	err  error
	last []bool
}

func (p *preparer) Prepare(_ context.Context, m store.InboundMessage, last bool) (string, []chat.MediaRef, error) {
	p.last = append(p.last, last)
	return m.Content + " whole", []chat.MediaRef{{Type: "image", Path: "x.png"}}, p.err
}

func (f *fixture) beginUnprepared(channel string) flow.Begun {
	f.Helper()
	a, err := f.record.Accept(f.Context(), store.Inbound{Channel: channel, ChatID: "c", ExternalID: "u", SenderID: "me", Content: "hi", Unprepared: true})
	require.NoError(f, err)
	b := f.beginAgain(a.SessionID)
	require.True(f, b.Prepare)
	require.Equal(f, a.Turn.ID, b.TurnID)
	return b
}

func (f *fixture) prepare(turnID string, attempts int) error {
	_, err := f.env.ExecuteActivity(flow.Prepare, flow.PrepareInput{TurnID: turnID, Attempts: attempts})
	return err
}

func TestPrepare_MakesTheMessageWhole_Once(t *testing.T) {
	f := newFixture(t)
	b := f.beginUnprepared("feishu")
	for range 2 {
		require.NoError(t, f.prepare(b.TurnID, 5))
	}
	require.Equal(t, []bool{false}, f.preparer.last)
	b = f.beginAgain(f.turn(b.TurnID).SessionID)
	require.False(t, b.Prepare)
	rows := f.rows(b.TurnID)
	require.Equal(t, "hi whole", rows[len(rows)-1].Content)
	require.Len(t, rows[len(rows)-1].Media, 1)
}

func TestPrepare_Fails_ItIsTriedAgainAndTheLastTimeKnows(t *testing.T) {
	f := newFixture(t)
	f.preparer.err = errors.New("no answer")
	b := f.beginUnprepared("feishu")
	require.ErrorContains(t, f.prepare(b.TurnID, 5), "no answer")
	f.preparer.err = nil
	require.NoError(t, f.prepare(b.TurnID, 1))
	require.Equal(t, []bool{false, true}, f.preparer.last)
}

// A file that takes the process down each time must not keep its turn from beginning.
func TestPrepare_ThatNeverReturns_IsDoneWithoutInTheEnd(t *testing.T) {
	f := newFixture(t)
	b := f.beginUnprepared("feishu")
	session := f.turn(b.TurnID).SessionID
	for n := 0; b.Prepare; n++ {
		require.Less(t, n, 10)
		b = f.beginAgain(session)
	}
	require.Empty(t, b.Failure.Code)
	require.Contains(t, f.last(b.TurnID), "could not be fetched")
}

func TestPrepare_ChannelThatIsOffHere_BeginsWithoutWhatIsMissing(t *testing.T) {
	f := newFixture(t)
	b := f.beginUnprepared("cli")
	require.NoError(t, f.prepare(b.TurnID, 5))
	b = f.beginAgain(f.turn(b.TurnID).SessionID)
	require.False(t, b.Prepare)
	require.Contains(t, f.last(b.TurnID), "could not be fetched")
}

func TestDeliver_ChannelThatWantsToWait_IsAskedAgainThen(t *testing.T) {
	f := newFixture(t)
	b := f.begin("feishu", "hello")
	r, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	f.sender.err = &activities.LaterError{After: 30 * time.Second, Why: "too much at once"}
	_, err = f.env.ExecuteActivity(flow.Deliver, r.Outbound[0])
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok, "%v", err)
	require.False(t, app.NonRetryable())
	require.Equal(t, 30*time.Second, app.NextRetryDelay())
	o, err := f.record.Outbound(t.Context(), r.Outbound[0])
	require.NoError(t, err)
	require.Equal(t, "pending", o.Status)
	require.Equal(t, "too much at once", o.Error)
}
