package gateway

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/live"
	"picobot/internal/protocol"
	"picobot/internal/text"
	"picobot/store"
)

func TestMessageIsAnsweredInOrder(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	require.Equal(t, protocol.Welcome{Protocol: 1, Server: "picobot 1.2.3", SessionID: w.SessionID, Title: "New dialog", LastSeq: 1, Model: "main"}, w)
	require.Equal(t, "info", p.next().(protocol.Notice).Level, "the welcome of a new session")

	p.say("1", "hi")
	acc := expect[protocol.Accepted](p)
	require.Equal(t, protocol.Accepted{ID: "1", TurnID: acc.TurnID, SessionID: w.SessionID}, acc)
	require.Equal(t, protocol.TurnQueued, expect[protocol.Turn](p).Status)
	nudged, _ := r.told.calls()
	require.Equal(t, []string{w.SessionID}, nudged)

	turn := r.begin(w.SessionID)
	require.Equal(t, acc.TurnID, turn)
	require.Equal(t, []string{"started", "user hi"}, words(p.until(isRow("user"))))
	r.delta(w.SessionID, turn, 1, "let me")
	require.Equal(t, "let me", expect[protocol.Delta](p).Text)

	ls, cat := chat.NewToolCall("c1", "bash", "ls"), chat.NewToolCall("c2", "bash", "cat")
	r.answer(turn, 1, "let me see", ls, cat)
	p.until(isRow("assistant"))
	r.claim(turn, 1, 0, ls)
	r.hub.Publish(w.SessionID, live.Progress{TurnID: turn, Step: 1, Tool: &live.ToolStart{Position: 0, CallID: "c1", Name: "bash", Summary: "bash: live"}})
	r.claim(turn, 1, 1, cat)
	r.result(turn, 1, 1, cat, chat.ToolFailed, "Error: no")
	r.result(turn, 1, 0, ls, chat.ToolCompleted, "a b")
	r.delta(w.SessionID, turn, 1, "too late")
	r.answer(turn, 2, "done")
	frames := p.until(ends(turn))
	require.ElementsMatch(t, []string{"c1 started", "c2 started", "c2 failed", "c1 completed", "tool a b", "tool Error: no", "assistant done", "completed"}, words(frames))
	require.Equal(t, []string{"tool a b", "tool Error: no", "assistant done", "completed"}, words(frames[4:]))
	last := frames[len(frames)-1].(protocol.Turn)
	require.Equal(t, &chat.Usage{PromptTokens: 20, CompletionTokens: 4}, last.Usage)
	require.Equal(t, 2, last.Steps)
	require.Empty(t, p.settled())
}

func isRow(role chat.Role) func(protocol.ServerFrame) bool {
	return func(f protocol.ServerFrame) bool {
		m, ok := f.(protocol.Message)
		return ok && m.Role == role
	}
}

func TestTurnThatFailsSaysWhyBeforeItEnds(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("1", "hi")
	expect[protocol.Accepted](p)
	turn := r.begin(w.SessionID)
	_, err := r.record.FinishTurn(t.Context(), store.Finish{TurnID: turn, Status: chat.TurnFailed, Code: "model_failed", Text: "the model is gone"})
	require.NoError(t, err)
	frames := p.until(ends(turn))
	require.Equal(t, []string{"assistant the model is gone", "failed"}, words(frames[len(frames)-2:]))
	require.Equal(t, &protocol.Problem{Code: "model_failed", Message: "the model is gone"}, frames[len(frames)-1].(protocol.Turn).Error)
	require.Equal(t, chat.MarkerError, frames[len(frames)-2].(protocol.Message).Marker)
}

