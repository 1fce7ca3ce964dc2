package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"google.golang.org/grpc"

	"picobot/gateway/dispatch"
	"picobot/internal/flow"
	"picobot/internal/testkit/strict"
	"picobot/store"
	"picobot/worker"
)

// points shows a test every moment at which a session's run can be met: before and
// after each activity, and on the wire around each workflow task. What the test does
// at a point is done before the run goes on.
type points struct {
	interceptor.WorkerInterceptorBase
	mu      sync.Mutex
	tasks   map[string]string // workflow tasks the worker has, by token
	at      map[string]func(point string, err error)
	refused int // runs that wanted to close and were told to look again
}

func newPoints() *points {
	return &points{tasks: map[string]string{}, at: map[string]func(string, error){}}
}

// watch calls at with each point of the session's runs. Points may come at once.
func (p *points) watch(sessionID string, at func(point string, err error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[flow.SessionWorkflowID(sessionID)] = at
}

func (p *points) pass(workflowID, point string, err error) {
	p.mu.Lock()
	at := p.at[workflowID]
	p.mu.Unlock()
	if at != nil {
		at(point, err)
	}
}

// busy reports whether the worker has a workflow task of the session.
func (p *points) busy(sessionID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.tasks {
		if id == flow.SessionWorkflowID(sessionID) {
			return true
		}
	}
	return false
}

// The points between worker and server.
const (
	taskTaken    = "a task is taken"
	taskBeats    = "before a task that goes on is answered"
	taskCloses   = "before a task that ends the run is answered"
	taskAnswers  = "before a task is answered"
	taskAnswered = "a task is answered"
)

func (p *points) take(r *workflowservice.PollWorkflowTaskQueueResponse) {
	if len(r.GetTaskToken()) == 0 {
		return
	}
	id := r.GetWorkflowExecution().GetWorkflowId()
	p.mu.Lock()
	p.tasks[string(r.GetTaskToken())] = id
	p.mu.Unlock()
	p.pass(id, taskTaken, nil)
}

func (p *points) onWire(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	r, isAnswer := req.(*workflowservice.RespondWorkflowTaskCompletedRequest)
	if !isAnswer {
		err := invoke(ctx, method, req, reply, cc, opts...)
		if r, ok := reply.(*workflowservice.PollWorkflowTaskQueueResponse); ok && err == nil {
			p.take(r)
		}
		return err
	}
	p.mu.Lock()
	id := p.tasks[string(r.GetTaskToken())]
	p.mu.Unlock()
	point := taskAnswers
	for _, c := range r.GetCommands() {
		switch c.GetCommandType() {
		case enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION, enumspb.COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION, enumspb.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION:
			point = taskCloses
		}
	}
	if r.GetForceCreateNewWorkflowTask() {
		point = taskBeats
	}
	p.pass(id, point, nil)
	err := invoke(ctx, method, req, reply, cc, opts...)
	p.mu.Lock()
	delete(p.tasks, string(r.GetTaskToken()))
	if err != nil && point == taskCloses {
		p.refused++
	}
	p.mu.Unlock()
	p.pass(id, taskAnswered, err)
	p.take(reply.(*workflowservice.RespondWorkflowTaskCompletedResponse).GetWorkflowTask())
	return err
}

func (p *points) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	a := &activityPoints{p: p}
	a.Next = next
	return a
}

type activityPoints struct {
	interceptor.ActivityInboundInterceptorBase
	p *points
}

func (a *activityPoints) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	a.p.pass(info.WorkflowExecution.ID, "before "+info.ActivityType.Name, nil)
	v, err := a.Next.ExecuteActivity(ctx, in)
	a.p.pass(info.WorkflowExecution.ID, "after "+info.ActivityType.Name, err)
	return v, err
}

// newUnswept is newStack with nobody who looks for what got stuck, and with points.
func newUnswept(t *testing.T) (*stack, *points) {
	t.Helper()
	p := newPoints()
	s := &stack{TB: t, dir: t.TempDir()}
	s.openRecord()
	s.startEngine()
	s.client.Close()
	var err error
	s.client, err = client.Dial(client.Options{HostPort: s.engine.Address(), Logger: quiet{}, Interceptors: []interceptor.ClientInterceptor{&clientAndWorker{points: p}},
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(p.onWire)}}})
	require.NoError(t, err)
	s.serveUnswept()
	t.Cleanup(func() {
		s.stop()
		require.NoError(t, s.record.Close())
	})
	return s, p
}

// clientAndWorker: what a client's interceptors know of workers, its workers use.
type clientAndWorker struct {
	*points
	interceptor.ClientInterceptorBase
}

func (s *stack) serveUnswept() {
	s.Helper()
	queues := flow.Queues{Base: "picobot"}
	s.dispatch = dispatch.New(s.client, s.record, dispatch.Options{Queues: queues, SweepEvery: time.Hour, StuckAfter: time.Hour,
		CancelHere: s.acts.CancelTurn, Now: time.Now, Logger: log()})
	require.NoError(s, s.dispatch.Recover(context.Background()))
	w := worker.New(s.client, s.acts, worker.Options{Queues: queues, MaxModelCalls: 256, MaxToolCalls: 32, MaxDeliveries: 16,
		StopTimeout: 5 * time.Second, StickyTimeout: 5 * time.Second, Logger: log()})
	s.serving = w.Serving
	ctx, stop := context.WithCancel(context.Background())
	s.stopRun, s.stopped = stop, make(chan error, 2)
	go func() { s.stopped <- w.Run(ctx) }()
	go func() { s.stopped <- s.dispatch.Run(ctx) }()
	s.eventually(10*time.Second, "the worker serves", s.serving)
}

