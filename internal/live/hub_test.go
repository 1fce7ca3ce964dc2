package live_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/live"
	"picobot/internal/llm"
)

func text(turn, s string) live.Progress {
	return live.Progress{TurnID: turn, Step: 1, Attempt: 1, Kind: llm.DeltaText, Text: s}
}

func taken(w *live.Watcher) []live.Progress {
	p, _ := w.Take()
	return p
}

func TestTake_TellsWhetherTheRecordChanged(t *testing.T) {
	h := live.NewHub()
	w := h.Watch("a")
	defer w.Close()
	changed := func() bool { _, c := w.Take(); return c }
	require.False(t, changed())
	h.Publish("a", text("t", "x"))
	require.False(t, changed(), "a piece of text is no change of the record")
	h.Wake("a")
	require.True(t, changed())
	require.False(t, changed())
	h.WakeAll()
	require.True(t, changed())
}

func TestPublish_ReachesWatchersOfTheSessionInOrder(t *testing.T) {
	h := live.NewHub()
	w, other := h.Watch("a"), h.Watch("b")
	defer w.Close()
	defer other.Close()
	h.Publish("a", text("t", "one "))
	h.Publish("a", live.Progress{TurnID: "t", Step: 1, Tool: &live.ToolStart{Name: "bash"}})
	h.Publish("a", text("t", "two"))
	<-w.C
	got, _ := w.Take()
	require.Len(t, got, 3)
	require.Equal(t, "one ", got[0].Text)
	require.Equal(t, "bash", got[1].Tool.Name)
	require.Empty(t, taken(w))
	require.Empty(t, taken(other))
}

func TestPublish_PiecesOfOneText_AreJoined(t *testing.T) {
	h := live.NewHub()
	w := h.Watch("a")
	defer w.Close()
	for i := range 100 {
		h.Publish("a", text("t", strconv.Itoa(i%10)))
	}
	got, _ := w.Take()
	require.Len(t, got, 1)
	require.Equal(t, strings.Repeat("0123456789", 10), got[0].Text)
}

func TestPublish_WatcherThatNeverTakes_IsBounded(t *testing.T) {
	h := live.NewHub()
	w := h.Watch("a")
	defer w.Close()
	for i := range 5000 {
		h.Publish("a", text(strconv.Itoa(i), "x"))
	}
	require.Len(t, taken(w), 1024)
}

func TestClose_StopsWatching(t *testing.T) {
	h := live.NewHub()
	w := h.Watch("a")
	w.Close()
	w.Close()
	h.Publish("a", text("t", "x"))
	h.Wake("a")
	h.WakeAll()
	require.Empty(t, taken(w))
	select {
	case <-w.C:
		t.Fatal("woken after Close")
	default:
	}
}
