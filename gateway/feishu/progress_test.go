package feishu

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/internal/testkit/fakefeishu"
	"picobot/store"
)

func testContext() (context.Context, context.CancelFunc) {
	return context.WithCancel(context.Background())
}

// calls has a running turn's model ask for a tool.
func (r *rig) calls(turn store.Turn, name, arguments string) {
	r.Helper()
	r.begin(turn.SessionID)
	turn, err := r.record.Turn(r.Context(), turn.ID)
	require.NoError(r, err)
	_, err = r.record.CommitAnswer(r.Context(), turn.ID, turn.Steps+1, store.Answer{Message: chat.Message{Role: chat.RoleAssistant,
		ToolCalls: []chat.ToolCall{chat.NewToolCall("c", name, arguments)}}})
	require.NoError(r, err)
}

func (r *rig) ran(turn store.Turn, name string, status chat.ToolStatus) {
	r.Helper()
	turn, err := r.record.Turn(r.Context(), turn.ID)
	require.NoError(r, err)
	_, err = r.record.CommitTool(r.Context(), store.ToolRun{TurnID: turn.ID, Step: turn.Steps, CallID: "c", Name: name, Effect: "read_only", Status: status, Result: "1"})
	require.NoError(r, err)
}

func (r *rig) card(chatID string) string {
	if all := r.feishu.Shown(chatID); len(all) == 1 {
		return words(all[0])
	}
	return ""
}

func TestProgress_ReactionAndOneCard_ThatBecomesTheAnswer(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, func(o *Options) { o.Summarize = func(name, args string) string { return name + ": " + args } })
	r.start()
	asked, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "work"})
	r.eventually("the message is marked", func() bool { return len(r.feishu.Message(asked).Reactions) == 1 })
	r.calls(turn, "get_time", `{}`)
	r.eventually("the tool is shown", func() bool { return strings.Contains(r.card("oc_p"), "⏳ get_time") })
	r.ran(turn, "get_time", chat.ToolCompleted)
	r.eventually("the tool is done", func() bool { return strings.Contains(r.card("oc_p"), "✅ get_time") })
	r.hub.Publish(turn.SessionID, live.Progress{TurnID: turn.ID, Step: 2, Attempt: 1, Kind: llm.DeltaText, Text: "it is l"})
	r.eventually("the answer streams in", func() bool { return strings.Contains(r.card("oc_p"), "it is l") })
	_, err := r.send(r.answer(turn, "it is late"))
	require.NoError(t, err)
	require.Equal(t, []string{"interactive: it is late"}, r.shown("oc_p"))
	r.eventually("the mark is gone", func() bool { return len(r.feishu.Message(asked).Reactions) == 0 })
	require.Len(t, r.feishu.Calls(http.MethodPost, "/reply"), 1)
	require.Equal(t, []string{"interactive: it is late"}, r.shown("oc_p"))
}

func TestProgress_QuickAnswer_IsOneMessageWithoutACard(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, func(o *Options) { o.Timing.Card = time.Hour })
	r.start()
	_, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "hello"})
	_, err := r.send(r.answer(turn, "hi"))
	require.NoError(t, err)
	require.Empty(t, r.feishu.Calls(http.MethodPatch, ""))
	require.Equal(t, []string{"interactive: hi"}, r.shown("oc_p"))
}

// The process dies with a card on the screen: the next one goes on with that card.
func TestProgress_AfterARestart_GoesOnWithTheSameCard(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	asked, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "work"})
	r.calls(turn, "get_time", `{}`)
	r.eventually("the card is there", func() bool { return r.card("oc_p") != "" })
	r.stop()
	r.app = New(r.app.opts)
	r.start()
	r.ran(turn, "get_time", chat.ToolFailed)
	r.eventually("the card goes on", func() bool { return strings.Contains(r.card("oc_p"), "❌ get_time") })
	_, err := r.send(r.answer(turn, "done"))
	require.NoError(t, err)
	require.Equal(t, []string{"interactive: done"}, r.shown("oc_p"))
	r.eventually("the mark is gone", func() bool { return len(r.feishu.Message(asked).Reactions) == 0 })
}