// nudge nudges a session and returns once the server has it.
func (s *stack) nudge(sessionID string) error {
	return s.tell(func() error {
		_, err := s.client.SignalWithStartWorkflow(context.Background(), flow.SessionWorkflowID(sessionID), flow.SignalNudge, nil,
			startOptions(sessionID), flow.SessionWorkflow, flow.SessionInput{SessionID: sessionID, Queues: flow.Queues{Base: "picobot"}})
		return err
	})
}

// tell calls the server again when it does not answer in time, as a dispatcher does.
func (s *stack) tell(call func() error) error {
	for try := 1; ; try++ {
		err := call()
		if try == 3 || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		s.Logf("the server did not answer in time: %v", err)
	}
}

// sound judges the record.
func (s *stack) sound() {
	s.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.dir, "sessions.db"))
	require.NoError(s, err)
	defer func() { require.NoError(s, db.Close()) }()
	bad, err := strict.Record(db)
	require.NoError(s, err)
	require.Empty(s, bad)
}

// meeting is a session whose run is met by a second message on its way.
type meeting struct {
	s       *stack
	session string
	first   store.Turn
	// The numbers of the points at which the second message is written down, the
	// session nudged for it, and the run cancelled from outside; 0 = never.
	say, nudge, cancel int
	// last: the second message comes where the run is about to close, whatever number
	// that has.
	last bool

	mu           sync.Mutex
	n            int
	names        []string
	second       store.Turn
	said, nudged bool
	errs         []error
}

func (m *meeting) note(what string, err error) {
	if err != nil {
		m.errs = append(m.errs, fmt.Errorf("%s at %d (of %v): %w", what, m.n, m.names, err))
	}
}

func (m *meeting) at(point string, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	m.names = append(m.names, point)
	if m.n == m.cancel {
		m.note("cancel the run", m.s.tell(func() error {
			return m.s.client.CancelWorkflow(context.Background(), flow.SessionWorkflowID(m.session), "")
		}))
	}
	last := m.last && point == taskCloses && !m.said
	if m.n == m.say || last {
		m.sayIt()
	}
	if m.n == m.nudge || last {
		m.nudgeIt()
	}
}

func (m *meeting) sayIt() {
	a, err := m.s.record.Accept(context.Background(), store.Inbound{Channel: "cli", ChatID: m.session, SessionID: m.session, ExternalID: "second", SenderID: "me", Content: "hello"})
	m.note("write down", err)
	m.second, m.said = a.Turn, true
}

func (m *meeting) nudgeIt() {
	m.note("nudge", m.s.nudge(m.session))
	m.nudged = true
}

// rest does what was left to do when the run had closed before it came to it.
func (m *meeting) rest() {
	m.mu.Lock()
	defer m.mu.Unlock()
	second := m.say > 0 || m.last
	if second && !m.said {
		m.sayIt()
	}
	if second && !m.nudged {
		m.nudgeIt()
	}
}

// closed waits until the session has no open run, and a little for the worker to be
// done with it: then the last point has been passed. A task that the server gave up
// is one the worker never answers.
func (s *stack) closed(p *points, sessionID string) {
	s.Helper()
	s.eventually(60*time.Second, "the session's run closes", func() bool {
		return s.status(sessionID) != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	for end := time.Now().Add(time.Second); p.busy(sessionID) && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
}

// meet runs meetings side by side, from their first message to the answer of their second.
func (s *stack) meet(t *testing.T, p *points, content string, maxSteps int, all []*meeting) {
	t.Helper()
	for part := range slices.Chunk(all, 32) {
		for _, m := range part {
			m.s, m.first = s, s.accept(fmt.Sprint("meeting", s.seq.Add(1)), content)
			m.session = m.first.SessionID
			p.watch(m.session, m.at)
			o := startOptions(m.session)
			_, err := s.client.ExecuteWorkflow(t.Context(), o, flow.SessionWorkflow,
				flow.SessionInput{SessionID: m.session, Queues: flow.Queues{Base: "picobot"}, MaxSteps: maxSteps})
			require.NoError(t, err)
		}
		for _, m := range part {
			s.await(m.first)
			s.closed(p, m.session)
			m.rest()
			if m.said {
				s.await(m.second)
				s.closed(p, m.session)
			}
			require.NoError(t, errors.Join(m.errs...))
		}
	}
}

// One stack for all of them: a start costs seconds.
func TestRaces(t *testing.T) {
	s, p := newUnswept(t)
	for _, race := range []struct {
		name string
		run  func(*testing.T, *stack, *points)
	}{
		{"NudgeAtEveryPointOfARun_IsAnswered", nudgedAtEveryPoint},
		{"NudgeWhileTheBeginThatFindsNothingHangs_IsAnswered", nudgedWhileABeginHangs},
		{"NudgeWhileTheRecordCannotBeWritten_IsAnsweredOnceItCan", nudgedWhileTheRecordIsLocked},
		{"StopAtAnyPointOfARun_EndsOnceAndTheNextIsAnswered", stoppedAtAnyPoint},
		{"ToolsEndInEveryOrder_RowsAreInCallOrder", toolsEndInAnyOrder},
		{"ToolsEndAcrossARestart_RowsAreInCallOrder", toolsEndAcrossARestart},
		{"CommandsOfAStep_RunInOrderAcrossARestart", commandsRunInOrderAcrossARestart},
	} {
		t.Run(race.name, func(t *testing.T) {
			all := s.TB
			s.TB = t // what waits in vain fails this one only
			defer func() { s.TB = all }()
			race.run(t, s, p)
		})
	}
}
