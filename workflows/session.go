package workflows

import (
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/chat"
	"picobot/internal/flow"
)

// Session runs the turns of one session, one at a time, until nothing waits. It
// is started by Signal-With-Start for each inbound message; the signal is only a
// nudge to look at the record. Cancelling the run stops the turn it is at, as
// /stop does; what waits behind it is still answered.
func Session(ctx workflow.Context, in flow.SessionInput) error {
	s := newSession(ctx, in)
	for {
		s.drainNudges()
		begun, err := s.begin()
		if err != nil {
			return err
		}
		s.deliveries.add(begun.Outbound)
		if begun.TurnID != "" && ctx.Err() != nil {
			// Cancelled from outside. Temporal takes one cancel a run: the turn it was meant
			// for is stopped, and what waits behind it gets a run that can be cancelled again.
			if s.stoppedOutside {
				s.moveOn = true
			} else {
				s.requestCancel(s.base, begun.TurnID)
				begun.Cancelled = true
			}
		}
		if begun.Prepare && !begun.Cancelled && !s.moveOn {
			s.prepare(begun.TurnID)
			continue
		}
		if begun.TurnID != "" && !s.moveOn {
			s.turn(begun)
			s.tellJob(begun)
		}
		if s.moveOn {
			s.children.started(s.base)
			in.Undelivered = s.deliveries.unsent()
			return workflow.NewContinueAsNewError(ctx, Session, in)
		}
		if begun.TurnID != "" {
			continue
		}
		s.describe("every message is answered")
		s.children.started(s.base)
		if !s.deliveries.idle() {
			s.describe("every message is answered; delivering")
			_ = workflow.Await(s.base, func() bool { return s.deliveries.idle() || s.nudges.Len() > 0 })
		}
		// Nothing may come between this look and the return: a nudge that arrives
		// meanwhile makes the server refuse the completion, and the look is repeated.
		if s.nudges.Len() == 0 {
			return ctx.Err() // set when the run was cancelled from outside
		}
	}
}

// session is the state of one run. Everything it does is detached from the run's
// own cancellation, which only means that the present turn is to stop.
type session struct {
	in         flow.SessionInput
	base       workflow.Context
	info       *workflow.Info
	nudges     workflow.ReceiveChannel
	deliveries *deliveries
	children   *children
	steps      int  // model steps of this run
	moveOn     bool // continue as new before the next step

	model    int // which of the present turn's models is asked first
	turnID   string
	stopTurn workflow.CancelFunc // stops the present turn's activities
	stopping bool                // the present turn was asked to stop

	stoppedOutside bool // a cancel of the run has had its effect
}

func newSession(ctx workflow.Context, in flow.SessionInput) *session {
	base, _ := workflow.NewDisconnectedContext(ctx)
	s := &session{
		in:     in,
		base:   base,
		info:   workflow.GetInfo(ctx),
		nudges: workflow.GetSignalChannel(ctx, flow.SignalNudge),

		children: &children{in: in},
	}
	s.deliveries = startDeliveries(base, in.Queues)
	s.deliveries.add(in.Undelivered)
	workflow.Go(base, s.listenForCancel)
	workflow.Go(base, func(base workflow.Context) {
		ctx.Done().Receive(base, nil)
		s.stopFromOutside(base)
	})
	return s
}

func (s *session) drainNudges() {
	for s.nudges.ReceiveAsync(nil) {
	}
}

func (s *session) begin() (flow.Begun, error) {
	var b flow.Begun
	err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(s.base, beginOptions), flow.BeginTurn, s.in).Get(s.base, &b)
	if err != nil {
		return b, fmt.Errorf("begin the next turn: %w", err)
	}
	return b, nil
}

// prepare has fetched what the next turn's message only points at. Where that fails
// the next begin counts it, and goes on without after a few times.
func (s *session) prepare(turnID string) {
	s.describe("fetching what belongs to the message")
	in := flow.PrepareInput{TurnID: turnID, Attempts: prepareAttempts}
	if err := workflow.ExecuteActivity(workflow.WithActivityOptions(s.base, prepareOptions(s.in.Queues)), flow.Prepare, in).Get(s.base, nil); err != nil {
		workflow.GetLogger(s.base).Warn("what belongs to a message was not fetched", "turn", turnID, "error", err)
	}
}

