package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/live"
	"picobot/internal/protocol"
	"picobot/internal/text"
	"picobot/store"
)

// elsewhere is a process beside the gateway: it has a record and a hub of its own.
type elsewhere struct {
	r      *rig
	record *store.Store
	hub    *live.Hub
	tap    *live.Tap
}

func (r *rig) elsewhere() *elsewhere {
	r.t.Helper()
	e := &elsewhere{r: r, hub: live.NewHub()}
	var err error
	e.record, err = store.Open(r.t.Context(), store.Options{Path: r.path, Now: time.Now, OnChange: e.hub.Wake})
	require.NoError(r.t, err)
	e.tap = e.hub.Tap()
	r.t.Cleanup(func() { require.NoError(r.t, e.record.Close()) })
	return e
}

// does has fn play the worker there instead of here.
func (e *elsewhere) does(fn func()) {
	record, hub := e.r.record, e.r.hub
	e.r.record, e.r.hub = e.record, e.hub
	defer func() { e.r.record, e.r.hub = record, hub }()
	fn()
}

func (r *rig) postLive(body string) (int, string) {
	r.t.Helper()
	status, answer, _ := r.do(http.MethodPost, "/api/v1/live", func(req *http.Request) {
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	})
	return status, answer
}

// tells hands over what there is of the moment.
func (e *elsewhere) tells() {
	e.r.t.Helper()
	news, _ := e.tap.Take()
	body, err := json.Marshal(relayed{news})
	require.NoError(e.r.t, err)
	status, answer := e.r.postLive(string(body))
	require.Equal(e.r.t, http.StatusNoContent, status, answer)
}

// What a worker of its own does looks to a client as if this process did it. The record
// is never polled here: it is the news that bring the rows.
func TestTurnOfAnotherProcess_LooksAsIfItWereThisOnes(t *testing.T) {
	r := newRig(t)
	e := r.elsewhere()
	p, w := r.connect(protocol.Hello{})
	p.say("1", "hi")
	expect[protocol.Accepted](p)
	expect[protocol.Turn](p) // queued
	call := chat.ToolCall{ID: "c1", Type: "function", Function: chat.FunctionCall{Name: "bash", Arguments: "ls"}}
	var turn string
	e.does(func() {
		turn = r.begin(w.SessionID)
		r.delta(w.SessionID, turn, 1, "let me ")
		r.delta(w.SessionID, turn, 1, "see")
	})
	e.tells()
	frames := p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Delta); return ok })
	require.Equal(t, []string{"started", "user hi", "~let me see"}, words(frames))
	e.does(func() {
		e.hub.Publish(w.SessionID, live.Progress{TurnID: turn, Step: 1, Attempt: 2, Notice: live.NewNotice("n1", func(c *text.Catalogue) string { return "again, in " + c.Locale() })})
		r.answer(turn, 1, "let me see", call)
		r.claim(turn, 1, 0, call)
		e.hub.Publish(w.SessionID, live.Progress{TurnID: turn, Step: 1, Tool: &live.ToolStart{CallID: "c1", Name: "bash", Summary: "bash: ls"}})
	})
	e.tells()
	frames = p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Tool); return ok })
	require.Equal(t, []string{"warn", "assistant let me see", "c1 started"}, words(frames))
	require.Equal(t, protocol.Notice{ID: "n1", Level: "warn", Text: "again, in en"}, frames[0])
	require.Equal(t, "bash: ls", frames[2].(protocol.Tool).Summary)
	e.does(func() {
		r.result(turn, 1, 0, call, chat.ToolCompleted, "a.txt")
		r.delta(w.SessionID, turn, 2, "one file")
		r.answer(turn, 2, "one file")
	})
	e.tells()
	require.Equal(t, []string{"c1 completed", "tool a.txt", "~one file", "assistant one file", "completed"}, words(p.until(ends(turn))))
}

