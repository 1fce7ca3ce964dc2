package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/live"
	"picobot/internal/port"
	"picobot/internal/protocol"
	"picobot/store"
)

type errorBody struct {
	Error struct{ Code, Message string }
}

func (r *rig) refused(status int, code, method, path string, change func(*http.Request)) {
	r.t.Helper()
	got, body, header := r.do(method, path, change)
	require.Equal(r.t, status, got, body)
	var e errorBody
	require.NoError(r.t, json.Unmarshal([]byte(body), &e), body)
	require.Equal(r.t, code, e.Error.Code)
	require.NotEmpty(r.t, e.Error.Message)
	require.Equal(r.t, "application/json; charset=utf-8", header.Get("Content-Type"))
}

func TestEverythingButHealthNeedsTheToken(t *testing.T) {
	r := newRig(t)
	for name, auth := range map[string]string{
		"none": "", "wrong": "Bearer wrong", "prefix": "Bearer " + testToken[:3], "longer": "Bearer " + testToken + "x",
		"empty": "Bearer ", "basic": "Basic " + testToken, "no scheme": testToken,
	} {
		t.Run(name, func(t *testing.T) {
			change := func(req *http.Request) { req.Header.Set("Authorization", auth) }
			for _, path := range []string{"/metrics", "/api/v1/sessions", "/api/v1/turns", "/ws", "/nothing/here", "/", "/../x", "//api/v1/turns", "/api/v1/../v1/turns"} {
				r.refused(http.StatusUnauthorized, "unauthorized", http.MethodGet, path, change)
			}
			// A token in the address ends up in logs, so only browsers' sockets may.
			r.refused(http.StatusUnauthorized, "unauthorized", http.MethodGet, "/api/v1/turns?token="+testToken, change)
			status, _, _ := r.do(http.MethodGet, "/health", change)
			require.Equal(t, http.StatusOK, status)
		})
	}
	status, _, _ := r.do(http.MethodGet, "/api/v1/turns", func(req *http.Request) { req.Header.Set("Authorization", "bearer  "+testToken) })
	require.Equal(t, http.StatusOK, status)
}

func TestSocketTakesTheTokenFromTheAddress(t *testing.T) {
	r := newRig(t)
	for query, want := range map[string]int{"": 401, "?token=": 401, "?token=wrong": 401, "?token=" + testToken: 101} {
		ws, resp, err := websocket.Dial(t.Context(), "ws://"+r.server.Addr()+"/ws"+query, nil)
		require.Equal(t, want, resp.StatusCode, query)
		if err == nil {
			_ = ws.CloseNow()
		}
	}
}

func TestHostAndOriginAreCheckedOnEveryEndpoint(t *testing.T) {
	r := newRig(t, func(o *Options, _ *Deps) {
		o.Names = []string{"Bot.Local"}
		o.AllowedOrigins = []string{"https://ui.example", "http://localhost:3000"}
	})
	_, p, err := net.SplitHostPort(r.server.Addr())
	require.NoError(t, err)
	own := r.server.Addr()
	for _, tt := range []struct {
		host, origin string
		ok           bool
	}{
		{own, "", true},
		{"localhost:" + p, "", true},
		{"LOCALHOST:" + p, "", true},
		{"[::1]:" + p, "", true},
		{"bot.local:" + p, "", true},
		{"ui.example", "https://ui.example", true}, // by way of a proxy
		{own, "http://" + own, true},
		{"localhost:" + p, "http://localhost:" + p, true},
		{own, "http://localhost:" + p, true}, // another of its names
		{own, "https://ui.example", true},
		{own, "HTTPS://UI.example", true},
		{own, "http://localhost:3000", true},

		{"evil.example", "", false},
		{"evil.example:" + p, "", false},
		{"localhost", "", false},
		{"localhost:1", "", false},
		{"127.0.0.1:1", "", false},
		{"localhost.evil.example:" + p, "", false},
		{"10.1.2.3:" + p, "", false},
		{"bot.local", "", false},
		{"evil.example:" + p, "http://evil.example:" + p, false},
		{own, "http://evil.example", false},
		{own, "null", false},
		{own, "http://" + own + ".evil.example", false},
		{own, "https://" + own, false},
		{own, "http://localhost:3001", false},
		{own, "http://ui.example", false},
		{own, "https://ui.example.evil.example", false},
		{own, "file://", false},
	} {
		t.Run(tt.host+" "+tt.origin, func(t *testing.T) {
			change := func(req *http.Request) {
				req.Host = tt.host
				if tt.origin != "" {
					req.Header.Set("Origin", tt.origin)
				}
			}
			for _, path := range []string{"/health", "/api/v1/turns", "/ws", "/nothing"} {
				status, body, _ := r.do(http.MethodGet, path, change)
				if tt.ok {
					require.NotEqual(t, http.StatusForbidden, status, body)
				} else {
					require.Equal(t, http.StatusForbidden, status, body)
					require.Contains(t, body, `{"error":{"code":"forbidden_`)
				}
			}
			header := http.Header{"Authorization": {"Bearer " + testToken}}
			if tt.origin != "" {
				header.Set("Origin", tt.origin)
			}
			ws, resp, err := websocket.Dial(t.Context(), "ws://"+own+"/ws", &websocket.DialOptions{Host: tt.host, HTTPHeader: header})
			if tt.ok {
				require.NoError(t, err)
				_ = ws.CloseNow()
			} else {
				require.Error(t, err)
				require.Equal(t, http.StatusForbidden, resp.StatusCode)
			}
		})
	}
}

