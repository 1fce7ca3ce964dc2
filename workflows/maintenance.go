package workflows

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/flow"
)

const (
	// maxMaintenanceCalls bounds the model calls of a run, whatever they lead to.
	maxMaintenanceCalls = 200
	// maxParts bounds how much of one person's memories is looked at: what a model can be
	// shown at once, so many times.
	maxParts = 16
	// maxStarts: memories that change this often while they are planned for are left to
	// the next run.
	maxStarts = 3
	// scopesARun ends a run with continue-as-new.
	scopesARun = 50
)

// MemoryMaintenance has what is remembered of people tidied, one person after the
// other, and what is known of them written into AGENT.md. It stands in the record how
// far it has come: run again at any point it goes on from there, and who has not
// changed is not looked at. Its error says that it failed for somebody, and why.
func MemoryMaintenance(ctx workflow.Context, in flow.MaintenanceInput) (flow.MaintenanceResult, error) {
	if in.Queues.Base == "" {
		in.Queues.Base = workflow.GetInfo(ctx).TaskQueueName // that of the turns, which the others are named after
	}
	if in.Run == "" {
		in.Run = workflow.GetInfo(ctx).WorkflowExecution.RunID
	}
	m := &maintenance{in: in}
	err := m.run(ctx)
	if m.disabled {
		return flow.MaintenanceResult{Disabled: true}, nil
	}
	if _, again := errors.AsType[*workflow.ContinueAsNewError](err); again {
		return flow.MaintenanceResult{}, err
	}
	why := ""
	if err != nil {
		if why = "it was broken off"; ctx.Err() != nil {
			why = "it was cancelled"
		}
	}
	detached, _ := workflow.NewDisconnectedContext(ctx)
	var result flow.MaintenanceResult
	ended := m.do(detached, "write AGENT.md and end the run", flow.FinishMaintenance, flow.MaintenanceEnd{Run: in.Run, Why: why}, &result)
	switch {
	case err != nil:
		return result, err
	case ended != nil:
		return result, ended
	case result.Error != "":
		return result, temporal.NewApplicationErrorWithOptions(result.Error, flow.ErrTypeMaintenance,
			temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{result}})
	}
	return result, nil
}

// maintenance is the state of one run.
type maintenance struct {
	in       flow.MaintenanceInput
	disabled bool
}

func (m *maintenance) run(ctx workflow.Context) error {
	for n := 0; m.in.Calls < maxMaintenanceCalls; n++ {
		if n == scopesARun || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, MemoryMaintenance, m.in)
		}
		var next flow.MaintenanceNext
		if err := m.do(ctx, "find who has changed", flow.NextMaintenance, m.in, &next); err != nil {
			return err
		}
		if m.disabled = next.Disabled; next.Disabled || next.Scope == "" {
			return nil
		}
		if err := m.scope(ctx, next); err != nil {
			return err
		}
		m.in.After = next.Scope
	}
	return nil
}

// do runs an activity that only needs the record.
func (m *maintenance) do(ctx workflow.Context, summary, name string, in, out any) error {
	opts := recordOptions(m.in.Queues)
	opts.Summary = summary
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), name, in).Get(ctx, out)
}

// scope tidies one person's memories: plans for all of them, then all plans at once.
func (m *maintenance) scope(ctx workflow.Context, next flow.MaintenanceNext) error {
	workflow.SetCurrentDetails(ctx, "tidying the memories of "+next.Scope)
	is := flow.MaintenanceScope{Run: m.in.Run, Scope: next.Scope, Rev: next.Rev}
	for range maxStarts {
		now, refused, err := m.plans(ctx, is, next.Models)
		switch {
		case err != nil:
			return m.fail(ctx, is, err)
		case refused || m.in.Calls >= maxMaintenanceCalls:
			return nil
		case now != is.Rev:
			is.Rev = now
			continue
		}
		var applied flow.MaintenanceApplied
		if err := m.do(ctx, "tidy up", flow.ApplyMaintenance, is, &applied); err != nil || applied.Done {
			return err
		}
		is.Rev = applied.Rev
	}
	return nil
}

// plans has a plan made for each part, and returns which state of the memories the
// record has now: another one than is.Rev when somebody has changed them.
func (m *maintenance) plans(ctx workflow.Context, is flow.MaintenanceScope, models []string) (now int64, refused bool, err error) {
	part := flow.MaintenancePart{Run: is.Run, Scope: is.Scope, Rev: is.Rev}
	for ; part.Part < maxParts && m.in.Calls < maxMaintenanceCalls; part.Part++ {
		planned, err := m.plan(ctx, part, models)
		if planned.Asked {
			m.in.Calls++
		}
		if err != nil || planned.Refused || planned.Rev != is.Rev || !planned.More {
			return planned.Rev, planned.Refused, err
		}
	}
	return is.Rev, false, nil
}

// plan asks the models in order. Each is retried by Temporal.
func (m *maintenance) plan(ctx workflow.Context, part flow.MaintenancePart, models []string) (flow.MaintenancePlanned, error) {
	var failed modelsFailed
	for i, name := range models {
		part.Model = i
		opts := modelOptions(m.in.Queues)
		opts.Summary = name + failed.last()
		var planned flow.MaintenancePlanned
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), flow.PlanMaintenance, part).Get(ctx, &planned)
		if !isModelFailure(err) {
			return planned, err
		}
		m.in.Calls++
		failed = append(failed, failureOf(err))
	}
	return flow.MaintenancePlanned{}, failed
}

// fail writes down why a person's memories stay as they are. Others are tidied all the
// same; only what is nobody's fault, such as a cancel, ends the run.
func (m *maintenance) fail(ctx workflow.Context, is flow.MaintenanceScope, err error) error {
	all, ok := errors.AsType[modelsFailed](err)
	if !ok {
		return err
	}
	is.Failure = all
	return m.do(ctx, "no model answered", flow.FailMaintenance, is, nil)
}
