package activities_test

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"picobot/activities"
	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/internal/prompt"
	"picobot/internal/testkit/record"
	"picobot/internal/text"
	"picobot/internal/tools"
	"picobot/internal/tools/proc"
	"picobot/store"
)

func TestMain(m *testing.M) {
	if proc.IsChild() {
		proc.Main()
		return
	}
	m.Run()
}

// model is a provider that says what the test tells it to.
type model struct {
	mu    sync.Mutex
	reply func(ctx context.Context, req llm.Request, n int, onDelta func(llm.Delta)) (llm.Response, error)
	calls []llm.Request
}

func (m *model) Complete(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	m.mu.Lock()
	m.calls = append(m.calls, req)
	n := len(m.calls)
	m.mu.Unlock()
	return m.reply(ctx, req, n, onDelta)
}

func (m *model) Ping(context.Context) error { return nil }

func (m *model) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.calls)
}

func says(content string) func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
	return func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
		return llm.Response{Content: content, Stop: llm.StopEnd, Usage: chat.Usage{PromptTokens: 1, CompletionTokens: 1}}, nil
	}
}

func calls(cs ...chat.ToolCall) func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
	return func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
		return llm.Response{ToolCalls: cs, Stop: llm.StopToolCalls}, nil
	}
}

// fixture is a record, a model and some tools, and activities that work with them.
type fixture struct {
	*testing.T
	env    *testsuite.TestActivityEnvironment
	acts   *activities.Activities
	record *store.Store
	model  *model
	window int
	agent  activities.Agent
	sender *sender
	preparer
	hub    *live.Hub
	seq    int
	dir    string
	vision bool

	acted    chan string   // an outside tool has acted
	release  chan struct{} // lets the slow tools end
	readRuns int

	// What the record does meanwhile; nil = nobody listens. Set before the work begins.
	onRetry  func() // a write failed and will be tried again
	onChange func() // something was written
}

func (f *fixture) Model(name string) (llm.Provider, llm.Model, int, error) {
	return f.model, llm.Model{Name: name, ID: name, Vision: f.vision}, f.window, nil
}

func (f *fixture) Agent(string) activities.Agent { return f.agent }

type args struct {
	Text string `json:"text,omitempty" jsonschema:"a text"`
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, model: &model{reply: says("hi")}, window: 100_000, sender: &sender{}, hub: live.NewHub(),
		agent: activities.Agent{Models: []string{"main"}, MaxToolIterations: 5, MaxParallelTools: 2},
		acted: make(chan string, 10), release: make(chan struct{})}
	dir := t.TempDir()
	f.dir = dir
	s, err := store.Open(t.Context(), store.Options{Path: record.At(t, f.recordPath()), Now: time.Now, RetryDelays: []time.Duration{time.Millisecond},
		OnChange: func(string) {
			if f.onChange != nil {
				f.onChange()
			}
		},
		Logger: slog.New(slog.NewTextHandler(listener(func() {
			if f.onRetry != nil {
				f.onRetry()
			}
		}), nil))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	f.record = s
	spec := func(name string, e tools.Effect) tools.Spec[args] {
		return tools.Spec[args]{Name: name, Description: name, Effect: e}
	}
	registry, err := tools.NewRegistry(tools.Options{},
		tools.New(spec("look", tools.ReadOnly), func(ctx context.Context, _ tools.Call, a args) (string, error) {
			f.readRuns++
			if a.Text != "slow" {
				return "seen " + a.Text, nil
			}
			return f.slowly(ctx, "look", "seen slow")
		}),
		tools.New(spec("act", tools.Outside), func(ctx context.Context, _ tools.Call, a args) (string, error) {
			if a.Text == "slow" {
				return f.slowly(ctx, "slow", "done slow")
			}
			f.acted <- a.Text
			return "done " + a.Text, nil
		}),
		tools.SessionSend(),
	)
	require.NoError(t, err)
	f.acts = activities.New(activities.Deps{
		Record: s, Models: f, Agents: f, Tools: registry, Prompt: prompt.NewAgentFile(filepath.Join(dir, "AGENT.md")),
		Senders: map[string]activities.Sender{"feishu": f.sender}, Preparers: map[string]activities.Preparer{"feishu": &f.preparer}, Hub: f.hub, Texts: text.For("en"), Now: time.Now,
		Logger: slog.New(slog.DiscardHandler), Mask: func(s string) string { return s }, Summaries: true, Media: activities.Media{Dir: dir},
		Compaction: activities.Compaction{Threshold: 0.5, KeepTurns: 1}, TitleAfter: 2, MaintenanceEnabled: true,
		Keep: func(_ tools.Call, tool, _ string) (string, error) { return ".picobot/output/" + tool + ".txt", nil },
	})
	f.env = f.newEnv()
	return f
}

// listener is a log that only says when something is written to it.
type listener func()

func (l listener) Write(p []byte) (int, error) {
	l()
	return len(p), nil
}

// slowly says that a tool has begun and ends it when the test says so.
func (f *fixture) slowly(ctx context.Context, what, result string) (string, error) {
	f.acted <- what
	select {
	case <-f.release:
		return result, nil
	case <-ctx.Done():
		return "half done", context.Cause(ctx)
	}
}

func (f *fixture) recordPath() string { return filepath.Join(f.dir, "sessions.db") }

// lockRecord locks the record from a connection of its own, as another process does.
func (f *fixture) lockRecord() (unlock func()) {
	f.Helper()
	db, err := sql.Open("sqlite", "file:"+f.recordPath()+"?_txlock=immediate")
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, db.Close()) })
	lock, err := db.Begin()
	require.NoError(f, err)
	return func() { _ = lock.Rollback() }
}