func TestTwoOriginsAreRefused(t *testing.T) {
	r := newRig(t)
	r.refused(http.StatusForbidden, "forbidden_origin", http.MethodGet, "/health", func(req *http.Request) {
		req.Header["Origin"] = []string{"http://" + r.server.Addr(), "http://evil.example"}
	})
}

func TestUnknownPathsAndWrongMethodsAreErrorsInJSON(t *testing.T) {
	r := newRig(t)
	r.refused(http.StatusNotFound, "not_found", http.MethodGet, "/", nil)
	r.refused(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/nothing", nil)
	r.refused(http.StatusNotFound, "not_found", http.MethodPost, "/api/v2/turns", nil)
	r.refused(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/turns/none", nil)
	r.refused(http.StatusNotFound, "not_found", http.MethodPost, "/api/v1/turns/none/stop", nil)
	r.refused(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/sessions/none", nil)
	r.refused(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/sessions/none/messages", nil)
	require.NotContains(t, r.logs.String(), "level=ERROR", "whoever asks for what is not there makes no noise")
	r.refused(http.StatusMethodNotAllowed, "method_not_allowed", http.MethodPost, "/health", nil)
	r.refused(http.StatusMethodNotAllowed, "method_not_allowed", http.MethodDelete, "/api/v1/turns", nil)
	r.refused(http.StatusMethodNotAllowed, "method_not_allowed", http.MethodGet, "/api/v1/turns/x/stop", nil)
	r.refused(http.StatusBadRequest, "bad_request", http.MethodGet, "/ws", nil)
	r.refused(http.StatusBadRequest, "bad_request", http.MethodGet, "/api/v1/turns?status=dancing", nil)
	r.refused(http.StatusBadRequest, "bad_request", http.MethodGet, "/api/v1/turns?limit=x", nil)
	r.refused(http.StatusBadRequest, "bad_request", http.MethodGet, "/api/v1/sessions?limit=0", nil)
	r.refused(http.StatusBadRequest, "bad_request", http.MethodGet, "/api/v1/sessions?limit=100000", nil)
	_, _, header := r.do(http.MethodPost, "/health", nil)
	require.Equal(t, "GET", header.Get("Allow"))
	status, body, _ := r.do(http.MethodHead, "/health", nil)
	require.Equal(t, http.StatusOK, status)
	require.Empty(t, body)
}

func TestRecordIsListed(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{ChatID: "a:b"}) // written a%3Ab in the session's id
	p.say("1", "hi")
	expect[protocol.Accepted](p)
	turn := r.run(w.SessionID, "hello")
	r.connect(protocol.Hello{ChatID: "other"})

	var sessions list[Session]
	r.get("/api/v1/sessions?channel=cli&chat_id="+url.QueryEscape("a:b"), &sessions)
	require.Len(t, sessions.Items, 1)
	require.Equal(t, w.SessionID, sessions.Items[0].ID)
	require.True(t, sessions.Items[0].Active)
	r.get("/api/v1/sessions?limit=10", &sessions)
	require.Len(t, sessions.Items, 2)
	r.get("/api/v1/sessions?channel=feishu", &sessions)
	require.Equal(t, []Session{}, sessions.Items)

	var session Session
	at := "/api/v1/sessions/" + url.PathEscape(w.SessionID)
	r.get(at, &session)
	require.EqualValues(t, 1, session.MessageCount)
	require.EqualValues(t, 4, session.TotalMessageCount) // with the welcome and the prompt

	var rows list[protocol.Message]
	r.get(at+"/messages?limit=3", &rows)
	require.Equal(t, "3", rows.Next)
	require.Equal(t, []chat.Marker{chat.MarkerWelcome, chat.MarkerAgentPrompt, ""}, []chat.Marker{rows.Items[0].Marker, rows.Items[1].Marker, rows.Items[2].Marker})
	r.get(at+"/messages?from_seq="+rows.Next, &rows)
	require.Len(t, rows.Items, 1)
	require.Equal(t, "hello", rows.Items[0].Content)
	require.Empty(t, rows.Next)

	var turns list[Turn]
	r.get("/api/v1/turns?status=completed", &turns)
	require.Len(t, turns.Items, 1)
	require.Equal(t, turn, turns.Items[0].ID)
	r.get("/api/v1/turns?status=running", &turns)
	require.Empty(t, turns.Items)
	var one Turn
	r.get("/api/v1/turns/"+turn, &one)
	require.Equal(t, chat.TurnCompleted, one.Status)
	require.EqualValues(t, 10, one.Usage.PromptTokens)
}

func TestTurnsAreStoppedByAddress(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.say("1", "a")
	p.say("2", "b")
	running := expect[protocol.Accepted](p).TurnID
	frames := p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Accepted); return ok })
	waiting := frames[len(frames)-1].(protocol.Accepted).TurnID
	r.begin(w.SessionID)

	status, body, _ := r.do(http.MethodPost, "/api/v1/turns/"+waiting+"/stop", nil)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"status":"cancelled"`)
	status, body, _ = r.do(http.MethodPost, "/api/v1/turns/"+running+"/stop", nil)
	require.Equal(t, http.StatusAccepted, status, body)
	_, cancels := r.told.calls()
	require.Equal(t, []string{running}, cancels)
	r.refused(http.StatusConflict, "conflict", http.MethodPost, "/api/v1/turns/"+waiting+"/stop", nil)
}

func TestHealthSaysHowEveryPartIs(t *testing.T) {
	var state atomic.Pointer[Health]
	state.Store(&Health{TemporalMode: "embedded", UIURL: "http://ui", Channels: map[string]string{"feishu": "connecting"}, ScheduleLagMS: 7})
	r := newRig(t, timing(func(x *Timing) { x.Health = time.Nanosecond }),
		func(_ *Options, d *Deps) { d.Health = func(context.Context) Health { return *state.Load() } })
	p, _ := r.connect(protocol.Hello{})
	p.say("1", "hi")
	expect[protocol.Accepted](p)
	var rep healthReport
	r.get("/health", &rep)
	require.Greater(t, rep.UptimeMS, int64(0))
	rep.UptimeMS = 0
	require.Equal(t, healthReport{
		Status: "ok", Version: "1.2.3", Store: "ok", Temporal: "ok", TemporalMode: "embedded", UIURL: "http://ui", Worker: "ok",
		Channels: map[string]string{"cli": "ok", "feishu": "connecting"}, SessionsActive: 1, InboundPending: 1, ScheduleLagMS: 7,
	}, rep)

	for part, h := range map[string]Health{
		`"temporal":"unreachable"`: {Temporal: "unreachable"},
		`"worker":"stopped"`:       {Worker: "stopped"},
		`"feishu":"error"`:         {Channels: map[string]string{"feishu": "error"}},
	} {
		state.Store(&h)
		status, body, _ := r.do(http.MethodGet, "/health", nil)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, body, `"status":"degraded"`)
		require.Contains(t, body, part)
	}
}

func TestHealthSaysThatTheRecordCannotBeWritten(t *testing.T) {
	r := newRig(t)
	defer r.lock()()
	status, body, _ := r.do(http.MethodGet, "/health", nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, `"store":"error: `)
}