// diedBeforeHearingOfItsCard is a process that made a card for the turn and ended before
// Feishu said so.
func diedBeforeHearingOfItsCard(t *testing.T) (r *rig, turn store.Turn) {
	t.Helper()
	r = newRig(t, fakefeishu.Config{}, nil)
	r.start()
	_, turn = r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "work"})
	r.feishu.Arrange(fakefeishu.Fault{Path: "/reply", Silent: true})
	r.calls(turn, "get_time", `{}`)
	r.eventually("the card is there", func() bool { return r.card("oc_p") != "" })
	r.stop()
	return r, turn
}

func TestProgress_CardWhoseMakingNobodyHeardOf_BecomesTheAnswer(t *testing.T) {
	r, turn := diedBeforeHearingOfItsCard(t)
	r.ran(turn, "get_time", chat.ToolCompleted)
	r.app = New(r.app.opts)
	_, err := r.send(r.answer(turn, "done"))
	require.NoError(t, err)
	require.Equal(t, []string{"interactive: done"}, r.shown("oc_p"))
}

// The one that comes after it says more than the card does that is there.
func TestProgress_CardWhoseMakingNobodyHeardOf_GoesOnAfterARestart(t *testing.T) {
	r, turn := diedBeforeHearingOfItsCard(t)
	r.ran(turn, "get_time", chat.ToolFailed)
	r.app = New(r.app.opts)
	r.start()
	r.eventually("the card goes on", func() bool { return strings.Contains(r.card("oc_p"), "❌ get_time") })
	_, err := r.send(r.answer(turn, "done"))
	require.NoError(t, err)
	require.Equal(t, []string{"interactive: done"}, r.shown("oc_p"))
}

func TestProgress_CardThatCannotShowTheAnswer_ShowsItPlain_OrGivesWayToOneMessage(t *testing.T) {
	for name, c := range map[string]struct {
		faults []fakefeishu.Fault
		want   string
	}{
		"plain":    {[]fakefeishu.Fault{{Method: http.MethodPatch, Body: "markdown", Code: 230099, Times: -1}}, "interactive: done"},
		"another":  {[]fakefeishu.Fault{{Method: http.MethodPatch, Code: 230099, Times: -1}}, "interactive: done"},
		"gone":     {[]fakefeishu.Fault{{Method: http.MethodPatch, Code: 230011, Times: -1}}, ""},
		"overload": {[]fakefeishu.Fault{{Method: http.MethodPatch, Status: 503, Times: 3}}, "interactive: done"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fakefeishu.Config{}, nil)
			r.start()
			_, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "work"})
			r.calls(turn, "get_time", `{}`)
			r.eventually("the card is there", func() bool { return r.card("oc_p") != "" })
			r.stop()
			r.ran(turn, "get_time", chat.ToolCompleted)
			r.feishu.Arrange(c.faults...)
			if name == "gone" {
				r.feishu.Recall(r.feishu.Shown("oc_p")[0].ID)
			}
			_, err := r.send(r.answer(turn, "done"))
			require.NoError(t, err)
			require.Equal(t, []string{"interactive: done"}, r.shown("oc_p"))
		})
	}
}

func TestProgress_StoppedTurn_ItsCardSaysSo(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	asked, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "work"})
	r.calls(turn, "get_time", `{}`)
	r.eventually("the card is there", func() bool { return r.card("oc_p") != "" })
	_, err := r.record.Cancel(t.Context(), turn.SessionID, turn.ID)
	require.NoError(t, err)
	_, err = r.record.FinishTurn(t.Context(), store.Finish{TurnID: turn.ID, Status: chat.TurnCancelled, NotRun: "x", Unknown: "y"})
	require.NoError(t, err)
	r.eventually("it says so", func() bool { return r.card("oc_p") == "Stopped." })
	r.eventually("the mark is gone", func() bool { return len(r.feishu.Message(asked).Reactions) == 0 })
}

