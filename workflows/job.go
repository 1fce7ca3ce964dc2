package workflows

import (
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/chat"
	"picobot/internal/flow"
)

// scheduledStart is where a schedule's workflows find which slot they are.
var scheduledStart = temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime")

// Job is one run of a scheduled job. The record decides whether there is anything to
// do and how it ended; Job hands the work over, waits for its end, and stops it when
// it takes too long.
func Job(ctx workflow.Context, in flow.JobInput) error {
	base, _ := workflow.NewDisconnectedContext(ctx)
	if in.RunID == "" && in.Slot == 0 {
		if at, ok := workflow.GetTypedSearchAttributes(ctx).GetTime(scheduledStart); ok {
			in.Slot = at.UnixMilli()
		}
	}
	j := &job{in: in, base: base, cancelled: ctx.Done()}
	if err := j.local(flow.BeginJobRun, in, &j.begun); err != nil {
		return err
	}
	switch {
	case j.begun.RunID == "":
		workflow.SetCurrentDetails(base, "nothing to do: see the job's runs")
		return nil
	case j.begun.Event != "":
		return j.event()
	case j.begun.TurnID != "":
		return j.turn()
	}
	j.deliver(j.begun.Outbound)
	return j.local(flow.EndJobRun, flow.EndRun{RunID: j.begun.RunID, Outbox: true}, nil)
}

type job struct {
	in        flow.JobInput
	base      workflow.Context
	cancelled workflow.Channel
	begun     flow.JobBegun
}

func (j *job) local(name string, in, out any) error {
	return workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(j.base, beginOptions), name, in).Get(j.base, out)
}

// deliver sends outbox rows, one after the other.
func (j *job) deliver(ids []string) {
	for _, id := range ids {
		opts := deliveryOptions(j.in.Queues)
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(j.base, opts), flow.Deliver, id).Get(j.base, nil); err != nil {
			workflow.GetLogger(j.base).Warn("message was not delivered", "outbound", id, "error", err)
		}
	}
}

// Between two looks at the record that nobody asked for.
const (
	firstLook = 30 * time.Second
	rareLook  = 5 * time.Minute
)

// turn waits for the end of the turn that the run is.
func (j *job) turn() error {
	workflow.SetCurrentDetails(j.base, "waiting for turn "+j.begun.TurnID+" of session "+j.begun.SessionID)
	j.nudge()
	ended := workflow.GetSignalChannel(j.base, flow.SignalJobEnded)
	start := workflow.Now(j.base)
	left := time.Duration(j.begun.LeftMS) * time.Millisecond
	stopped := false
	for look := firstLook; ; look = min(2*look, rareLook) {
		wait := look
		if !stopped {
			wait = max(0, min(wait, left-workflow.Now(j.base).Sub(start)))
		}
		timer, stopTimer := workflow.WithCancel(j.base)
		s := workflow.NewSelector(j.base).AddReceive(ended, func(c workflow.ReceiveChannel, _ bool) { c.Receive(j.base, nil) }).
			AddFuture(workflow.NewTimer(timer, wait), func(workflow.Future) {})
		outside := false
		if !stopped {
			s.AddReceive(j.cancelled, func(workflow.ReceiveChannel, bool) { outside = true })
		}
		s.Select(j.base)
		stopTimer()
		var state flow.RunState
		if err := j.local(flow.LookAtRun, j.begun.RunID, &state); err != nil {
			return err
		}
		if state.Ended {
			j.deliver(state.Outbound)
			return nil
		}
		if over := workflow.Now(j.base).Sub(start) >= left; !stopped && (over || outside) {
			stopped, look = true, time.Second
			stop := flow.StopRun{RunID: j.begun.RunID}
			if !outside {
				stop.LimitMS = j.begun.LeftMS
			}
			if err := j.local(flow.StopJobRun, stop, nil); err != nil {
				return err
			}
			j.nudge()
		}
	}
}

// nudge has the session look at its record: by starting its run, or by the signal where one
// is open. A nudge that gets lost costs a sweep.
func (j *job) nudge() {
	attributes := []temporal.SearchAttributeUpdate{flow.AttributeSession.ValueSet(j.begun.SessionID)}
	if key, err := chat.ParseSessionID(j.begun.SessionID); err == nil {
		attributes = append(attributes, flow.AttributeChannel.ValueSet(key.Channel))
	}
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(j.base, workflow.ChildWorkflowOptions{
		WorkflowID:            flow.SessionWorkflowID(j.begun.SessionID),
		TaskQueue:             j.in.Queues.Turns(),
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		TypedSearchAttributes: temporal.NewSearchAttributes(attributes...),
		StaticSummary:         j.begun.SessionID,
		Priority:              temporal.Priority{PriorityKey: flow.ScheduledPriority},
	}), flow.SessionWorkflow, flow.SessionInput{SessionID: j.begun.SessionID, Queues: j.in.Queues})
	err := child.GetChildWorkflowExecution().Get(j.base, nil)
	if err != nil {
		err = workflow.SignalExternalWorkflow(j.base, flow.SessionWorkflowID(j.begun.SessionID), "", flow.SignalNudge, nil).Get(j.base, nil)
	}
	if err != nil {
		workflow.GetLogger(j.base).Warn("the session could not be nudged", "session", j.begun.SessionID, "error", err)
	}
}

// event runs work of PicoBot's own and waits for it.
func (j *job) event() error {
	name, id := flow.CleanupWorkflow, flow.CleanupWorkflowID
	var args []any
	if j.begun.Event == flow.EventMemoryMaintenance {
		name, id = flow.MemoryMaintenanceWorkflow, flow.MemoryMaintenanceID
		args = []any{flow.MaintenanceInput{Again: j.begun.Asked}}
	}
	ctx, stop := workflow.WithCancel(j.base)
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, TaskQueue: j.in.Queues.Turns(),
		TypedSearchAttributes: temporal.NewSearchAttributes(flow.AttributeJob.ValueSet(j.in.JobID)),
		Priority:              temporal.Priority{PriorityKey: flow.ScheduledPriority},
	}), name, args...)
	end := flow.EndRun{RunID: j.begun.RunID}
	limit := workflow.NewTimer(ctx, time.Duration(j.begun.LeftMS)*time.Millisecond)
	workflow.NewSelector(j.base).
		AddFuture(child, func(f workflow.Future) {
			err := f.Get(j.base, nil)
			var already *temporal.ChildWorkflowExecutionAlreadyStartedError
			switch {
			case errors.As(err, &already):
				end.Why = flow.EndUnderWay
			case err != nil:
				end.Error = reason(err)
			}
		}).
		AddFuture(limit, func(workflow.Future) { end.Why = flow.EndTooLong }).
		AddReceive(j.cancelled, func(workflow.ReceiveChannel, bool) { end.Why = flow.EndStopped }).
		Select(j.base)
	stop()
	return j.local(flow.EndJobRun, end, nil)
}

// reason is what went wrong, without what Temporal wraps around it.
func reason(err error) string {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return app.Message()
	}
	return err.Error()
}