func TestChatKeepsItsSessionAcrossConnections(t *testing.T) {
	r := newRig(t)
	_, first := r.connect(protocol.Hello{ChatID: "room"})
	p, second := r.connect(protocol.Hello{ChatID: "room"})
	require.Equal(t, first.SessionID, second.SessionID)
	require.Empty(t, p.settled(), "only a new session is welcomed")
	_, other := r.connect(protocol.Hello{ChatID: "other"})
	require.NotEqual(t, first.SessionID, other.SessionID)
	sess, err := r.record.Session(t.Context(), first.SessionID)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"cli","ws_sender_id":"room"}`, string(sess.RoutingInfo))
}

func TestReplaySendsTheRowsThatCameAfter(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	for i := range 3 {
		p.say(fmt.Sprint(i), fmt.Sprintf("q%d", i))
		expect[protocol.Accepted](p)
		p.until(ends(r.run(w.SessionID, fmt.Sprintf("a%d", i))))
	}
	zero := int64(0)
	p.send(protocol.Attach{SessionID: w.SessionID, FromSeq: &zero})
	require.EqualValues(t, 8, expect[protocol.Welcome](p).LastSeq) // the welcome, a prompt and six rows
	require.Equal(t, []string{"user q0", "assistant a0", "completed", "user q1", "assistant a1", "completed", "user q2", "assistant a2", "completed"}, words(p.settled()))

	six := int64(6)
	p2, _ := r.connect(protocol.Hello{SessionID: w.SessionID, FromSeq: &six})
	require.Equal(t, []string{"completed", "user q2", "assistant a2", "completed"}, words(p2.settled()))

	beyond := int64(900) // from a record that is no more
	p3, _ := r.connect(protocol.Hello{SessionID: w.SessionID, FromSeq: &beyond})
	p3.say("new", "q3")
	expect[protocol.Turn](p3) // the last one's end again
	expect[protocol.Accepted](p3)
	frames := p3.until(ends(r.run(w.SessionID, "a3")))
	require.Equal(t, []string{"assistant a3", "completed"}, words(frames[len(frames)-2:]))
}

func TestReconnectMissesNothingAndRepeatsNothing(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("1", "q")
	acc := expect[protocol.Accepted](p)
	turn := r.begin(w.SessionID)
	call := chat.NewToolCall("c1", "bash", "ls")
	r.answer(turn, 1, "", call)
	r.claim(turn, 1, 0, call)
	frames := p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Tool); return ok })
	seq := int64(0)
	for _, f := range frames {
		if m, ok := f.(protocol.Message); ok {
			seq = m.Seq
		}
	}
	require.NoError(t, p.ws.CloseNow())
	r.result(turn, 1, 0, call, chat.ToolCompleted, "a b")

	p, _ = r.connect(protocol.Hello{SessionID: w.SessionID, FromSeq: &seq})
	require.Equal(t, []string{"started", "c1 started", "c1 completed", "tool a b"}, words(p.settled()))
	require.NoError(t, p.ws.CloseNow())
	seq++
	r.answer(turn, 2, "done")

	p, _ = r.connect(protocol.Hello{SessionID: w.SessionID, FromSeq: &seq})
	require.Equal(t, []string{"assistant done", "completed"}, words(p.settled()))
	require.NoError(t, p.ws.CloseNow())
	seq++

	// The last row had come, the end of its turn had not.
	p, _ = r.connect(protocol.Hello{SessionID: w.SessionID, FromSeq: &seq})
	require.Equal(t, []string{"completed"}, words(p.settled()))
	require.Equal(t, acc.TurnID, p.seen[1].(protocol.Turn).TurnID)
}

func TestAttachInTheMiddleOfAStepTellsWhatRuns(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("1", "q")
	expect[protocol.Accepted](p)
	turn := r.begin(w.SessionID)
	call := chat.NewToolCall("c1", "bash", "ls")
	r.answer(turn, 1, "", call)
	r.claim(turn, 1, 0, call)
	p.say("2", "and then")
	p.until(func(f protocol.ServerFrame) bool { a, ok := f.(protocol.Accepted); return ok && a.ID == "2" })
	p2, _ := r.connect(protocol.Hello{ChatID: "me"})
	frames := p2.settled()
	require.ElementsMatch(t, []string{"started", "c1 started", "queued"}, words(frames))
	for _, f := range frames {
		if tool, ok := f.(protocol.Tool); ok {
			require.Equal(t, "bash: ls", tool.Summary)
		}
	}
}

func TestRepeatedMessageIsAnsweredAgainAndRunOnce(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("1", "hi")
	acc := expect[protocol.Accepted](p)
	require.Equal(t, protocol.TurnQueued, expect[protocol.Turn](p).Status)
	again := func(want string) {
		t.Helper()
		p.say("1", "hi")
		require.Equal(t, protocol.Accepted{ID: "1", TurnID: acc.TurnID, SessionID: w.SessionID, Duplicate: true}, expect[protocol.Accepted](p))
		got := expect[protocol.Turn](p)
		require.Equal(t, acc.TurnID, got.TurnID)
		require.Equal(t, want, got.Status)
		require.Empty(t, words(p.settled()))
	}
	again(protocol.TurnQueued)
	r.begin(w.SessionID)
	p.until(isRow("user"))
	again(protocol.TurnStarted)
	r.answer(acc.TurnID, 1, "hello")
	p.until(ends(acc.TurnID))
	again(protocol.TurnCompleted)
	turns, err := r.record.Turns(t.Context(), store.TurnFilter{})
	require.NoError(t, err)
	require.Len(t, turns, 1)
}

func TestRepeatedMessageOfAnotherSessionTellsItsState(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{ChatID: "room"})
	p.say("1", "hi")
	acc := expect[protocol.Accepted](p)
	other, _, err := r.record.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "elsewhere"})
	require.NoError(t, err)
	p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Turn); return ok })
	p.send(protocol.Attach{SessionID: other.ID})
	expect[protocol.Welcome](p)
	r.run(w.SessionID, "hello")
	p.say("1", "hi")
	require.Equal(t, protocol.Accepted{ID: "1", TurnID: acc.TurnID, SessionID: w.SessionID, Duplicate: true}, expect[protocol.Accepted](p))
	require.Equal(t, protocol.TurnCompleted, expect[protocol.Turn](p).Status)
}

func TestTenConnectionsWithOneMessageRunOneTurn(t *testing.T) {
	r := newRig(t)
	var peers []*peer
	var session string
	for range 10 {
		p, w := r.connect(protocol.Hello{ChatID: "room"})
		peers, session = append(peers, p), w.SessionID
	}
	var wg sync.WaitGroup
	for _, p := range peers {
		wg.Go(func() {
			_ = p.ws.Write(t.Context(), websocket.MessageText, protocol.EncodeClient(protocol.UserMessage{ID: "same", Content: "hi"}))
		})
	}
	wg.Wait()
	fresh, ids := 0, map[string]bool{}
	for _, p := range peers {
		frames := p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Accepted); return ok })
		acc := frames[len(frames)-1].(protocol.Accepted)
		ids[acc.TurnID] = true
		if !acc.Duplicate {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
	require.Len(t, ids, 1)
	turn := r.run(session, "once")
	for _, p := range peers {
		frames := p.until(ends(turn))
		require.Equal(t, []string{"assistant once", "completed"}, words(frames[len(frames)-2:]))
	}
}

func TestHelloComesFirst(t *testing.T) {
	r := newRig(t)
	p := r.dial()
	for _, f := range []string{`{"type":"ping"}`, `{"type":"message","id":"1","content":"x"}`, `{"type":"attach","session_id":"s"}`, `{"type":"cancel"}`, `{"type":"what"}`} {
		p.sendRaw(f)
		p.error(protocol.CodeHelloRequired)
	}
	p.sendRaw(`{`)
	p.error(protocol.CodeBadFrame)
	p.sendRaw(`{"type":"hello"}`)
	p.error(protocol.CodeBadFrame)
	p.send(protocol.Hello{ClientID: "me", SessionID: "cli:me:none"})
	p.error(protocol.CodeNotFound)
	p.send(protocol.Hello{ClientID: "me"})
	expect[protocol.Welcome](p)
	p.send(protocol.Hello{ClientID: "me"})
	p.error(protocol.CodeBadFrame)
}

func TestPeerThatSaysNoHelloIsClosed(t *testing.T) {
	r := newRig(t, timing(func(x *Timing) { x.Hello = 30 * time.Millisecond }))
	p := r.dial()
	p.error(protocol.CodeHelloRequired)
	require.Equal(t, websocket.StatusPolicyViolation, p.hungUp())

	p, _ = r.connect(protocol.Hello{})
	time.Sleep(60 * time.Millisecond)
	p.settled()
}

func timing(change func(*Timing)) rigOption { return func(o *Options, _ *Deps) { change(&o.Timing) } }

func TestUnknownAgentIsRefused(t *testing.T) {
	r := newRig(t, func(o *Options, _ *Deps) { o.Agents = []string{"default", "coder"} })
	p := r.dial()
	p.send(protocol.Hello{ClientID: "me", Agent: "nobody"})
	p.error(protocol.CodeNotFound)
	p.send(protocol.Hello{ClientID: "me", Agent: "coder"})
	w := expect[protocol.Welcome](p)
	sess, err := r.record.Session(t.Context(), w.SessionID)
	require.NoError(t, err)
	require.Equal(t, "coder", sess.Agent)
}

func TestBadFramesAreAnsweredAndTheConnectionLives(t *testing.T) {
	r := newRig(t)
	p, _ := r.connect(protocol.Hello{})
	for frame, want := range map[string]string{
		`nonsense`:                    protocol.CodeBadFrame,
		`[]`:                          protocol.CodeBadFrame,
		`{"type":"message","id":"1"}`: protocol.CodeBadFrame,
		`{"type":"message","id":"1","content":"  "}`: protocol.CodeBadFrame,
		`{"type":"message","id":1,"content":"x"}`:    protocol.CodeBadFrame,
		`{"type":"shout"}`:                           protocol.CodeUnknownType,
		`{"type":"attach","session_id":"cli:x:y"}`:   protocol.CodeNotFound,
		`{"type":"cancel"}`:                          protocol.CodeNotFound,
		`{"type":"cancel","turn_id":"none"}`:         protocol.CodeNotFound,
	} {
		p.sendRaw(frame)
		p.error(want)
	}
	require.NoError(t, p.ws.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"ping"}`)))
	p.error(protocol.CodeBadFrame)
	require.Empty(t, p.settled())
}

