package live_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/live"
	words "picobot/internal/text"
)

func tapped(tap *live.Tap) []live.News {
	n, _ := tap.Take()
	return n
}

func TestTap_HasTheNewsOfEverySessionInOrder(t *testing.T) {
	h := live.NewHub()
	tap := h.Tap()
	defer tap.Close()
	h.Publish("a", text("t", "one "))
	require.False(t, tap.Urgent(), "text may wait a little")
	h.Publish("b", text("u", "other"))
	h.Publish("a", text("t", "two"))
	h.Publish("a", live.Progress{TurnID: "t", Step: 1, Tool: &live.ToolStart{Name: "bash"}})
	require.True(t, tap.Urgent())
	h.Wake("c")
	<-tap.C
	require.Equal(t, []live.News{
		{SessionID: "a", Progress: []live.Progress{text("t", "one two"), {TurnID: "t", Step: 1, Tool: &live.ToolStart{Name: "bash"}}}},
		{SessionID: "b", Progress: []live.Progress{text("u", "other")}},
		{SessionID: "c", Changed: true},
	}, tapped(tap))
	require.Empty(t, tapped(tap))
	require.False(t, tap.Urgent())
}

func TestPass_NewsOfAnotherProcess_ReachTheWatchersHereAsIfItWereThisOne(t *testing.T) {
	there, here := live.NewHub(), live.NewHub()
	tap, w, other := there.Tap(), here.Watch("a"), here.Watch("b")
	there.Publish("a", text("t", "hello"))
	there.Publish("a", live.Progress{TurnID: "t", Step: 1, Attempt: 2, Notice: live.NewNotice("n", func(c *words.Catalogue) string { return "in " + c.Locale() })})
	there.Wake("a")
	wire, err := json.Marshal(tapped(tap))
	require.NoError(t, err)
	var news []live.News
	require.NoError(t, json.Unmarshal(wire, &news))
	here.Pass(news)
	<-w.C
	got, changed := w.Take()
	require.True(t, changed)
	require.Len(t, got, 2)
	require.Equal(t, text("t", "hello"), got[0])
	require.Equal(t, "in zh-CN", got[1].Notice.In(words.For("zh")))
	require.Equal(t, "in en", got[1].Notice.In(words.For("fr")))
	got, changed = other.Take()
	require.Empty(t, got)
	require.False(t, changed)
}

func TestTap_NobodyTakes_IsBoundedAndSaysWhatIsMissing(t *testing.T) {
	h := live.NewHub()
	tap := h.Tap()
	defer tap.Close()
	long := strings.Repeat("x", 10_000)
	for i := range 1000 {
		h.Publish(strconv.Itoa(i), text("t", long))
	}
	news, lost := tap.Take()
	size := 0
	for _, n := range news {
		size += len(n.Progress[0].Text)
	}
	require.LessOrEqual(t, size, 1<<20)
	require.Greater(t, len(news), 90)
	require.Equal(t, 1000, len(news)+lost)
	for i := range 1_000_000 {
		h.Wake(strconv.Itoa(i))
	}
	news, lost = tap.Take()
	require.Less(t, len(news), 20_000)
	require.Equal(t, 1_000_000, len(news)+lost)
	h.Publish("a", text("t", "x"))
	require.Len(t, tapped(tap), 1, "there is room again")
}

func TestTap_Closed_ReceivesNothing(t *testing.T) {
	h := live.NewHub()
	old := h.Tap()
	tap := h.Tap()
	old.Close() // not the one that took its place
	h.Wake("a")
	require.Len(t, tapped(tap), 1)
	require.Empty(t, tapped(old))
	tap.Close()
	h.Wake("a")
	require.Empty(t, tapped(tap))
}

func TestPass_FirstPieceOfAStepAndEachTool_HaveTheRecordLookedAt(t *testing.T) {
	h := live.NewHub()
	w := h.Watch("a")
	defer w.Close()
	changed := func(p live.Progress) bool {
		h.Pass([]live.News{{SessionID: "a", Progress: []live.Progress{p}}})
		got, c := w.Take()
		require.Equal(t, []live.Progress{p}, got)
		return c
	}
	second := text("t", "x")
	second.Step = 2
	require.True(t, changed(text("t", "x")))
	require.False(t, changed(text("t", "y")))
	require.True(t, changed(second))
	require.True(t, changed(live.Progress{TurnID: "t", Step: 2, Tool: &live.ToolStart{Name: "bash"}}))
	require.True(t, changed(text("u", "x")))
	require.False(t, changed(text("u", "x")))
}
