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
			_, err := there.Cancel(context.Background(), f.turn(turn).SessionID, turn)
			require.NoError(t, err)
			asked <- time.Now()
		}()
		_, err = f.tool(turn, 1, 0)
		requireType(t, err, flow.ErrTypeCancelled)
		require.Less(t, time.Since(<-asked), time.Second)
		stop()
		require.NoError(t, <-followed)
		require.NoError(t, there.Close())
	})
}
