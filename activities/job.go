package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"picobot/internal/flow"
	"picobot/internal/schedule"
	"picobot/internal/text"
	"picobot/store"
)

// Scheduler says how jobs are run.
type Scheduler struct {
	Enabled    bool
	Since      time.Time     // when this process began: slots from before are made up for
	RunTimeout time.Duration // of jobs that name none; 0 = an hour
}

// BeginJobRun begins a run of a job and hands its work over. Nothing is begun where
// the scheduler is off, but for runs by hand.
func (a *Activities) BeginJobRun(ctx context.Context, in flow.JobInput) (flow.JobBegun, error) {
	if in.RunID == "" && (!a.Scheduler.Enabled || in.Slot == 0) {
		return flow.JobBegun{}, nil
	}
	info := activity.GetInfo(ctx)
	run, ok, err := a.Record.BeginJobRun(ctx, store.BeginJob{JobID: in.JobID, RunID: in.RunID, Slot: in.Slot, Since: max(0, a.Scheduler.Since.UnixMilli()),
		WorkflowID: info.WorkflowExecution.ID, TemporalID: info.WorkflowExecution.RunID})
	if err != nil {
		return flow.JobBegun{}, fmt.Errorf("begin a run of job %s: %w", in.JobID, err)
	}
	if !ok {
		return flow.JobBegun{}, nil
	}
	limit := a.runLimit(run)
	b := flow.JobBegun{RunID: run.ID, SessionID: run.SessionID, TurnID: run.TurnID,
		LeftMS: max(1, (limit - time.Duration(a.Now().UnixMilli()-run.StartedAt)*time.Millisecond).Milliseconds())}
	switch run.Job.Kind {
	case schedule.InternalEvent:
		b.Event, b.Asked = run.Job.Payload.Event, run.Trigger == store.TriggerManual
	case schedule.OutboundMessage:
		b.Outbound, err = a.Record.OutboundOf(ctx, run.ID)
	}
	return b, err
}

func (a *Activities) runLimit(run store.JobRun) time.Duration {
	switch {
	case run.Job.Payload.TimeoutSeconds > 0:
		return time.Duration(run.Job.Payload.TimeoutSeconds) * time.Second
	case a.Scheduler.RunTimeout > 0:
		return a.Scheduler.RunTimeout
	}
	return time.Hour
}

// LookAtJobRun says whether a run has ended, and what of it is still to be sent.
func (a *Activities) LookAtJobRun(ctx context.Context, runID string) (flow.RunState, error) {
	run, err := a.Record.JobRun(ctx, runID)
	if errors.Is(err, store.ErrNotFound) {
		return flow.RunState{Ended: true}, nil
	}
	if err != nil || !run.Ended() {
		return flow.RunState{}, err
	}
	out := flow.RunState{Ended: true}
	out.Outbound, err = a.Record.OutboundOf(ctx, runID)
	return out, err
}

// StopJobRun stops the turn of a run that may go on no longer.
func (a *Activities) StopJobRun(ctx context.Context, in flow.StopRun) error {
	reason := flow.EndStopped
	if in.LimitMS > 0 {
		reason = flow.EndTooLong
	}
	why, err := a.whyEnded(ctx, in.RunID, reason)
	if err != nil {
		return err
	}
	turnID, err := a.Record.StopJobRun(ctx, in.RunID, why)
	if err == nil && turnID != "" {
		a.CancelTurn(turnID)
	}
	return err
}

// EndJobRun ends a run that is no turn.
func (a *Activities) EndJobRun(ctx context.Context, in flow.EndRun) error {
	why, err := in.Error, error(nil)
	switch {
	case in.Why != "":
		why, err = a.whyEnded(ctx, in.RunID, in.Why)
	case in.Outbox:
		why, err = a.notDelivered(ctx, in.RunID)
	}
	if err != nil {
		return err
	}
	status := store.RunCompleted
	switch {
	case in.Why == flow.EndUnderWay:
		status = store.RunSkipped
	case why != "":
		status = store.RunFailed
	}
	_, err = a.Record.EndJobRun(ctx, in.RunID, status, a.Mask(why))
	return err
}

// whyEnded says a reason of flow's in words.
func (a *Activities) whyEnded(ctx context.Context, runID, reason string) (string, error) {
	switch reason {
	case flow.EndUnderWay:
		return a.Texts.Say(text.JobUnderWay{}), nil
	case flow.EndTooLong:
		run, err := a.Record.JobRun(ctx, runID)
		return a.Texts.Say(text.JobTookTooLong{Limit: a.runLimit(run).String()}), err
	default:
		return a.Texts.Say(text.JobStopped{}), nil
	}
}

// notDelivered says why a run's message is not with its chat, "" when it is.
func (a *Activities) notDelivered(ctx context.Context, runID string) (string, error) {
	ids, err := a.Record.OutboundOf(ctx, runID)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		o, err := a.Record.Outbound(ctx, id)
		switch {
		case err != nil:
			return "", err
		case o.Status == "failed":
			return a.Texts.Say(text.NotDelivered{Detail: o.Error}), nil
		case o.Status == "pending" && o.Error != "":
			return a.Texts.Say(text.NotDeliveredYet{Detail: o.Error}), nil
		}
	}
	return "", nil
}