// Showing is a courtesy: without it there is still the answer.
func TestProgress_ThatFeishuDoesNotLet_TheAnswerComesAnyway(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.feishu.Arrange(fakefeishu.Fault{Path: "/reactions", Code: 99991672, Times: -1}, fakefeishu.Fault{Path: "/reply", Body: "⏳", Code: 230099, Times: -1})
	r.start()
	_, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "work"})
	r.calls(turn, "get_time", `{}`)
	r.eventually("it was tried", func() bool { return len(r.feishu.Calls("", "/reply")) > 0 })
	r.ran(turn, "get_time", chat.ToolCompleted)
	_, err := r.send(r.answer(turn, "done"))
	require.NoError(t, err)
	require.Equal(t, []string{"interactive: done"}, r.shown("oc_p"))
}

// Two processes, an external worker and a gateway: what is older and arrives later must
// not stand over the answer.
func TestProgress_OlderPaintThatArrivesAfterTheAnswer_IsPaintedOver(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	_, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "work"})
	r.calls(turn, "get_time", `{}`)
	r.eventually("the card is there", func() bool { return r.card("oc_p") != "" })
	r.feishu.Arrange(fakefeishu.Fault{Method: http.MethodPatch, Body: "✅", Slow: 300 * time.Millisecond})
	r.ran(turn, "get_time", chat.ToolCompleted)
	r.eventually("the slow one is on its way", func() bool { return r.feishu.Waiting() == 0 })
	other := New(r.app.opts)
	_, err := other.Send(t.Context(), r.answer(turn, "done"))
	require.NoError(t, err)
	r.eventually("the older one has arrived", func() bool {
		return slices.ContainsFunc(r.feishu.Shown("oc_p")[0].Patches, func(c string) bool { return strings.Contains(c, "✅") })
	})
	r.eventually("it is painted over", func() bool { return r.card("oc_p") == "done" })
	require.Equal(t, []string{"interactive: done"}, r.shown("oc_p"))
}

func TestProgress_FeishuDownAtTheEnd_MarkIsTakenAwayLater(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	r.feishu.Arrange(fakefeishu.Fault{Method: http.MethodDelete, Path: "/reactions", Status: 503, Times: 2})
	asked, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "hello"})
	r.eventually("the message is marked", func() bool { return len(r.feishu.Message(asked).Reactions) == 1 })
	_, err := r.send(r.answer(turn, "hi"))
	require.NoError(t, err)
	r.eventually("the mark is gone", func() bool { return len(r.feishu.Message(asked).Reactions) == 0 })
}

// The card was made, but the app may not change it, or not any more.
func TestProgress_CardThatMayNotBeChanged_TheAnswerIsAMessageOfItsOwn(t *testing.T) {
	for name, code := range map[string]int{"scope missing": 99991672, "not its own": 230071, "bot ability": 230027} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fakefeishu.Config{}, nil)
			r.start()
			_, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "work"})
			r.feishu.Arrange(fakefeishu.Fault{Method: http.MethodPatch, Code: code, Times: -1})
			r.calls(turn, "get_time", `{}`)
			r.eventually("the card is there", func() bool { return r.card("oc_p") != "" })
			r.ran(turn, "get_time", chat.ToolCompleted)
			_, err := r.send(r.answer(turn, "done"))
			require.NoError(t, err)
			require.Equal(t, []string{"interactive: done"}, r.shown("oc_p"))
		})
	}
}

// What shows of a card whose making nobody heard of may be anything, and cannot always be changed.
func TestProgress_CardNobodyHeardOfThatCannotBeChanged_TheAnswerIsAMessageOfItsOwn(t *testing.T) {
	for _, code := range []int{99991672, 230099, 230011} {
		r := newRig(t, fakefeishu.Config{}, nil)
		r.start()
		_, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "work"})
		r.feishu.Arrange(fakefeishu.Fault{Path: "/reply", Silent: true}, fakefeishu.Fault{Method: http.MethodPatch, Code: code, Times: -1})
		r.calls(turn, "get_time", `{}`)
		r.eventually("the card is there", func() bool { return r.card("oc_p") != "" })
		if code == 230011 {
			r.feishu.Recall(r.feishu.Shown("oc_p")[0].ID)
		}
		r.stop()
		r.ran(turn, "get_time", chat.ToolCompleted)
		r.app = New(r.app.opts)
		_, err := r.send(r.answer(turn, "done"))
		require.NoError(t, err)
		require.Equal(t, []string{"interactive: done"}, r.shown("oc_p"))
	}
}

