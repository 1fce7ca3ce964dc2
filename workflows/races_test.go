package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/workflows"
)

// ledger is a small record that is written to while a session's runs read it: at
// every point before and after everything a run does, somebody may say something,
// nudge for what was said before, stop a turn or cancel the run.
type ledger struct {
	mu    sync.Mutex
	rnd   *rand.Rand
	env   *testsuite.TestWorkflowEnvironment
	trace []string

	unsaid  int // messages that are still to come
	said    int
	owed    bool // something was said that no nudge was sent for yet
	waiting []string
	running string
	stopped bool // the running turn is to stop
	ended   map[string]int
	steps   int
}

func (l *ledger) note(format string, args ...any) {
	l.trace = append(l.trace, fmt.Sprintf(format, args...))
}

func (l *ledger) say() {
	l.said++
	l.unsaid--
	l.waiting = append(l.waiting, "t"+strconv.Itoa(l.said))
	l.owed = true
	l.note("  said t%d", l.said)
}

// point is a moment at which anything may happen. l.mu is held.
func (l *ledger) point(where string) {
	l.note("%s", where)
	if l.unsaid > 0 && l.rnd.IntN(3) == 0 {
		l.say()
	}
	if l.owed && l.rnd.IntN(2) == 0 {
		l.owed = false
		l.note("  nudge")
		l.env.SignalWorkflow(flow.SignalNudge, nil)
	}
	switch l.rnd.IntN(24) {
	case 0:
		if l.running != "" {
			l.stopped = true
			l.note("  stop %s", l.running)
			l.env.SignalWorkflow(flow.SignalCancel, l.running)
		}
	case 1:
		l.note("  stop another turn")
		l.env.SignalWorkflow(flow.SignalCancel, "t0")
	case 2:
		l.note("  cancel the run")
		l.env.CancelWorkflow()
	}
}

func (l *ledger) end(turn string) {
	if turn == l.running {
		l.running, l.stopped = "", false
		l.ended[turn]++
		l.note("  %s ended", turn)
	}
}

