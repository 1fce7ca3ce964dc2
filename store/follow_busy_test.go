package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Updates here may wait for a transaction of another process. What others wrote before
// must not wait with them.
func TestFollow_UpdatesHereAreHeldUp_OthersAreFollowedAllTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	here, err := Open(t.Context(), Options{Path: path, Now: time.Now})
	require.NoError(t, err)
	there, err := Open(t.Context(), Options{Path: path, Now: time.Now})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done, told := make(chan error, 1), make(chan bool)
	go func() {
		done <- here.Follow(ctx, time.Millisecond, func(elsewhere bool) { told <- elsewhere })
	}()
	require.True(t, <-told)
	here.writer.lock <- struct{}{} // as an update has it
	_, err = there.Accept(t.Context(), Inbound{Channel: "cli", ChatID: "c", ExternalID: "1", SenderID: "c", Content: "hi"})
	require.NoError(t, err)
	require.True(t, <-told)
	<-here.writer.lock
	stop()
	require.NoError(t, <-done)
	require.NoError(t, there.Close())
	require.NoError(t, here.Close())
}
