package gateway

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
	"picobot/internal/testkit/record"
	"picobot/store"
)

const testToken = "secret"

// patience is how long a test waits for what must come; only failures take as long.
const patience = 20 * time.Second

// rig is a gateway with a real record and real sockets. The test plays the worker.
type rig struct {
	t      testing.TB
	path   string // of the record
	opts   Options
	record *store.Store
	hub    *live.Hub
	server *Server
	told   *fakeDispatcher
	logs   *harness.Output
	stop   context.CancelFunc
	done   chan struct{}
}

// expireAfter is the silence after which a rig's dialogs are not gone on with.
const expireAfter = 24 * time.Hour

type rigOption func(*Options, *Deps)

func newRig(t testing.TB, options ...rigOption) *rig {
	t.Helper()
	r := &rig{t: t, path: record.At(t, filepath.Join(t.TempDir(), "sessions.db")), hub: live.NewHub(), told: &fakeDispatcher{}, logs: &harness.Output{}, done: make(chan struct{})}
	logger := slog.New(slog.NewTextHandler(r.logs, nil))
	var err error
	r.record, err = store.Open(t.Context(), store.Options{
		Path: r.path, Now: time.Now, OnChange: r.hub.Wake, Logger: logger, RetryDelays: []time.Duration{time.Millisecond, time.Millisecond},
		ExpireAfter: expireAfter,
	})
	require.NoError(t, err)
	r.opts = Options{Addr: "127.0.0.1:0", Token: testToken, TokenGenerated: true, Version: "1.2.3", Workspace: t.TempDir(), MediaDir: t.TempDir()}
	deps := Deps{
		Record: r.record, Hub: r.hub, Dispatcher: r.told, Logger: logger,
		Model:     func(string) Model { return Model{Name: "main"} },
		Summarize: func(name, arguments string) string { return name + ": " + arguments },
	}
	for _, o := range options {
		o(&r.opts, &deps)
	}
	r.server, err = New(r.opts, deps)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	var runErr error
	go func() {
		defer close(r.done)
		runErr = r.server.Run(ctx)
	}()
	t.Cleanup(func() {
		r.shutdown()
		require.NoError(t, runErr)
		require.NoError(t, r.record.Close())
		if t.Failed() {
			t.Log(r.logs.String())
		}
	})
	return r
}

func (r *rig) shutdown() {
	r.stop()
	<-r.done
}

// fakeDispatcher remembers what it was told.
type fakeDispatcher struct {
	mu      sync.Mutex
	nudged  []string
	cancels []string // turns
	compact []string // sessions
	panics  bool
}

func (d *fakeDispatcher) Nudge(sessionID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.panics {
		panic("dispatcher")
	}
	d.nudged = append(d.nudged, sessionID)
}

func (d *fakeDispatcher) CancelTurn(_, turnID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cancels = append(d.cancels, turnID)
}

func (d *fakeDispatcher) Compact(sessionID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.compact = append(d.compact, sessionID)
}

func (d *fakeDispatcher) compacting() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.compact...)
}

func (d *fakeDispatcher) calls() (nudged, cancels []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.nudged...), append([]string(nil), d.cancels...)
}