func TestTooLargeIsToldAndThenClosed(t *testing.T) {
	r := newRig(t, func(o *Options, _ *Deps) { o.MaxMessageBytes = 1000 })
	p, _ := r.connect(protocol.Hello{})
	p.say("fits", strings.Repeat("x", 1000))
	require.Equal(t, "fits", expect[protocol.Accepted](p).ID)

	p.say("big", strings.Repeat("x", 1001))
	p.until(func(f protocol.ServerFrame) bool {
		e, ok := f.(protocol.Error)
		return ok && e.Code == protocol.CodeTooLarge && e.ID == "big"
	})
	require.Equal(t, websocket.StatusMessageTooBig, p.hungUp())

	p, _ = r.connect(protocol.Hello{})
	p.say("huge", strings.Repeat("x", envelope+2000))
	p.until(func(f protocol.ServerFrame) bool {
		e, ok := f.(protocol.Error)
		return ok && e.Code == protocol.CodeTooLarge
	})
	require.Equal(t, websocket.StatusMessageTooBig, p.hungUp())
	turns, err := r.record.Turns(t.Context(), store.TurnFilter{})
	require.NoError(t, err)
	require.Len(t, turns, 1)
}

func TestCancelStopsTheTurn(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("1", "run")
	first := expect[protocol.Accepted](p).TurnID
	r.begin(w.SessionID)
	p.until(isRow("user"))
	p.say("2", "wait")
	second := expect[protocol.Accepted](p).TurnID
	p.say("3", "wait too")
	third := p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Accepted); return ok })

	p.send(protocol.Cancel{TurnID: second}) // a waiting one, by name
	p.until(ends(second))
	p.send(protocol.Cancel{}) // the running one
	p.settled()
	_, cancels := r.told.calls()
	require.Equal(t, []string{first}, cancels)
	_, err := r.record.FinishTurn(t.Context(), store.Finish{TurnID: first, Status: chat.TurnCancelled})
	require.NoError(t, err)
	require.Equal(t, protocol.TurnCancelled, p.until(ends(first))[0].(protocol.Turn).Status)
	p.send(protocol.Cancel{}) // the oldest waiting one
	p.until(ends(third[len(third)-1].(protocol.Accepted).TurnID))
	p.send(protocol.Cancel{})
	p.error(protocol.CodeNotFound)
	p.send(protocol.Cancel{TurnID: first}) // has ended
	p.error(protocol.CodeNotFound)
}

