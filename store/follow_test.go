package store_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/store"
)

// Time passes in the bubble only while everybody in it waits, so what is measured is
// what the code waits for, and no machine is too slow for it.
func TestFollow_AnotherProcessWrites_IsNoticedWithinOnePeriod(t *testing.T) {
	const every = 50 * time.Millisecond
	path := filepath.Join(t.TempDir(), "sessions.db")
	synctest.Test(t, func(t *testing.T) {
		here, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
		require.NoError(t, err)
		there, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
		require.NoError(t, err)
		var mu sync.Mutex
		var noticed []time.Time
		times := func() []time.Time {
			mu.Lock()
			defer mu.Unlock()
			return append([]time.Time(nil), noticed...)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- here.Follow(ctx, every, func(bool) {
				mu.Lock()
				defer mu.Unlock()
				noticed = append(noticed, time.Now())
			})
		}()
		time.Sleep(10 * every)
		require.Len(t, times(), 1, "at the start, and not again while nobody writes")
		for i := range 20 {
			time.Sleep(time.Duration(i) * 7 * time.Millisecond) // at any point of a period
			accept(t, there, message(string(rune(97+i)), "hi"))
			wrote := time.Now()
			before := len(times())
			time.Sleep(every)
			synctest.Wait()
			got := times()
			require.Len(t, got, before+1)
			require.LessOrEqual(t, got[before].Sub(wrote), every)
		}
		stop()
		require.NoError(t, <-done, "its end is no failure")
		require.NoError(t, there.Close())
		require.NoError(t, here.Close())
	})
}

// Every commit here would wake every client of the gateway, if it were taken for another
// process's.
func TestFollow_WhoWrites_IsToldApart(t *testing.T) {
	const every = 50 * time.Millisecond
	path := filepath.Join(t.TempDir(), "sessions.db")
	synctest.Test(t, func(t *testing.T) {
		here, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
		require.NoError(t, err)
		there, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		done, told := make(chan error, 1), make(chan bool, 100)
		go func() {
			done <- here.Follow(ctx, every, func(elsewhere bool) { told <- elsewhere })
		}()
		require.True(t, <-told, "whoever wrote before")
		for i := range 20 {
			accept(t, here, message("here "+string(rune(97+i)), "hi"))
			require.False(t, <-told)
			accept(t, there, message("there "+string(rune(97+i)), "hi"))
			require.True(t, <-told)
			accept(t, there, message("both there "+string(rune(97+i)), "hi"))
			accept(t, here, message("both here "+string(rune(97+i)), "hi"))
			require.True(t, <-told)
		}
		stop()
		require.NoError(t, <-done)
		require.Empty(t, told)
		require.NoError(t, there.Close())
		require.NoError(t, here.Close())
	})
}