// newEnv returns one more attempt's surroundings in the same process.
func (f *fixture) newEnv() *testsuite.TestActivityEnvironment {
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	reg := func(name string, fn any) { env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name}) }
	reg(flow.BeginTurn, f.acts.BeginTurn)
	reg(flow.CallModel, f.acts.CallModel)
	reg(flow.RunTool, f.acts.RunTool)
	reg(flow.FinishTurn, f.acts.FinishTurn)
	reg(flow.RequestCancel, f.acts.RequestCancel)
	reg(flow.Deliver, f.acts.Deliver)
	reg(flow.Summarise, f.acts.Summarise)
	reg(flow.CommitCompaction, f.acts.CommitCompaction)
	reg(flow.MakeTitle, f.acts.MakeTitle)
	reg(flow.Prepare, f.acts.Prepare)
	return env
}

func do[T any](f *fixture, env *testsuite.TestActivityEnvironment, name string, in any) (T, error) {
	var out T
	v, err := env.ExecuteActivity(name, in)
	if err == nil {
		require.NoError(f, v.Get(&out))
	}
	return out, err
}

// begin accepts a message and begins its turn.
func (f *fixture) begin(channel, content string) flow.Begun {
	f.Helper()
	f.seq++
	a, err := f.record.Accept(f.Context(), store.Inbound{Channel: channel, ChatID: "c", ExternalID: strconv.Itoa(f.seq), SenderID: "me", Content: content})
	require.NoError(f, err)
	return f.beginAgain(a.Turn.SessionID)
}

func (f *fixture) beginAgain(sessionID string) flow.Begun {
	f.Helper()
	b, err := do[flow.Begun](f, f.env, flow.BeginTurn, flow.SessionInput{SessionID: sessionID})
	require.NoError(f, err)
	return b
}

func (f *fixture) ask(turnID string, step int) (flow.ModelResult, error) {
	return do[flow.ModelResult](f, f.env, flow.CallModel, flow.ModelInput{TurnID: turnID, Step: step})
}

func (f *fixture) tool(turnID string, step, pos int) (flow.ToolResult, error) {
	return do[flow.ToolResult](f, f.env, flow.RunTool, flow.ToolInput{TurnID: turnID, Step: step, Position: pos})
}

func (f *fixture) turn(id string) store.Turn {
	f.Helper()
	t, err := f.record.Turn(f.Context(), id)
	require.NoError(f, err)
	return t
}

func (f *fixture) rows(turnID string) []store.Row {
	f.Helper()
	r, err := f.record.Messages(f.Context(), f.turn(turnID).SessionID, 0, 0)
	require.NoError(f, err)
	return r
}

// last is the newest row's content.
func (f *fixture) last(turnID string) string {
	r := f.rows(turnID)
	return r[len(r)-1].Content
}

type sender struct {
	err  error
	sent []string
}

func (s *sender) Send(_ context.Context, o store.Outbound) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	s.sent = append(s.sent, o.Content)
	return "om_1", nil
}