// turn runs one turn from where the record stands to its end, or until this run
// is to be continued as new.
func (s *session) turn(b flow.Begun) {
	ctx, stop := workflow.WithCancel(s.base)
	s.turnID, s.stopTurn, s.stopping, s.model = b.TurnID, stop, false, 0
	if b.Keep {
		s.model = b.Model
	}
	defer func() { s.turnID, s.stopTurn = "", nil }()

	switch {
	case b.Cancelled:
		s.finish(b, chat.TurnCancelled)
		return
	case b.Failure.Code != "":
		s.finish(b, chat.TurnFailed, b.Failure)
		return
	}
	for step, calls := b.Step, b.Calls; ; step, calls = step+1, nil {
		if len(calls) == 0 {
			if s.moveOn = s.shouldMoveOn(); s.moveOn {
				return
			}
			s.steps++
			answer, err := s.callModel(ctx, b, step)
			if err != nil {
				s.fail(b, err)
				return
			}
			if len(answer.Calls) == 0 {
				s.deliveries.add(answer.Outbound)
				s.children.start(s.base, answer.Then)
				return
			}
			calls = answer.Calls
		}
		if err := s.runTools(ctx, b, step, calls); err != nil {
			s.fail(b, err)
			return
		}
	}
}

// tellJob wakes the workflow that waits for the end of a job's turn. It looks at the
// record by itself, too, so that a signal that gets lost costs time only.
func (s *session) tellJob(b flow.Begun) {
	if b.Job != "" && !s.moveOn {
		_ = workflow.SignalExternalWorkflow(s.base, b.Job, "", flow.SignalJobEnded, nil).Get(s.base, nil)
	}
}

// priority puts the work of jobs behind that of people who wait.
func priority(b flow.Begun) temporal.Priority {
	if b.Job == "" {
		return temporal.Priority{}
	}
	return temporal.Priority{PriorityKey: flow.ScheduledPriority}
}

// shouldMoveOn is asked between steps: long turns leave a long history behind.
func (s *session) shouldMoveOn() bool {
	return s.info.GetContinueAsNewSuggested() || (s.in.MaxSteps > 0 && s.steps >= s.in.MaxSteps)
}

// callModel asks the turn's model, then the others in order. Each is retried by
// Temporal; the step is never run twice once it is answered. Whoever answers stays
// for the rest of the turn: the one that failed would cost each step its retries
// again, and a model goes on best from thoughts of its own.
func (s *session) callModel(ctx workflow.Context, b flow.Begun, step int) (flow.ModelResult, error) {
	var failed modelsFailed
	order := inTurn(s.model, len(b.Models))
	for n, i := range order {
		in := flow.ModelInput{TurnID: b.TurnID, Step: step, Model: i}
		if n+1 < len(order) {
			in.Fallback = b.Models[order[n+1]]
		}
		model := b.Models[i] + failed.last()
		s.describe(fmt.Sprintf("step %d: waiting for model %s", step, model))
		var answer flow.ModelResult
		opts := modelOptions(s.in.Queues)
		opts.Priority = priority(b)
		opts.Summary = fmt.Sprintf("step %d: %s", step, model)
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), flow.CallModel, in).Get(ctx, &answer)
		if err == nil {
			if b.Keep {
				s.model = i
			}
			return answer, nil
		}
		if !isModelFailure(err) {
			return answer, err
		}
		failed = append(failed, failureOf(err))
	}
	return flow.ModelResult{}, failed
}

// inTurn lists the numbers below n from first on, then those before it.
func inTurn(first, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = (first + i) % n
	}
	return out
}

// runTools runs a step's open calls in the order given: those that only read at the
// same time, at most MaxParallel at once, each that acts alone. So a call sees what
// the calls before it did, and nothing of what comes after.
func (s *session) runTools(ctx workflow.Context, b flow.Begun, step int, calls []flow.Call) error {
	s.describe(describeCalls(step, calls))
	for len(calls) > 0 {
		n := together(calls)
		if err := s.runTogether(ctx, b, step, calls[:n]); err != nil {
			return err
		}
		calls = calls[n:]
	}
	return nil
}