// at does something between two points. What a run that continued as new has left
// behind is no point of the next one.
func at[T any](l *ledger, env *testsuite.TestWorkflowEnvironment, what string, do func() (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if env != l.env {
		return do()
	}
	l.point("before " + what)
	v, err := do()
	outlived := false
	if l.rnd.IntN(8) == 0 { // the record stalls, and others go on
		seen := len(l.trace)
		l.mu.Unlock()
		time.Sleep(time.Millisecond)
		l.mu.Lock()
		// The test environment does not wait for an activity that was cancelled: one that
		// others overtook may outlive the run, and only a server sees to a nudge then.
		outlived = what != "begin" && len(l.trace) > seen
	}
	if env == l.env && !outlived {
		l.point("after " + what)
	}
	return v, err
}

func (l *ledger) begin() (flow.Begun, error) {
	if l.rnd.IntN(10) == 0 {
		return flow.Begun{}, errors.New("the record does not answer")
	}
	if l.running == "" && len(l.waiting) > 0 {
		l.running, l.waiting, l.steps = l.waiting[0], l.waiting[1:], 0
	}
	b := flow.Begun{Step: l.steps + 1, TurnID: l.running, Models: []string{"main"}, MaxParallel: 2, Cancelled: l.stopped}
	if l.rnd.IntN(3) == 0 {
		b.Outbound = []string{"o" + strconv.Itoa(l.rnd.IntN(9))}
	}
	l.note("  begun %q", b.TurnID)
	return b, nil
}

func (l *ledger) model(in flow.ModelInput) (flow.ModelResult, error) {
	switch {
	case in.TurnID != l.running:
		return flow.ModelResult{}, temporal.NewNonRetryableApplicationError("", flow.ErrTypeEnded, nil)
	case l.stopped:
		return flow.ModelResult{}, temporal.NewNonRetryableApplicationError("", flow.ErrTypeCancelled, nil)
	}
	switch l.rnd.IntN(6) {
	case 0:
		return flow.ModelResult{}, modelError("auth", false)
	case 1:
		return flow.ModelResult{}, temporal.NewApplicationError("", flow.ErrTypeShutdown)
	case 2, 3:
		l.steps = in.Step
		return flow.ModelResult{Calls: []flow.Call{{Name: "x"}, {Name: "y", Position: 1}}}, nil
	}
	l.end(in.TurnID)
	return flow.ModelResult{Outbound: []string{in.TurnID}}, nil
}

// run executes one run of the session and returns the input of the next one, nil
// when the run closed.
func (l *ledger) run(t *testing.T, in flow.SessionInput) *flow.SessionInput {
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(30 * time.Second)
	env.RegisterWorkflowWithOptions(workflows.Session, workflow.RegisterOptions{Name: flow.SessionWorkflow})
	reg := func(name string, fn any) { env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name}) }
	reg(flow.BeginTurn, func(context.Context, flow.SessionInput) (flow.Begun, error) {
		return at(l, env, "begin", l.begin)
	})
	reg(flow.CallModel, func(_ context.Context, in flow.ModelInput) (flow.ModelResult, error) {
		return at(l, env, "model", func() (flow.ModelResult, error) { return l.model(in) })
	})
	reg(flow.RunTool, func(context.Context, flow.ToolInput) (flow.ToolResult, error) {
		return at(l, env, "tool", func() (flow.ToolResult, error) { return flow.ToolResult{Status: chat.ToolCompleted}, nil })
	})
	reg(flow.FinishTurn, func(_ context.Context, in flow.FinishInput) (flow.FinishResult, error) {
		return at(l, env, "finish", func() (flow.FinishResult, error) { l.end(in.TurnID); return flow.FinishResult{}, nil })
	})
	reg(flow.RequestCancel, func(_ context.Context, turn string) error {
		// No point: the run may close beside it, and only a server sees to that nudge.
		l.mu.Lock()
		defer l.mu.Unlock()
		l.stopped = l.stopped || turn == l.running
		return nil
	})
	reg(flow.Deliver, func(context.Context, string) error {
		_, err := at(l, env, "deliver", func() (any, error) {
			if l.rnd.IntN(2) == 0 {
				return nil, errors.New("the channel is away")
			}
			return nil, nil
		})
		return err
	})
	l.mu.Lock()
	l.env = env
	l.note("run")
	l.mu.Unlock()
	env.ExecuteWorkflow(flow.SessionWorkflow, in)
	err := env.GetWorkflowError()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note("closed: %v", err)
	if next, ok := errors.AsType[*workflow.ContinueAsNewError](err); ok {
		var in flow.SessionInput
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
		return &in
	}
	if _, ok := errors.AsType[*temporal.CanceledError](err); !ok {
		require.NoError(t, err)
	}
	return nil
}

// A session's run that closes leaves nothing behind that anybody was nudged for,
// wherever the nudge met it. No sweep comes to help.
func TestSession_NudgeAtAnyPoint_NothingIsLeftWaiting(t *testing.T) {
	for range 150 {
		seed := rand.Uint64()
		l := &ledger{rnd: rand.New(rand.NewPCG(seed, 0)), unsaid: 5, ended: map[string]int{}}
		fresh := flow.SessionInput{SessionID: "cli:a:b", Queues: flow.Queues{Base: "picobot"}, MaxSteps: 1 + l.rnd.IntN(4)}
		for next := &fresh; next != nil; {
			if next = l.run(t, *next); next != nil {
				continue
			}
			l.mu.Lock()
			if !l.owed && (len(l.waiting) > 0 || l.running != "") {
				t.Fatalf("seed %d: %v and %q are left waiting\n%s", seed, l.waiting, l.running, strings.Join(l.trace, "\n"))
			}
			// The next nudge starts a run.
			if !l.owed && l.unsaid > 0 {
				l.say()
			}
			if l.owed {
				l.owed = false
				next = &fresh
			}
			l.mu.Unlock()
		}
		require.Len(t, l.ended, 5, "seed %d", seed)
		for turn, n := range l.ended {
			require.Equal(t, 1, n, "seed %d: %s", seed, turn)
		}
	}
}

// quiet drops the SDK's own logging.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
