package workflows

import (
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/flow"
)

// Compaction has a session's older rows summarised, puts the summary in their place and
// tells whoever asked for it. It runs beside the session's turns. Everything it needs is
// in the record: run again at any point it goes on from there, and what is not due any
// more is not done.
func Compaction(ctx workflow.Context, in flow.BackgroundInput) error {
	var done flow.Summarised
	err := summarise(ctx, in, false, &done)
	if isModelFailure(err) {
		workflow.GetLogger(ctx).Warn("the summary failed, the cut transcript takes its place", "session", in.SessionID, "error", err)
		err = summarise(ctx, in, true, &done)
	}
	if err != nil {
		return err
	}
	if done.CompactionID != "" {
		opts := recordOptions(in.Queues)
		opts.Summary = "put the summary in place"
		var end flow.Compacted
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), flow.CommitCompaction, done.CompactionID).Get(ctx, &end); err != nil {
			return err
		}
		done.Outbound = end.Outbound
	}
	for _, id := range done.Outbound {
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, deliveryOptions(in.Queues)), flow.Deliver, id).Get(ctx, nil); err != nil {
			// The row says what happened; a pending one is swept up later.
			workflow.GetLogger(ctx).Warn("whoever asked for a compaction was not told of its end", "outbound", id, "error", err)
		}
	}
	return nil
}

func summarise(ctx workflow.Context, in flow.BackgroundInput, noModel bool, done *flow.Summarised) error {
	opts := modelOptions(in.Queues)
	opts.Summary = "summarise older messages"
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), flow.Summarise,
		flow.SummariseInput{SessionID: in.SessionID, NoModel: noModel}).Get(ctx, done)
}

// Title has a model name a session.
func Title(ctx workflow.Context, in flow.BackgroundInput) error {
	opts := modelOptions(in.Queues)
	opts.Summary = "find a title"
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), flow.MakeTitle, in.SessionID).Get(ctx, nil)
}

// children starts what a turn made due. A child outlives the run that starts it, but
// one that is not started yet is dropped when its parent closes: the run ends only
// when all are.
type children struct {
	in       flow.SessionInput
	starting int
}

func (c *children) start(ctx workflow.Context, due flow.Then) {
	if due.Compact {
		c.startOne(ctx, flow.CompactionWorkflow, flow.CompactionWorkflowID(c.in.SessionID))
	}
	if due.Title {
		c.startOne(ctx, flow.TitleWorkflow, flow.TitleWorkflowID(c.in.SessionID))
	}
}

func (c *children) startOne(ctx workflow.Context, name, id string) {
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		TaskQueue:             c.in.Queues.Turns(),
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: temporal.NewSearchAttributes(flow.AttributeSession.ValueSet(c.in.SessionID)),
		StaticSummary:         c.in.SessionID,
	}), name, flow.BackgroundInput{SessionID: c.in.SessionID, Queues: c.in.Queues})
	c.starting++
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := child.GetChildWorkflowExecution().Get(ctx, nil)
		c.starting--
		if _, running := errors.AsType[*temporal.ChildWorkflowExecutionAlreadyStartedError](err); err != nil && !running {
			// The record knows what is due: a later turn, or the sweep, starts it.
			workflow.GetLogger(ctx).Warn("work beside the turns could not be started", "workflow", id, "error", err)
		}
	})
}

// started waits until every child is.
func (c *children) started(ctx workflow.Context) {
	// Await fails only when ctx is cancelled, which a detached one never is.
	_ = workflow.Await(ctx, func() bool { return c.starting == 0 })
}
