package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/engine"
)

// baseline is what an agent on Temporal usually looks like: the development
// server as it comes, a workflow a chat that gets messages as signals, and one
// activity each to record the message, call the model, run the tool, call the
// model, and deliver the answer, with all contents in their payloads.
type baseline struct {
	testing.TB
	engine    *engine.Server
	client    client.Client
	worker    worker.Worker
	record    *sql.DB
	delivered chan string // ids of messages whose answer was delivered
}

const baselineQueue = "baseline"

// baselineMessage is what is said; Reply is what came of it.
type baselineMessage struct{ ID, Content, Call, Result, Reply string }

func newBaseline(tb testing.TB) *baseline {
	tb.Helper()
	ctx, dir := context.Background(), tb.TempDir()
	b := &baseline{TB: tb, delivered: make(chan string, 1024)}
	var err error
	b.engine, err = engine.Start(ctx, engine.Options{Dir: filepath.Join(dir, "temporal"), Address: "127.0.0.1:0", NoUI: true, Stock: true, Build: "test", Logger: log(), Now: time.Now})
	require.NoError(tb, err)
	b.client, err = client.Dial(client.Options{HostPort: b.engine.Address(), Logger: quiet{}})
	require.NoError(tb, err)
	b.openRecord(filepath.Join(dir, "record.db"))
	b.worker = worker.New(b.client, baselineQueue, worker.Options{})
	b.worker.RegisterWorkflowWithOptions(baselineSession, workflow.RegisterOptions{Name: "BaselineSession"})
	for name, fn := range map[string]any{"Record": b.recordMessage, "Model": b.model, "Tool": b.tool, "Deliver": b.deliver} {
		b.worker.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
	require.NoError(tb, b.worker.Start())
	tb.Cleanup(func() {
		b.worker.Stop()
		close(b.delivered)
		b.client.Close()
		require.NoError(tb, b.record.Close())
		require.NoError(tb, b.engine.Stop(context.Background()))
	})
	return b
}

func (b *baseline) openRecord(path string) {
	require.NoError(b, os.WriteFile(path, nil, 0o600))
	var err error
	b.record, err = sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	require.NoError(b, err)
	b.record.SetMaxOpenConns(1)
	_, err = b.record.ExecContext(context.Background(), `CREATE TABLE messages (id TEXT, role TEXT, content TEXT)`)
	require.NoError(b, err)
}

// baselineSession answers message after message until nothing is left.
func baselineSession(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	inbox := workflow.GetSignalChannel(ctx, "message")
	for {
		var m baselineMessage
		if !inbox.ReceiveAsync(&m) {
			return nil
		}
		for _, step := range []string{"Record", "Model", "Tool", "Model", "Deliver"} {
			if err := workflow.ExecuteActivity(ctx, step, m).Get(ctx, &m); err != nil {
				return err
			}
		}
	}
}

func (b *baseline) insert(ctx context.Context, m baselineMessage, role, content string) (baselineMessage, error) {
	_, err := b.record.ExecContext(ctx, `INSERT INTO messages VALUES (?, ?, ?)`, m.ID, role, content)
	return m, err
}

func (b *baseline) recordMessage(ctx context.Context, m baselineMessage) (baselineMessage, error) {
	return b.insert(ctx, m, "user", m.Content)
}

func (b *baseline) model(ctx context.Context, m baselineMessage) (baselineMessage, error) {
	if m.Result == "" {
		m.Call = "calculator 12*7"
		return b.insert(ctx, m, "assistant", m.Call)
	}
	m.Reply = "calculator: " + m.Result
	return b.insert(ctx, m, "assistant", m.Reply)
}

func (b *baseline) tool(ctx context.Context, m baselineMessage) (baselineMessage, error) {
	m.Result = "84"
	return b.insert(ctx, m, "tool", m.Result)
}

func (b *baseline) deliver(ctx context.Context, m baselineMessage) (baselineMessage, error) {
	b.delivered <- m.ID
	return m, nil
}

// answer says something and returns once the answer is delivered. One caller only.
func (b *baseline) answer(chatID, id string) {
	require.NoError(b, b.say(context.Background(), chatID, id))
	require.Equal(b, id, <-b.delivered)
}

// idle waits until the chat's run has closed.
func (b *baseline) idle(chatID string) {
	require.Eventually(b, func() bool {
		d, err := b.client.DescribeWorkflowExecution(context.Background(), "baseline/"+chatID, "")
		return err == nil && d.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}, 20*time.Second, 5*time.Millisecond)
}

// hall is the baseline for many callers at once.
type hall struct {
	*baseline
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

// hall hands each delivered answer to who waits for it, until the test ends.
func (b *baseline) hall() *hall {
	h := &hall{baseline: b, waiting: map[string]chan struct{}{}}
	go func() {
		for id := range b.delivered {
			h.mu.Lock()
			if c := h.waiting[id]; c != nil {
				close(c)
				delete(h.waiting, id)
			}
			h.mu.Unlock()
		}
	}()
	return h
}

func (h *hall) answer(chatID, id string) {
	c := make(chan struct{})
	h.mu.Lock()
	h.waiting[id] = c
	h.mu.Unlock()
	require.NoError(h, h.say(context.Background(), chatID, id))
	<-c
}

// say sends a message.
func (b *baseline) say(ctx context.Context, chatID, id string) error {
	_, err := b.client.SignalWithStartWorkflow(ctx, "baseline/"+chatID, "message", baselineMessage{ID: id, Content: "calc 12*7"},
		client.StartWorkflowOptions{TaskQueue: baselineQueue}, "BaselineSession")
	if err != nil {
		return fmt.Errorf("say: %w", err)
	}
	return nil
}