func TestSessionsOfOtherChannelsAreReadOnly(t *testing.T) {
	r := newRig(t)
	got, err := r.record.Accept(t.Context(), store.Inbound{Channel: "feishu", ChatID: "oc_1", ExternalID: "m1", SenderID: "u", Content: "hi"})
	require.NoError(t, err)
	p, _ := r.connect(protocol.Hello{SessionID: got.Turn.SessionID})
	p.say("1", "let me in")
	require.Equal(t, "1", func() protocol.Error {
		frames := p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Error); return ok })
		return frames[len(frames)-1].(protocol.Error)
	}().ID)
	require.Equal(t, protocol.CodeReadOnly, p.seen[len(p.seen)-1].(protocol.Error).Code)
	turn := r.run(got.Turn.SessionID, "hello")
	frames := p.until(ends(turn))
	require.Equal(t, []string{"assistant hello", "completed"}, words(frames[len(frames)-2:]))
}

func TestNothingIsAcceptedWhileTheRecordCannotBeWritten(t *testing.T) {
	r := newRig(t)
	p, _ := r.connect(protocol.Hello{})
	p.settled()
	unlock := r.lock()
	p.say("1", "hi")
	require.Equal(t, "1", p.error(protocol.CodeStoreUnavailable).ID)
	unlock()
	p.say("1", "hi")
	require.False(t, expect[protocol.Accepted](p).Duplicate)
}