func TestFloodOfHealthLooksOnce(t *testing.T) {
	var looks atomic.Int64
	r := newRig(t, timing(func(x *Timing) { x.Health = time.Hour }), func(_ *Options, d *Deps) {
		d.Health = func(context.Context) Health { looks.Add(1); return Health{} }
	})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(r.url("/health"))
			if err == nil {
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, looks.Load())
}

func TestNewSaysWhatIsWrong(t *testing.T) {
	record, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "s.db"), Now: time.Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, record.Close()) }()
	deps := Deps{Record: record, Hub: live.NewHub(), Dispatcher: &fakeDispatcher{}}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()

	for want, o := range map[string]Options{
		taken.Addr().String():     {Addr: taken.Addr().String(), Token: "x"},
		"set gateway.token":       {Addr: "127.0.0.1:0"},
		"from other machines":     {Addr: "0.0.0.0:0", Token: "x", TokenGenerated: true},
		"gateway.allowed_origins": {Addr: "127.0.0.1:0", Token: "x", AllowedOrigins: []string{"ui.example"}},
	} {
		_, err := New(o, deps)
		require.ErrorContains(t, err, want)
		if strings.Contains(want, taken.Addr().String()) {
			_, ok := errors.AsType[*port.TakenError](err)
			require.True(t, ok)
		}
	}
	_, err = New(Options{Addr: "127.0.0.1:0", Token: "x"}, Deps{})
	require.ErrorContains(t, err, "needed")

	s, err := New(Options{Addr: "0.0.0.0:0", Token: "chosen"}, deps)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestServerListensOnWhatItIsGiven(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := newRig(t, func(o *Options, _ *Deps) { o.Addr, o.Listener = "", ln })
	require.Equal(t, ln.Addr().String(), r.server.Addr())
	status, _, _ := r.do(http.MethodGet, "/health", nil)
	require.Equal(t, http.StatusOK, status)
}