// together counts how many of the first calls may run at the same time.
func together(calls []flow.Call) int {
	if acts := slices.IndexFunc(calls, func(c flow.Call) bool { return c.Acts }); acts >= 0 {
		return max(1, acts)
	}
	return len(calls)
}

func (s *session) runTogether(ctx workflow.Context, b flow.Begun, step int, calls []flow.Call) error {
	slots := workflow.NewSemaphore(ctx, int64(max(1, b.MaxParallel)))
	done := workflow.NewWaitGroup(ctx)
	errs := make([]error, len(calls))
	for i, c := range calls {
		done.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer done.Done()
			if errs[i] = slots.Acquire(ctx, 1); errs[i] != nil {
				return
			}
			defer slots.Release(1)
			opts := toolOptions(s.in.Queues)
			opts.Priority = priority(b)
			opts.Summary = c.Summary
			var result flow.ToolResult
			errs[i] = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), flow.RunTool,
				flow.ToolInput{TurnID: b.TurnID, Step: step, Position: c.Position}).Get(ctx, &result)
			s.deliveries.add(result.Outbound)
		})
	}
	done.Wait(ctx)
	return errors.Join(errs...)
}

// fail ends the present turn after an activity failed for good.
func (s *session) fail(b flow.Begun, err error) {
	switch {
	case isEnded(err):
		// Somebody else has ended the turn: the record says how.
	case s.stopping || isCancelled(err):
		s.finish(b, chat.TurnCancelled)
	case isInfrastructure(err):
		// No fault of the turn's: a new run goes on where the record stands. Its claim is
		// counted, so that this cannot go on for ever.
		s.moveOn = true
	default:
		workflow.GetLogger(s.base).Error("turn failed", "turn", b.TurnID, "error", err)
		s.finish(b, chat.TurnFailed, failuresOf(err)...)
	}
}

// finish ends the present turn. The first failure is why, others came after it.
func (s *session) finish(b flow.Begun, status chat.TurnStatus, failures ...flow.Failure) {
	s.describe("ending the turn as " + string(status))
	opts := recordOptions(s.in.Queues)
	opts.Summary = "end the turn as " + string(status)
	in := flow.FinishInput{TurnID: b.TurnID, Status: status}
	if len(failures) > 0 {
		in.Failure, in.Others = failures[0], failures[1:]
	}
	var out flow.FinishResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(s.base, opts), flow.FinishTurn, in).Get(s.base, &out)
	if err != nil {
		// Retried until the record answers, so this is a bug or an operator's doing: the
		// next begin claims the turn again, and gives up on it after a few claims.
		workflow.GetLogger(s.base).Error("turn could not be ended", "turn", b.TurnID, "error", err)
		return
	}
	s.deliveries.add(out.Outbound)
	s.children.start(s.base, out.Then)
}

// listenForCancel stops the present turn when a signal names it. The record has
// the request already; a signal for another turn is late and means nothing.
func (s *session) listenForCancel(ctx workflow.Context) {
	cancels := workflow.GetSignalChannel(ctx, flow.SignalCancel)
	for {
		var turnID string
		cancels.Receive(ctx, &turnID)
		if turnID == s.turnID {
			s.stop()
		}
	}
}

// stopFromOutside makes a cancel of the run (Temporal's UI, its API) what /stop is.
func (s *session) stopFromOutside(ctx workflow.Context) {
	turnID := s.turnID
	if turnID == "" {
		return // the next begin sees it
	}
	s.requestCancel(ctx, turnID)
	if turnID == s.turnID {
		s.stop()
	}
}

func (s *session) requestCancel(ctx workflow.Context, turnID string) {
	s.stoppedOutside = true
	err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, beginOptions), flow.RequestCancel, turnID).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Error("cancel could not be recorded", "turn", turnID, "error", err)
	}
}

func (s *session) stop() {
	if s.stopTurn != nil {
		s.stopping = true
		s.stopTurn()
	}
}

func (s *session) describe(details string) { workflow.SetCurrentDetails(s.base, details) }

func describeCalls(step int, calls []flow.Call) string {
	text := fmt.Sprintf("step %d: running", step)
	for _, c := range calls {
		line := c.Summary
		if line == "" {
			line = c.Name
		}
		text += "\n- " + line
	}
	return text
}
