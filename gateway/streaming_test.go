package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/internal/protocol"
	"picobot/internal/text"
	"picobot/store"
)

// A first piece is shown at once; those that come right after it are joined, and
// what is joined is never shown after something that came later.
func TestStreamedText_FasterThanAnybodyReads_ComesInFewFramesAndInOrder(t *testing.T) {
	r := newRig(t, func(o *Options, _ *Deps) { o.Timing.Text = time.Hour })
	p, w := r.connect(protocol.Hello{})
	p.say("1", "hi")
	expect[protocol.Accepted](p)
	turn := r.begin(w.SessionID)
	p.until(isRow(chat.RoleUser))
	r.delta(w.SessionID, turn, 1, "first ")
	require.Equal(t, "first ", expect[protocol.Delta](p).Text)
	var want strings.Builder
	for i := range 1000 {
		word := fmt.Sprintf("%d ", i)
		want.WriteString(word)
		r.delta(w.SessionID, turn, 1, word)
	}
	require.Empty(t, p.settled(), "text waits while some was sent just now")
	r.answer(turn, 1, "done")
	var got strings.Builder
	frames := p.until(ends(turn))
	for _, f := range frames {
		if d, ok := f.(protocol.Delta); ok {
			got.WriteString(d.Text)
		}
	}
	require.Equal(t, want.String(), got.String())
	require.Equal(t, []string{"assistant done", "completed"}, words(frames[len(frames)-2:]), "the record waits for nothing")
	require.Less(t, len(frames), 20)
}

func TestStreamedText_AfterARest_ComesWithoutAnythingElseHappening(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("1", "hi")
	expect[protocol.Accepted](p)
	turn := r.begin(w.SessionID)
	p.until(isRow(chat.RoleUser))
	var want, got string
	for i := range 50 {
		word := fmt.Sprintf("%d ", i)
		want += word
		r.delta(w.SessionID, turn, 1, word)
	}
	for got != want {
		got += expect[protocol.Delta](p).Text
		require.True(t, strings.HasPrefix(want, got), got)
	}
}

func TestModelThatIsAskedAgain_IsToldToEachReaderInTheirLanguageBetweenTheAttempts(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	zh, _ := r.connect(protocol.Hello{ClientID: "other", SessionID: w.SessionID, Locale: "zh-CN"})
	p.say("1", "hi")
	expect[protocol.Accepted](p)
	turn := r.begin(w.SessionID)
	p.until(isRow(chat.RoleUser))
	zh.until(isRow(chat.RoleUser))
	say := func(attempt int, content string) {
		r.hub.Publish(w.SessionID, live.Progress{TurnID: turn, Step: 1, Attempt: attempt, Kind: llm.DeltaText, Text: content})
	}
	notice := func(id string, step int) {
		r.hub.Publish(w.SessionID, live.Progress{TurnID: turn, Step: step, Attempt: 1, Notice: live.NewNotice(id, func(c *text.Catalogue) string {
			return c.Say(text.ModelRetried{Model: "main", Provider: "p", Why: c.Say(text.WhyOverloaded{}), Seconds: 4})
		})})
	}
	say(1, "half an ans")
	notice("n1", 1)
	say(2, "a whole")
	r.answer(turn, 1, "a whole")
	notice("n2", 1) // late: the step has its answer
	frames := p.until(ends(turn))
	require.Equal(t, []string{"~half an ans", "warn", "~a whole", "assistant a whole", "completed"}, words(frames))
	require.Equal(t, protocol.Notice{ID: "n1", Level: "warn",
		Text: "Model main at provider p does not answer now (no capacity left). It is asked again in 4 seconds."}, frames[1])
	require.Equal(t, protocol.Notice{ID: "n1", Level: "warn", Text: "服务商 p 的模型 main 现在没有回答（负载已满）。4 秒后重试。"}, zh.until(ends(turn))[1])
	require.Empty(t, p.settled())
}

func TestNoticeOfATurnNobodyKnows_IsNotShown(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.settled()
	r.hub.Publish(w.SessionID, live.Progress{TurnID: "gone", Step: 1, Attempt: 1, Notice: live.NewNotice("n", func(*text.Catalogue) string { return "x" })})
	require.Empty(t, p.settled())
	f := newFollower(store.Attached{Session: store.Session{ID: "s"}}, summarizeTest)
	require.Empty(t, f.feed([]live.Progress{{TurnID: "gone", Notice: &live.Notice{}}}, store.Changes{}))
}
