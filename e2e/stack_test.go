package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"picobot/activities"
	"picobot/gateway/dispatch"
	"picobot/gateway/scheduler"
	"picobot/internal/engine"
	"picobot/internal/flow"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/internal/llm/catalog"
	"picobot/internal/metrics"
	"picobot/internal/metrics/temporalmetrics"
	"picobot/internal/netguard"
	"picobot/internal/prompt"
	"picobot/internal/text"
	"picobot/internal/tools"
	"picobot/internal/tools/proc"
	"picobot/store"
	"picobot/worker"
	"picobot/workflows"
)

func TestMain(m *testing.M) {
	if proc.IsChild() {
		proc.Main()
		return
	}
	m.Run()
}

// stack is everything between a message that was accepted and its answer.
type stack struct {
	testing.TB
	dir      string
	record   *store.Store
	engine   *engine.Server
	client   client.Client
	acts     *activities.Activities
	dispatch *dispatch.Dispatcher
	jobs     atomic.Pointer[scheduler.Reconciler]
	ws       *tools.Workspace
	stopRun  context.CancelFunc
	stopped  chan error
	serving  func() bool
	seq      atomic.Int64
	measured *metrics.Metrics // nil = nobody measures
	// summaryTakes is how long the model takes for a summary.
	summaryTakes atomic.Int64
}

type agents struct{}

func (agents) Agent(string) activities.Agent {
	return activities.Agent{Models: []string{"offline"}, MaxToolIterations: 500, MaxParallelTools: 4}
}

// newStack starts everything in a fresh directory.
func newStack(tb testing.TB) *stack {
	tb.Helper()
	return newStackWith(tb, nil)
}

// newStackWith is newStack with the record's writes and Temporal's SDK measured.
func newStackWith(tb testing.TB, measured *metrics.Metrics) *stack {
	tb.Helper()
	s := &stack{TB: tb, dir: tb.TempDir(), measured: measured}
	s.openRecord()
	s.start()
	tb.Cleanup(func() {
		s.stop()
		require.NoError(tb, s.record.Close())
	})
	return s
}

func (s *stack) openRecord() {
	var err error
	hub := live.NewHub()
	options := store.Options{Path: filepath.Join(s.dir, "sessions.db"), Now: time.Now,
		RetryDelays: []time.Duration{100 * time.Millisecond}, OnChange: hub.Wake,
		OnJobs: func() {
			if r := s.jobs.Load(); r != nil {
				r.Wake()
			}
		}}
	if s.measured != nil {
		options.OnWrite = s.measured.Write
	}
	s.record, err = store.Open(context.Background(), options)
	require.NoError(s, err)
	cat, err := catalog.New(map[string]catalog.Provider{"offline": {Type: catalog.TypeOffline}},
		map[string]catalog.Model{"offline": {Model: llm.Model{ID: "offline", Stream: true}, Provider: "offline"}})
	require.NoError(s, err)
	s.ws, err = tools.OpenWorkspace(filepath.Join(s.dir, "workspace"), true)
	require.NoError(s, err)
	registry, err := tools.NewRegistry(tools.Options{}, tools.Calculator(), tools.GetTime(time.Now, time.UTC), tools.Bash(s.ws, tools.BashOptions{}),
		tools.WebFetch(tools.HTTPOptions{Guard: netguard.New(netguard.Options{AllowPrivate: true})}))
	require.NoError(s, err)
	s.acts = activities.New(activities.Deps{Record: s.record, Models: lateSummaries{cat, &s.summaryTakes}, Agents: agents{}, Tools: registry,
		Prompt: prompt.NewAgentFile(filepath.Join(s.dir, "AGENT.md")), Hub: hub, Texts: text.For("en"), Now: time.Now, Logger: log(),
		Mask: func(t string) string { return t }, Keep: s.ws.Keep, Summaries: true,
		Compaction: activities.Compaction{KeepTurns: 3}, Scheduler: activities.Scheduler{Enabled: true}})
}