// No card was made after all: there is nothing to change.
func TestProgress_CardThatWasNotTaken_TheAnswerIsSentAndNotChanged(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.feishu.Arrange(fakefeishu.Fault{Path: "/reply", Body: "Working", Code: 230099, Times: -1})
	r.start()
	_, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "work"})
	r.calls(turn, "get_time", `{}`)
	r.eventually("it was tried", func() bool { return len(r.feishu.Calls("", "/reply")) > 0 })
	r.ran(turn, "get_time", chat.ToolCompleted)
	_, err := r.send(r.answer(turn, "done"))
	require.NoError(t, err)
	require.Empty(t, r.feishu.Calls(http.MethodPatch, ""))
}

// A job's turn runs in a dialog of a chat where nobody asked for it, and its answer may
// go to another chat, or nowhere. A start finds it among what is running.
func TestProgress_TurnOfAJob_IsNotShown(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.feishu.Store(fakefeishu.Said{ChatID: "oc_work", Text: "so that there is a chat"})
	got, err := r.record.Accept(t.Context(), store.Inbound{Channel: chat.ChannelFeishu, ChatID: "oc_work", ExternalID: "job/nightly/1", SenderID: "scheduler", Content: "work"})
	require.NoError(t, err)
	r.calls(got.Turn, "get_time", `{}`)
	left, err := r.record.Showing(t.Context(), chat.ChannelFeishu)
	require.NoError(t, err)
	require.Len(t, left, 1)
	w := &watching{shows: newShows(r.app), session: got.SessionID, turns: map[string]*shown{}}
	require.True(t, w.look(t.Context(), &shown{id: got.Turn.ID, wait: newBackoff(time.Second)}))
	require.Empty(t, r.shown("oc_work"))

	_, turn := r.queued("oc_p", "hello")
	require.False(t, w.look(t.Context(), &shown{id: turn.ID, wait: newBackoff(time.Second)}), "a person waits for this one")
}

// queued accepts a message of a person without a connection.
func (r *rig) queued(chatID, text string) (string, store.Turn) {
	r.Helper()
	id := r.feishu.Store(fakefeishu.Said{ChatID: chatID, Text: text})
	got, err := r.record.Accept(r.Context(), store.Inbound{Channel: chat.ChannelFeishu, ChatID: chatID, ExternalID: id, SenderID: "ou_alice", Content: text})
	require.NoError(r, err)
	return id, got.Turn
}

func TestProgress_Changes_AreNotShownMoreOftenThanSaid(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, func(o *Options) { o.Timing.Patch, o.Timing.Card = time.Minute, time.Hour })
	_, turn := r.queued("oc_p", "work")
	w := &watching{shows: newShows(r.app), session: turn.SessionID, turns: map[string]*shown{}}
	s := &shown{id: turn.ID, wait: newBackoff(time.Second)}
	r.calls(turn, "get_time", `{}`)
	require.False(t, w.look(t.Context(), s))
	require.Contains(t, r.card("oc_p"), "⏳ get_time")
	r.ran(turn, "get_time", chat.ToolCompleted)
	require.False(t, w.look(t.Context(), s))
	require.Empty(t, r.feishu.Calls(http.MethodPatch, ""))
	r.clock.move(time.Minute)
	require.False(t, w.look(t.Context(), s))
	require.False(t, w.look(t.Context(), s))
	require.Len(t, r.feishu.Calls(http.MethodPatch, ""), 1, "and what is as it was is not shown again")
	require.Contains(t, r.card("oc_p"), "✅ get_time")
}