// The model is asked by another process than the one that began the turn, whose news
// come late.
func TestNewsOfTwoProcessesThatOvertakeOneAnother_AreShownAllTheSame(t *testing.T) {
	r := newRig(t)
	began, asked := r.elsewhere(), r.elsewhere()
	p, w := r.connect(protocol.Hello{})
	p.say("1", "hi")
	expect[protocol.Accepted](p)
	expect[protocol.Turn](p) // queued
	var turn string
	began.does(func() { turn = r.begin(w.SessionID) })
	asked.does(func() { r.delta(w.SessionID, turn, 1, "hello") })
	asked.tells()
	frames := p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Delta); return ok })
	require.Equal(t, []string{"started", "user hi", "~hello"}, words(frames))
	began.tells()
	require.Empty(t, p.settled())
}

// The call is one that the client knows of, and nothing says what it is about: that is
// looked up by its position.
func TestLiveNews_OfACallThatCannotBe_ConnectionsStay(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("1", "hi")
	expect[protocol.Accepted](p)
	turn := r.begin(w.SessionID)
	r.answer(turn, 1, "", chat.ToolCall{ID: "c1", Type: "function", Function: chat.FunctionCall{Name: "bash", Arguments: "{}"}})
	p.until(func(f protocol.ServerFrame) bool {
		m, ok := f.(protocol.Message)
		return ok && m.Role == chat.RoleAssistant
	})
	status, answer := r.postLive(`{"news":[{"session_id":"` + w.SessionID + `","progress":[{"turn_id":"` + turn + `","step":1,"tool":{"position":-1,"name":"bash"}}]}]}`)
	require.Equal(t, http.StatusNoContent, status, answer)
	require.Empty(t, p.settled(), "it is not shown, and the connection lives")
}

func TestLiveNews_AsTheyShouldNotBe_HarmNobody(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("1", "hi")
	expect[protocol.Accepted](p)
	turn := r.begin(w.SessionID)
	p.until(func(f protocol.ServerFrame) bool { m, ok := f.(protocol.Message); return ok && m.Role == chat.RoleUser })
	for body, want := range map[string]int{
		"":           http.StatusBadRequest,
		"[]":         http.StatusBadRequest,
		`{"news":7}`: http.StatusBadRequest,
		`{"news":[{"session_id":"` + w.SessionID + `","progress":[{"turn_id":7}]}]}`: http.StatusBadRequest,
		`{}`:                               http.StatusNoContent,
		`{"news":[],"of":"a newer build"}`: http.StatusNoContent,
		`{"news":[{"session_id":"nobody's","changed":true}]}`:                                                                                    http.StatusNoContent,
		`{"news":[{"session_id":"` + w.SessionID + `","progress":[{"turn_id":"gone","step":1,"kind":"text","text":"x"}]}]}`:                      http.StatusNoContent,
		`{"news":[{"session_id":"` + w.SessionID + `","progress":[{"turn_id":"` + turn + `","step":-1,"notice":{"id":"n"}}]}]}`:                  http.StatusNoContent,
		`{"news":[{"session_id":"` + w.SessionID + `","progress":[{"turn_id":"` + turn + `","step":9,"tool":{"position":-3}}]}]}`:                http.StatusNoContent,
		`{"news":[{"session_id":"` + w.SessionID + `","progress":[{"turn_id":"` + turn + `","step":1,"attempt":1,"kind":"smell","text":"x"}]}]}`: http.StatusNoContent,
		`{"news":[` + strings.Repeat(" ", maxRelayed) + `]}`:                                                                                     http.StatusRequestEntityTooLarge,
	} {
		status, answer := r.postLive(body)
		require.Equal(t, want, status, "%.100s: %s", body, answer)
	}
	require.Empty(t, p.settled(), "none of it is shown")
	r.refused(http.StatusUnauthorized, "unauthorized", http.MethodPost, "/api/v1/live", func(req *http.Request) {
		req.Header.Del("Authorization")
		req.Body = io.NopCloser(bytes.NewBufferString(`{"news":[]}`))
	})
}