// lock keeps everybody from writing to the record until unlock is called.
func (r *rig) lock() (unlock func()) {
	r.t.Helper()
	db, err := sql.Open("sqlite", "file:"+r.path)
	require.NoError(r.t, err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec("BEGIN EXCLUSIVE")
	require.NoError(r.t, err)
	return func() {
		_, err := db.Exec("ROLLBACK")
		require.NoError(r.t, err)
		require.NoError(r.t, db.Close())
	}
}

// The worker's side.

func (r *rig) begin(sessionID string) string {
	r.t.Helper()
	p, err := r.record.BeginTurn(r.t.Context(), store.Begin{SessionID: sessionID, WorkflowID: "w", RunID: "r", AgentPrompt: "be kind"})
	require.NoError(r.t, err)
	require.NotNil(r.t, p, "nothing waits")
	return p.Turn.ID
}

func (r *rig) answer(turnID string, step int, content string, calls ...chat.ToolCall) {
	r.t.Helper()
	_, err := r.record.CommitAnswer(r.t.Context(), turnID, step, store.Answer{
		Message: chat.Message{Role: chat.RoleAssistant, Content: content, ToolCalls: calls}, Model: "main",
		Calls: []store.ModelCall{{Step: step, Model: "main", Provider: "p", Usage: chat.Usage{PromptTokens: 10, CompletionTokens: 2}}},
	})
	require.NoError(r.t, err)
}

// run begins the session's next turn and answers it.
func (r *rig) run(sessionID, content string) string {
	r.t.Helper()
	turn := r.begin(sessionID)
	r.answer(turn, 1, content)
	return turn
}

func (r *rig) toolRun(turnID string, step, pos int, c chat.ToolCall) store.ToolRun {
	return store.ToolRun{TurnID: turnID, Step: step, Position: pos, CallID: c.ID, Name: c.Function.Name, Effect: "write"}
}

func (r *rig) claim(turnID string, step, pos int, c chat.ToolCall) {
	r.t.Helper()
	_, _, err := r.record.ClaimTool(r.t.Context(), r.toolRun(turnID, step, pos, c))
	require.NoError(r.t, err)
}

func (r *rig) result(turnID string, step, pos int, c chat.ToolCall, status chat.ToolStatus, result string) {
	r.t.Helper()
	run := r.toolRun(turnID, step, pos, c)
	run.Status, run.Result = status, result
	_, err := r.record.CommitTool(r.t.Context(), run)
	require.NoError(r.t, err)
}

func (r *rig) delta(sessionID, turnID string, step int, text string) {
	r.hub.Publish(sessionID, live.Progress{TurnID: turnID, Step: step, Attempt: 1, Kind: llm.DeltaText, Text: text})
}

// HTTP.

func (r *rig) url(path string) string { return "http://" + r.server.Addr() + path }

func (r *rig) do(method, path string, change func(*http.Request)) (int, string, http.Header) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url(path), nil)
	require.NoError(r.t, err)
	req.Header.Set("Authorization", "Bearer "+testToken)
	if change != nil {
		change(req)
	}
	// A transport of its own, so that no idle connection outlives the request.
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(r.t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	d, err := documented()
	require.NoError(r.t, err)
	if wrong := d.conforms(method, path, resp.StatusCode, resp.Header.Get("Content-Type"), string(b)); wrong != "" {
		r.t.Errorf("%s %s is answered with %d other than /api/v1/openapi.json says: %s\n%s", method, path, resp.StatusCode, wrong, b)
	}
	return resp.StatusCode, string(b), resp.Header
}

func (r *rig) get(path string, into any) {
	r.t.Helper()
	status, body, _ := r.do(http.MethodGet, path, nil)
	require.Equal(r.t, http.StatusOK, status, body)
	require.NoError(r.t, json.Unmarshal([]byte(body), into), body)
}

// A peer.

type peer struct {
	t    testing.TB
	ws   *websocket.Conn
	gone error
	seen []protocol.ServerFrame
}

func (r *rig) dial() *peer {
	r.t.Helper()
	return r.dialWith(&http.Transport{})
}

func (r *rig) dialWith(transport *http.Transport) *peer {
	r.t.Helper()
	ws, resp, err := websocket.Dial(r.t.Context(), "ws://"+r.server.Addr()+"/ws", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + testToken}}, HTTPClient: &http.Client{Transport: transport},
	})
	if err != nil && resp != nil {
		r.t.Fatalf("dial: %v (%d)", err, resp.StatusCode)
	}
	require.NoError(r.t, err)
	ws.SetReadLimit(-1)
	p := &peer{t: r.t, ws: ws}
	r.t.Cleanup(func() { _ = ws.CloseNow() })
	return p
}