func TestSlowReaderIsDroppedAndHoldsUpNobody(t *testing.T) {
	r := newRig(t, timing(func(x *Timing) { x.Write = 300 * time.Millisecond }))
	slow := r.dialWith(&http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		}
		return c, err
	}})
	slow.send(protocol.Hello{ClientID: "slow", ChatID: "room"})
	w := expect[protocol.Welcome](slow)
	quick, _ := r.connect(protocol.Hello{ChatID: "room"})
	quick.say("1", "hi")
	expect[protocol.Accepted](quick)
	turn := r.begin(w.SessionID)
	call := chat.NewToolCall("c", "bash", "{}")
	for step := 1; step <= 40; step++ { // more than any socket buffer holds
		r.answer(turn, step, strings.Repeat("x", 256<<10), call)
		r.result(turn, step, 0, call, chat.ToolCompleted, "ok")
		quick.until(isRow("tool"))
	}
	r.answer(turn, 41, "done")
	quick.until(ends(turn))
	require.Eventually(t, func() bool { return strings.Contains(r.logs.String(), "a client was dropped") }, patience, 10*time.Millisecond)
	_ = slow.ws.CloseNow()
	quick.settled()
}

func TestHalfOpenPeerIsDropped(t *testing.T) {
	r := newRig(t, timing(func(x *Timing) { x.Ping, x.Silence = 20*time.Millisecond, 200*time.Millisecond }))
	p, _ := r.connect(protocol.Hello{ChatID: "dead"}) // nobody reads any more: pings are not answered
	alive, _ := r.connect(protocol.Hello{ChatID: "alive"})
	alive.settled()
	ctx := alive.ws.CloseRead(t.Context()) // answers pings and says nothing else
	require.Eventually(t, func() bool { return !r.server.delivery.connected("dead") }, patience, 10*time.Millisecond)
	require.NoError(t, ctx.Err())
	require.True(t, r.server.delivery.connected("alive"))
	_ = p.ws.CloseNow()
}

func TestWhatWasSaidBeforeHangingUpCounts(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.settled()
	p.say("1", "bye")
	require.NoError(t, p.ws.Close(websocket.StatusNormalClosure, ""))
	require.Eventually(t, func() bool {
		turns, err := r.record.Turns(t.Context(), store.TurnFilter{SessionID: w.SessionID})
		return err == nil && len(turns) == 1
	}, patience, 5*time.Millisecond)
}

func TestShutdownTellsSocketsThatItGoesAway(t *testing.T) {
	r := newRig(t)
	p, _ := r.connect(protocol.Hello{})
	silent := r.dial()
	go r.shutdown()
	require.Equal(t, websocket.StatusGoingAway, p.hungUp())
	require.Equal(t, websocket.StatusGoingAway, silent.hungUp())
	<-r.done
	_, err := http.Get(r.url("/health"))
	require.Error(t, err)
}

func TestShutdownDoesNotWaitForPeersThatDoNotAnswer(t *testing.T) {
	r := newRig(t, timing(func(x *Timing) { x.Close = 50 * time.Millisecond }))
	r.connect(protocol.Hello{}) // reads nothing more, so it never answers the close
	began := time.Now()
	r.shutdown()
	require.Less(t, time.Since(began), 3*time.Second)
}

func TestPanicEndsItsConnectionOnly(t *testing.T) {
	r := newRig(t)
	p, _ := r.connect(protocol.Hello{ChatID: "a"})
	other, _ := r.connect(protocol.Hello{ChatID: "b"})
	other.settled()
	r.told.mu.Lock()
	r.told.panics = true
	r.told.mu.Unlock()
	p.say("1", "boom")
	p.until(func(f protocol.ServerFrame) bool {
		e, ok := f.(protocol.Error)
		return ok && e.Code == protocol.CodeInternal
	})
	require.Equal(t, websocket.StatusInternalError, p.hungUp())
	require.Empty(t, other.settled())
	require.Contains(t, r.logs.String(), "panicked")
}

