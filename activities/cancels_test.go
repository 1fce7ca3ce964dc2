package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/flow"
	"picobot/store"
)

// Time passes in the bubble only while everybody in it waits: what is measured is what
// the code waits for. A heartbeat would bring the cancel after three seconds.
func TestFollowCancels_AnotherProcessCancels_WorkHereStopsBeforeItsNextHeartbeat(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(there *store.Store, turn store.Turn) error
		want string
	}{
		"stop": {func(there *store.Store, turn store.Turn) error {
			_, err := there.Cancel(context.Background(), turn.SessionID, turn.ID)
			return err
		}, flow.ErrTypeCancelled},
		"reset": {func(there *store.Store, turn store.Turn) error {
			return command(there, turn.SessionID, "reset", func(tx *store.CommandTx) error {
				_, err := tx.Reset(store.Finish{NotRun: "Error: no", Unknown: "Unknown outcome: gone"})
				return err
			})
		}, flow.ErrTypeEnded},
		"delete": {func(there *store.Store, turn store.Turn) error {
			return command(there, turn.SessionID, "delete", func(tx *store.CommandTx) error {
				_, _, err := tx.Delete(store.Finish{NotRun: "Error: no", Unknown: "Unknown outcome: gone"})
				return err
			})
		}, flow.ErrTypeEnded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				there, err := store.Open(t.Context(), store.Options{Path: f.recordPath(), Now: time.Now})
				require.NoError(t, err)
				ctx, stop := context.WithCancel(t.Context())
				followed := make(chan error, 1)
				go func() { followed <- f.acts.FollowCancels(ctx) }()
				turn := f.step(act("a", "slow"))
				asked := make(chan time.Time, 1)
				go func() {
					<-f.acted
					require.NoError(t, c.end(there, f.turn(turn)))
					asked <- time.Now()
				}()
				_, err = f.tool(turn, 1, 0)
				requireType(t, err, c.want)
				require.Less(t, time.Since(<-asked), time.Second)
				stop()
				require.NoError(t, <-followed)
				require.NoError(t, there.Close())
			})
		})
	}
}

func command(there *store.Store, sessionID, name string, run func(*store.CommandTx) error) error {
	_, err := there.RunCommand(context.Background(), store.Inbound{Channel: "cli", ChatID: "c", ExternalID: name, SessionID: sessionID, Content: "/" + name}, name,
		func(tx *store.CommandTx) (store.CommandAnswer, error) { return store.CommandAnswer{}, run(tx) })
	return err
}