// connect says hello and waits for the welcome.
func (r *rig) connect(h protocol.Hello) (*peer, protocol.Welcome) {
	r.t.Helper()
	if h.ClientID == "" {
		h.ClientID = "me"
	}
	p := r.dial()
	p.send(h)
	return p, expect[protocol.Welcome](p)
}

func (p *peer) send(f protocol.ClientFrame) {
	p.t.Helper()
	p.sendRaw(string(protocol.EncodeClient(f)))
}

func (p *peer) sendRaw(s string) {
	p.t.Helper()
	require.NoError(p.t, p.ws.Write(p.t.Context(), websocket.MessageText, []byte(s)))
}

func (p *peer) say(id, content string) {
	p.t.Helper()
	p.send(protocol.UserMessage{ID: id, Content: content})
}

// next returns the next frame, or nil when the gateway has hung up.
func (p *peer) next() protocol.ServerFrame {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	_, b, err := p.ws.Read(ctx)
	if err != nil {
		require.NoError(p.t, ctx.Err(), "no frame came; seen: %v", p.seen)
		p.gone = err
		return nil
	}
	f, err := protocol.DecodeServer(b)
	require.NoError(p.t, err)
	require.NotNil(p.t, f, string(b))
	p.seen = append(p.seen, f)
	return f
}

// hungUp waits for the end of the connection and returns its close code.
func (p *peer) hungUp() websocket.StatusCode {
	p.t.Helper()
	for p.next() != nil {
	}
	return websocket.CloseStatus(p.gone)
}

// expect returns the next frame, which must be of type F; notices are passed over.
func expect[F protocol.ServerFrame](p *peer) F {
	p.t.Helper()
	for {
		f := p.next()
		if got, ok := f.(F); ok {
			return got
		}
		if _, ok := f.(protocol.Notice); !ok {
			var want F
			require.IsType(p.t, want, f, "seen: %v", p.seen)
		}
	}
}

// until reads frames up to one that is wanted, and returns all of them.
func (p *peer) until(wanted func(protocol.ServerFrame) bool) []protocol.ServerFrame {
	p.t.Helper()
	var out []protocol.ServerFrame
	for {
		f := p.next()
		require.NotNil(p.t, f, "the gateway hung up: %v; got %v", p.gone, out)
		out = append(out, f)
		if wanted(f) {
			return out
		}
	}
}

func ends(turnID string) func(protocol.ServerFrame) bool {
	return func(f protocol.ServerFrame) bool {
		t, ok := f.(protocol.Turn)
		return ok && t.TurnID == turnID && chat.TurnStatus(t.Status).Final()
	}
}

// settled sends a ping and returns the frames that come before its pong.
func (p *peer) settled() []protocol.ServerFrame {
	p.t.Helper()
	p.send(protocol.Ping{})
	out := p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Pong); return ok })
	return out[:len(out)-1]
}

func (p *peer) error(code string) protocol.Error {
	p.t.Helper()
	e := expect[protocol.Error](p)
	require.Equal(p.t, code, e.Code, e.Message)
	require.NotEmpty(p.t, e.Message)
	return e
}

// words writes frames in short, to compare sequences of them.
func words(frames []protocol.ServerFrame) []string {
	var out []string
	for _, f := range frames {
		switch f := f.(type) {
		case protocol.Accepted:
			out = append(out, "accepted "+f.ID)
		case protocol.Turn:
			out = append(out, f.Status)
		case protocol.Message:
			out = append(out, string(f.Role)+" "+f.Content)
		case protocol.Tool:
			out = append(out, f.CallID+" "+f.Status)
		case protocol.Delta:
			out = append(out, "~"+f.Text)
		case protocol.Notice:
			out = append(out, f.Level)
		case protocol.Pong:
			out = append(out, "pong")
		default:
			b := protocol.Encode(f)
			out = append(out, string(b))
		}
	}
	return out
}