func TestTooManyConnectionsAreRefused(t *testing.T) {
	r := newRig(t, func(o *Options, _ *Deps) { o.MaxConnections = 1 })
	p, _ := r.connect(protocol.Hello{})
	_, resp, err := websocket.Dial(t.Context(), "ws://"+r.server.Addr()+"/ws?token="+testToken, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.NoError(t, p.ws.Close(websocket.StatusNormalClosure, ""))
	require.Eventually(t, func() bool {
		ws, _, err := websocket.Dial(t.Context(), "ws://"+r.server.Addr()+"/ws?token="+testToken, nil)
		if err == nil {
			_ = ws.CloseNow()
		}
		return err == nil
	}, patience, 10*time.Millisecond)
}

func TestOfflineModelIsAnnounced(t *testing.T) {
	r := newRig(t, func(_ *Options, d *Deps) {
		d.Model = func(string) Model { return Model{Name: "offline", Offline: true} }
	})
	p, w := r.connect(protocol.Hello{})
	require.True(t, w.Offline)
	require.Equal(t, []string{"info", "warn"}, words(p.settled()))
	p.send(protocol.Attach{SessionID: w.SessionID})
	require.True(t, expect[protocol.Welcome](p).Offline)
	require.Empty(t, p.settled(), "once a connection")
}

func TestPeopleAreSpokenToInTheirLanguage(t *testing.T) {
	r := newRig(t, func(o *Options, _ *Deps) { o.Locale = "zh-CN" })
	for client, locale := range map[string]string{"zh-CN": "", "en": "en"} {
		p, _ := r.connect(protocol.Hello{ClientID: client, Locale: locale})
		require.Equal(t, text.For(client).Say(text.Welcome{}), p.next().(protocol.Notice).Text)
	}
}

func TestCommandsAreAnsweredAtOnce(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	command := func(content string) protocol.Command {
		t.Helper()
		id := strconv.Quote(content)
		p.say(id, content)
		for {
			f := p.next()
			if acc, ok := f.(protocol.Accepted); ok {
				require.Equal(t, protocol.Accepted{ID: id, SessionID: w.SessionID}, acc)
				return expect[protocol.Command](p)
			}
		}
	}
	help := command("/help")
	require.True(t, help.OK)
	require.Contains(t, help.Text, "/stop: stop what is running")
	unknown := command("/dance now")
	require.Equal(t, "dance", unknown.Name)
	require.False(t, unknown.OK)
	require.Contains(t, unknown.Text, "/new /reset /sessions /use /switch /rename /delete /info")
	require.Equal(t, "dance", command("/Dance\tnow").Name)
	stop := command("/stop")
	require.True(t, stop.OK, "nothing to stop is no failure")

	p.say("1", "work")
	turn := expect[protocol.Accepted](p).TurnID
	r.begin(w.SessionID)
	p.until(isRow("user"))
	require.True(t, command("/STOP").OK)
	_, cancels := r.told.calls()
	require.Equal(t, []string{turn}, cancels)
	sess, err := r.record.Session(t.Context(), w.SessionID)
	require.NoError(t, err)
	require.EqualValues(t, 1, sess.MessageCount, "commands are no rows")
}

func TestHelloThatWasRefusedMayBeSaidAgain(t *testing.T) {
	r := newRig(t, timing(func(x *Timing) { x.Hello = 300 * time.Millisecond }))
	_, w := r.connect(protocol.Hello{ChatID: "there already"})
	unlock := r.lock()
	defer unlock()
	var peers []*peer
	for i := range 4 {
		p := r.dial()
		// The record is tried for longer than a hello may take.
		p.send(protocol.Hello{ClientID: fmt.Sprintf("new %d", i)})
		p.send(protocol.Hello{ClientID: "me", SessionID: w.SessionID})
		peers = append(peers, p)
	}
	for _, p := range peers {
		p.error(protocol.CodeStoreUnavailable)
		expect[protocol.Welcome](p)
		p.settled()
	}
}

func TestPeerThatSaysEverythingButHelloIsClosed(t *testing.T) {
	r := newRig(t, timing(func(x *Timing) { x.Hello = 300 * time.Millisecond }))
	p := r.dial()
	var flood sync.WaitGroup
	flood.Go(func() {
		for p.ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ping"}`)) == nil { // until it is cut off
		}
	})
	require.Equal(t, websocket.StatusPolicyViolation, p.hungUp())
	_ = p.ws.CloseNow()
	flood.Wait()
}
