package id_test

import (
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/id"
)

func TestNew_SameMillisecond_GrowsStrictly(t *testing.T) {
	m := id.NewMaker(func() time.Time { return time.Unix(1_700_000_000, 0) })
	var ids []string
	for range 1000 {
		ids = append(ids, m.New())
	}
	require.True(t, sort.StringsAreSorted(ids))
	require.Len(t, ids[0], 26)
}

func TestNew_ManyAtOnce_AreDistinct(t *testing.T) {
	m := id.NewMaker(time.Now)
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				n := m.New()
				mu.Lock()
				seen[n] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, seen, 4000)
}
