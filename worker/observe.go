package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/tracing"
	"picobot/store"
)

// Turns looks turns up.
type Turns interface {
	Turn(ctx context.Context, id string) (store.Turn, error)
}

// observer tells the log and the traces what activities do with turns. The activities
// know nothing of it, and nothing hangs on it: what it cannot find out it does not tell.
type observer struct {
	interceptor.WorkerInterceptorBase
	traces *tracing.Tracing // nil = nobody traces
	turns  Turns
	log    *slog.Logger
	now    func() time.Time
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (o *observer) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &observed{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, observer: o}
}

type observed struct {
	interceptor.ActivityInboundInterceptorBase
	*observer
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (o *observed) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	turnID, step := worksOn(in.Args)
	attempt := tracing.Attempt{
		Activity: info.ActivityType.Name, Number: int(info.Attempt), Step: step,
		WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID, Start: o.now(),
	}
	work, end := o.traces.Work(ctx, turnID, attempt)
	out, err := o.Next.ExecuteActivity(work, in)
	end(failure(err))
	if err != nil {
		return out, err
	}
	switch r := out.(type) {
	case flow.Begun: // only now it is known of which turn
		_, end := o.traces.Work(ctx, r.TurnID, attempt)
		end("")
	case flow.JobBegun:
		o.jobBegan(ctx, in.Args, r, attempt)
	case flow.ModelResult:
		if len(r.Calls) == 0 {
			o.ended(ctx, turnID)
		}
	case flow.FinishResult:
		o.ended(ctx, turnID)
	}
	return out, nil
}

// worksOn says on which step of which turn an activity works.
func worksOn(args []any) (turnID string, step int) {
	if len(args) == 0 {
		return "", 0
	}
	switch in := args[0].(type) {
	case flow.ModelInput:
		return in.TurnID, in.Step
	case flow.ToolInput:
		return in.TurnID, in.Step
	case flow.FinishInput:
		return in.TurnID, 0
	case flow.PrepareInput:
		return in.TurnID, 0
	}
	return "", 0
}

// failure is the kind of an activity's error, without what it says.
func failure(err error) string {
	if err == nil {
		return ""
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.Type() != "" {
		return app.Type()
	}
	return "error"
}

// ended tells of a turn that has ended.
func (o *observer) ended(ctx context.Context, turnID string) {
	if o.traces == nil && !o.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	t, err := o.turns.Turn(context.WithoutCancel(ctx), turnID)
	if err != nil || !t.Status.Final() {
		return
	}
	start, end := time.UnixMilli(max(t.StartedAt, t.CreatedAt)), time.UnixMilli(t.FinishedAt)
	o.traces.Turn(tracing.Turn{
		ID: t.ID, SessionID: t.SessionID, WorkflowID: t.WorkflowID, RunID: t.RunID, Status: string(t.Status), ErrorCode: t.ErrorCode,
		Model: t.Model, Steps: t.Steps, Prompt: t.Usage.PromptTokens, Completion: t.Usage.CompletionTokens, Start: start, End: end,
	})
	attrs := []any{"turn_id", t.ID, "session_id", t.SessionID, "workflow_id", t.WorkflowID, "run_id", t.RunID,
		"status", t.Status, "model", t.Model, "steps", t.Steps, "took", end.Sub(start).String()}
	if t.ErrorCode != "" {
		attrs = append(attrs, "error_code", t.ErrorCode)
	}
	o.log.Info("a turn has ended", attrs...)
}

// jobBegan tells of the run of a job that begins.
func (o *observer) jobBegan(ctx context.Context, args []any, b flow.JobBegun, a tracing.Attempt) {
	job, ok := args[0].(flow.JobInput)
	if !ok || b.RunID == "" {
		return
	}
	o.log.Info("a job runs", "job_id", job.JobID, "job_run_id", b.RunID, "turn_id", b.TurnID, "session_id", b.SessionID,
		"workflow_id", a.WorkflowID, "run_id", a.RunID)
	if o.traces == nil || b.TurnID == "" {
		return
	}
	if key, err := chat.ParseSessionID(b.SessionID); err == nil {
		o.traces.Message(key.Channel, b.SessionID, b.TurnID, a.Start, o.now())
	}
}
