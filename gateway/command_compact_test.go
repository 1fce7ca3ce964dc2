package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/text"
	"picobot/store"
)

// answered has so many messages answered.
func (r *rig) answered(p *peer, sessionID, name string, n int) {
	r.t.Helper()
	for i := range n {
		p.say(fmt.Sprint(name, i), strings.Repeat("question ", 40))
		turn := p.accepted().TurnID
		r.begin(sessionID)
		_, err := r.record.CommitAnswer(r.t.Context(), turn, 1, store.Answer{Message: chat.Message{Role: chat.RoleAssistant, Content: strings.Repeat("answer ", 40)}})
		require.NoError(r.t, err)
		p.until(func(f protocol.ServerFrame) bool {
			t, ok := f.(protocol.Turn)
			return ok && t.Status == protocol.TurnCompleted
		})
	}
}

func TestCompact_NothingToGain_IsOKAndSaysSo(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	r.answered(p, w.SessionID, "a", 3)
	p.say("c", "/compact")
	p.accepted()
	answer := expect[protocol.Command](p)
	require.True(t, answer.OK)
	require.Equal(t, text.For("en").Say(text.CompactNothing{}), answer.Text)
	require.Empty(t, r.told.compacting())
}

// Also while a turn runs, and once however often it is sent.
func TestCompact_IsStartedAndAnsweredAtOnce(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{Locale: "zh-CN"})
	r.answered(p, w.SessionID, "a", 5)
	p.say("work", "go on")
	p.accepted()
	r.begin(w.SessionID)
	for range 2 {
		p.say("c", "/compact")
		p.accepted()
		answer := expect[protocol.Command](p)
		require.True(t, answer.OK)
		require.Equal(t, text.For("zh-CN").Say(text.CompactStarted{}), answer.Text)
	}
	require.Equal(t, []string{w.SessionID}, r.told.compacting())
	due, err := r.record.CompactionsDue(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{w.SessionID}, due, "a start that gets lost is made up for")
	r.sound()
}