func TestLargeRowsAreListedInSmallLists(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	const rows, size = 6, 200 << 10
	for i := range rows / 2 {
		p.say(fmt.Sprint(i), strings.Repeat("q", size))
		p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Accepted); return ok })
		p.until(ends(r.run(w.SessionID, strings.Repeat("a", size))))
	}
	at := "/api/v1/sessions/" + url.PathEscape(w.SessionID) + "/messages?from_seq="
	next, seen := "2", 0 // behind the welcome and the prompt
	for next != "" {
		var got list[protocol.Message]
		r.get(at+next, &got)
		require.LessOrEqual(t, len(got.Items), 2)
		seen, next = seen+len(got.Items), got.Next
	}
	require.Equal(t, rows, seen)
}

// Who waits for a start must not wait for an answer that is no longer true.
func TestHealthThatIsBadIsLookedAtAgainSooner(t *testing.T) {
	var serving atomic.Bool
	var now atomic.Int64
	r := newRig(t, timing(func(x *Timing) { x.Health = 20 * time.Second }), func(_ *Options, d *Deps) {
		d.Now = func() time.Time { return time.Unix(1_700_000_000+now.Load(), 0) }
		d.Health = func(context.Context) Health {
			if serving.Load() {
				return Health{}
			}
			return Health{Worker: "error: not serving"}
		}
	})
	status := func() int { s, _, _ := r.do(http.MethodGet, "/health", nil); return s }
	require.Equal(t, http.StatusServiceUnavailable, status())
	serving.Store(true)
	require.Equal(t, http.StatusServiceUnavailable, status(), "asked again at once, nothing is looked at")
	now.Add(1)
	require.Equal(t, http.StatusOK, status())
	serving.Store(false)
	now.Add(19)
	require.Equal(t, http.StatusOK, status())
	now.Add(1)
	require.Equal(t, http.StatusServiceUnavailable, status())
}

// Every list ends, and its pages hold everything once.
func TestListsArePaged(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		p, w := r.connect(protocol.Hello{ChatID: fmt.Sprintf("chat %d", i)})
		p.say("1", "hi")
		expect[protocol.Accepted](p)
		r.run(w.SessionID, "hello")
	}
	for path, key := range map[string]string{"/api/v1/sessions": "id", "/api/v1/turns": "id"} {
		var all, paged []string
		collect := func(query string) (next string, n int) {
			var page list[map[string]any]
			r.get(path+query, &page)
			for _, item := range page.Items {
				paged = append(paged, item[key].(string))
			}
			return page.Next, len(page.Items)
		}
		next, _ := collect("")
		require.Empty(t, next, "a list that is whole has no next")
		all, paged = paged, nil
		require.Len(t, all, 5)
		next, pages := "", 0
		for {
			var n int
			next, n = collect("?limit=2&cursor=" + url.QueryEscape(next))
			pages++
			if next == "" {
				break
			}
			require.Equal(t, 2, n)
		}
		require.Equal(t, 3, pages)
		require.Equal(t, all, paged)
		r.refused(http.StatusBadRequest, "bad_request", http.MethodGet, path+"?cursor=nonsense", nil)
	}
}