// log writes warnings where go test -v shows them.
func log() *slog.Logger {
	if !testing.Verbose() {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// start starts Temporal, recovers, and serves.
func (s *stack) start() {
	s.Helper()
	s.startEngine()
	s.serve()
}

func (s *stack) startEngine() {
	s.Helper()
	var err error
	ctx := context.Background()
	s.engine, err = engine.Start(ctx, engine.Options{Dir: filepath.Join(s.dir, "temporal"), Address: "127.0.0.1:0", NoUI: true, Build: "test", Logger: log(), Now: time.Now})
	require.NoError(s, err)
	options := client.Options{HostPort: s.engine.Address(), Logger: quiet{}}
	if s.measured != nil {
		options.MetricsHandler, err = temporalmetrics.New(s.measured.Registerer())
		require.NoError(s, err)
	}
	s.client, err = client.Dial(options)
	require.NoError(s, err)
}

func (s *stack) serve() {
	s.Helper()
	queues := flow.Queues{Base: "picobot"}
	s.dispatch = dispatch.New(s.client, s.record, dispatch.Options{Queues: queues, SweepEvery: 500 * time.Millisecond, StuckAfter: time.Second,
		CancelHere: s.acts.CancelTurn, Now: time.Now, Logger: log()})
	require.NoError(s, s.dispatch.Recover(context.Background()))
	jobs := scheduler.New(s.client, s.record, scheduler.Options{Queues: queues, Enabled: true, Tick: 200 * time.Millisecond, Settle: 11 * time.Second, Now: time.Now, Logger: log()})
	require.NoError(s, jobs.Recover(context.Background()))
	s.jobs.Store(jobs)
	w := worker.New(s.client, s.acts, worker.Options{Queues: queues, MaxModelCalls: 256, MaxToolCalls: 32, MaxDeliveries: 16,
		StopTimeout: 5 * time.Second, StickyTimeout: 5 * time.Second, Logger: log()})
	s.serving = w.Serving
	ctx, stop := context.WithCancel(context.Background())
	s.stopRun, s.stopped = stop, make(chan error, 3)
	go func() { s.stopped <- w.Run(ctx) }()
	go func() { s.stopped <- jobs.Run(ctx) }()
	go func() { s.stopped <- s.dispatch.Run(ctx) }()
	s.eventually(10*time.Second, "the worker serves", s.serving)
}

func (s *stack) stopServing() {
	s.Helper()
	s.stopRun()
	for range cap(s.stopped) {
		require.NoError(s, <-s.stopped)
	}
}

func (s *stack) stop() {
	s.Helper()
	s.stopServing()
	s.stopEngine()
}

func (s *stack) stopEngine() {
	s.Helper()
	s.client.Close()
	require.NoError(s, s.engine.Stop(context.Background()))
}

// say accepts a message in a chat and nudges its session.
func (s *stack) say(chatID, content string) store.Turn {
	s.Helper()
	turn := s.accept(chatID, content)
	s.dispatch.Nudge(turn.SessionID)
	return turn
}

func (s *stack) accept(chatID, content string) store.Turn {
	s.Helper()
	a, err := s.record.Accept(context.Background(), store.Inbound{Channel: "cli", ChatID: chatID, ExternalID: fmt.Sprint(s.seq.Add(1)), SenderID: "me", Content: content})
	require.NoError(s, err)
	return a.Turn
}

func (s *stack) turn(id string) store.Turn {
	s.Helper()
	t, err := s.record.Turn(context.Background(), id)
	require.NoError(s, err)
	return t
}

// await waits until a turn has ended.
func (s *stack) await(t store.Turn) store.Turn {
	s.Helper()
	s.eventually(60*time.Second, "turn ends", func() bool { return s.turn(t.ID).Status.Final() })
	return s.turn(t.ID)
}

func (s *stack) rows(t store.Turn) []store.Row {
	s.Helper()
	all, err := s.record.Messages(context.Background(), t.SessionID, 0, 10_000)
	require.NoError(s, err)
	var out []store.Row
	for i, r := range all {
		require.EqualValues(s, i+1, r.Seq, "seq has a gap")
		if r.TurnID == t.ID {
			out = append(out, r)
		}
	}
	return out
}

// reply is the last row of a turn.
func (s *stack) reply(t store.Turn) string {
	s.Helper()
	rows := s.rows(t)
	require.NotEmpty(s, rows)
	return rows[len(rows)-1].Content
}

func (s *stack) eventually(limit time.Duration, what string, ok func() bool) {
	s.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("within %v it never happened that %s", limit, what)
		}
	}
}

// idle waits until the session's workflow has closed.
func (s *stack) idle(sessionID string) {
	s.Helper()
	s.eventually(20*time.Second, "the session's run closes", func() bool {
		return s.status(sessionID) != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
}

func (s *stack) status(sessionID string) enumspb.WorkflowExecutionStatus {
	return s.statusOf(flow.SessionWorkflowID(sessionID))
}

func (s *stack) statusOf(workflowID string) enumspb.WorkflowExecutionStatus {
	d, err := s.client.DescribeWorkflowExecution(context.Background(), workflowID, "")
	if err != nil {
		return enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED
	}
	return d.GetWorkflowExecutionInfo().GetStatus()
}

// history returns the events of a session's newest run.
func (s *stack) history(sessionID, runID string) *historypb.History {
	s.Helper()
	return s.historyOf(flow.SessionWorkflowID(sessionID), runID)
}

func (s *stack) historyOf(workflowID, runID string) *historypb.History {
	s.Helper()
	h := &historypb.History{}
	it := s.client.GetWorkflowHistory(context.Background(), workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		require.NoError(s, err)
		h.Events = append(h.Events, e)
	}
	return h
}

// count counts the runs a visibility query finds.
func (s *stack) count(query string) int64 {
	s.Helper()
	r, err := s.client.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{Query: query})
	require.NoError(s, err)
	return r.GetCount()
}

// quiet drops the SDK's own logging.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// replay runs a workflow against its history.
func replay(h *historypb.History) error {
	r := sdkworker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(workflows.Session, workflow.RegisterOptions{Name: flow.SessionWorkflow})
	r.RegisterWorkflowWithOptions(workflows.Compaction, workflow.RegisterOptions{Name: flow.CompactionWorkflow})
	r.RegisterWorkflowWithOptions(workflows.Title, workflow.RegisterOptions{Name: flow.TitleWorkflow})
	return r.ReplayWorkflowHistory(quiet{}, h)
}
