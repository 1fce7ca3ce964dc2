package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/activity"

	"picobot/internal/brief"
	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/llm"
	"picobot/internal/memory"
	"picobot/internal/prompt"
	"picobot/store"
)

const (
	// maxMaintenanceTokens bounds what a run may spend before it begins with another
	// person: who is left is looked at by the next run.
	maxMaintenanceTokens = 500_000
	// maxShown and maxShownTokens bound what a model is shown at once, in memories and in
	// tokens: of more it makes worse plans. A small window bounds it further.
	maxShown       = 300
	maxShownTokens = 24_000
	// agentOfMaintenance is the agent whose models are asked.
	agentOfMaintenance = "default"
)

// NextMaintenance finds the next person whose memories have changed.
func (a *Activities) NextMaintenance(ctx context.Context, in flow.MaintenanceInput) (flow.MaintenanceNext, error) {
	if !a.MaintenanceEnabled {
		// A run that was begun while it was on ends here.
		if _, err := a.Record.EndMaintenance(ctx, in.Run, "memory.maintenance_enabled is false"); err != nil && !errors.Is(err, store.ErrNotFound) {
			return flow.MaintenanceNext{}, err
		}
		return flow.MaintenanceNext{Disabled: true}, nil
	}
	next, err := a.Record.NextMaintenance(ctx, store.NextMaintenance{Run: in.Run, Scope: in.Scope, After: in.After, Again: in.Again, MaxTokens: maxMaintenanceTokens})
	if err != nil {
		return flow.MaintenanceNext{}, fmt.Errorf("find whose memories have changed: %w", err)
	}
	if next.Left {
		a.Logger.Warn("memory maintenance has spent what it may; who is left comes next time", "run", in.Run, "tokens", maxMaintenanceTokens)
	}
	return flow.MaintenanceNext{Scope: next.Scope, Rev: next.Rev, Models: a.Agents.Agent(agentOfMaintenance).Models}, nil
}

// PlanMaintenance has a model plan what to do about a part of a person's memories, and
// keeps the plan. A part that has its plan is not asked about again.
func (a *Activities) PlanMaintenance(ctx context.Context, in flow.MaintenancePart) (flow.MaintenancePlanned, error) {
	model := flow.ModelInput{Step: in.Part, Model: in.Model}
	c := &modelCall{a: a, in: model, attempt: showAs(in.Model, int(activity.GetInfo(ctx).Attempt)), bill: &bill{}}
	k := flightKey{session: in.Scope, what: flow.PlanMaintenance, step: in.Part, attempt: in.Model}
	out, err := fly(ctx, a, k, func(ctx context.Context) (flow.MaintenancePlanned, error) {
		out, err := c.plan(ctx, in)
		if why := stopped(ctx); err != nil && why != nil {
			err = why
		}
		if err != nil {
			c.payMaintenance(ctx, in.Run)
		}
		return out, err
	})
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return out, a.modelFailure(ctx, model, e, 0)
	}
	return out, err
}

// payMaintenance writes down what no plan was kept for.
func (c *modelCall) payMaintenance(ctx context.Context, run string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), payFor)
	defer cancel()
	if err := c.a.Record.PayMaintenance(ctx, run, c.bill.calls); err != nil {
		c.a.Logger.Warn("what a failed model call cost could not be recorded", "run", run, "calls", len(c.bill.calls), "error", err)
	}
}

func (c *modelCall) plan(ctx context.Context, in flow.MaintenancePart) (flow.MaintenancePlanned, error) {
	work, err := c.a.Record.MaintenanceWork(ctx, in.Scope, in.Rev, in.Part, maxShown+1)
	if err != nil {
		return flow.MaintenancePlanned{}, recorded(err)
	}
	out := flow.MaintenancePlanned{Rev: work.Rev, More: work.More}
	if work.Rev != in.Rev || work.Planned {
		return out, nil
	}
	use, err := c.choose(agentOfMaintenance)
	if err != nil {
		return out, err
	}
	shown := fitting(work.Memories, min(maxShownTokens, room(use.window, use.model.MaxOutputTokens)/2))
	out.More = len(shown) < len(work.Memories)
	plan, err := c.askForPlan(ctx, use, in, shown, out.More, work.Notes)
	out.Asked = true
	var refused refusedPlan
	if errors.As(err, &refused) {
		out.Refused = true
		_, err := persist(ctx, func(ctx context.Context) (struct{}, error) {
			if err := c.a.Record.PayMaintenance(ctx, in.Run, c.bill.calls); err != nil {
				return struct{}{}, err
			}
			return struct{}{}, c.a.Record.FailMaintenance(ctx, in.Run, in.Scope, in.Rev, "the plan was refused: "+string(refused))
		})
		return out, recorded(err)
	}
	if err != nil {
		return out, err
	}
	until := memory.Name{}
	if len(shown) > 0 {
		until = shown[len(shown)-1].Name
	}
	_, err = persist(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.a.Record.SavePlan(ctx, store.MaintenancePlan{Run: in.Run, Scope: in.Scope, Rev: in.Rev, Part: in.Part, Plan: plan, Until: until, More: out.More}, c.bill.calls)
	})
	return out, recorded(err)
}

// refusedPlan is an answer that is no plan, and why.
type refusedPlan string

func (r refusedPlan) Error() string { return string(r) }

// askForPlan asks for a plan and holds the answer against what was asked for. What a
// provider says when it fails is never taken for one.
func (c *modelCall) askForPlan(ctx context.Context, use chosen, in flow.MaintenancePart, shown []memory.Memory, more bool, notes string) (memory.Plan, error) {
	request, err := memory.MaintenanceRequest(shown, in.Part, more, notes)
	if err != nil {
		return memory.Plan{}, err
	}
	req := llm.Request{Model: use.model, Schema: &llm.Schema{Name: "memory_plan", JSON: memory.PlanSchema()}, Messages: []llm.Message{
		{Message: chat.Message{Role: chat.RoleSystem, Content: strings.TrimSpace(memory.MaintenancePrompt)}},
		{Message: chat.Message{Role: chat.RoleUser, Content: request}},
	}}
	resp, err := c.complete(ctx, use.provider, req, nil)
	switch {
	case err != nil:
		return memory.Plan{}, err
	case resp.Stop == llm.StopLength:
		return memory.Plan{}, refusedPlan("the answer was cut at the model's limit")
	case resp.Stop == llm.StopContentFilter:
		return memory.Plan{}, refusedPlan("the provider's filter has stopped the answer")
	}
	plan, err := memory.ParsePlan(llm.JSONIn(resp.Content))
	if err != nil {
		return plan, refusedPlan(err.Error())
	}
	// What it names is looked at here too, so that a plan that cannot be carried out costs
	// no further calls. Whether too much goes is seen when all plans are there.
	if why := memory.Names(plan, shown); why != nil {
		return plan, refusedPlan(why.Error())
	}
	return plan, nil
}

// fitting returns the first memories that have room, one at least.
func fitting(memories []memory.Memory, tokens int) []memory.Memory {
	for i, m := range memories {
		tokens -= prompt.Estimate([]chat.Message{{Content: m.Namespace + m.Key + m.Content}}) + 20
		if i == maxShown || tokens < 0 && i > 0 {
			return memories[:i]
		}
	}
	return memories
}

// ApplyMaintenance carries out the plans for a person's memories.
func (a *Activities) ApplyMaintenance(ctx context.Context, in flow.MaintenanceScope) (flow.MaintenanceApplied, error) {
	out, err := a.Record.ApplyMaintenance(ctx, in.Run, in.Scope, in.Rev)
	if err != nil {
		return flow.MaintenanceApplied{}, fmt.Errorf("tidy memories: %w", err)
	}
	if out.Refused != "" {
		a.Logger.Warn("a plan for memories was refused", "scope", in.Scope, "why", out.Refused)
	}
	return flow.MaintenanceApplied{Rev: out.Rev, Done: out.Applied || out.Refused != ""}, nil
}

// FailMaintenance writes down that no model could be asked.
func (a *Activities) FailMaintenance(ctx context.Context, in flow.MaintenanceScope) error {
	why := "no model answered"
	if len(in.Failure) > 0 {
		why = a.failureText(in.Failure[0], in.Failure[1:])
	}
	return a.Record.FailMaintenance(ctx, in.Run, in.Scope, in.Rev, strings.Join(strings.Fields(why), " "))
}

// FinishMaintenance writes what is known of people into AGENT.md and ends the run.
func (a *Activities) FinishMaintenance(ctx context.Context, in flow.MaintenanceEnd) (flow.MaintenanceResult, error) {
	if err := a.writeNotes(ctx); err != nil {
		// The record has it: the next run writes it. Nothing else is wrong with this one.
		a.Logger.Error("what is known of people could not be written into AGENT.md", "error", err)
		if in.Why == "" {
			in.Why = "AGENT.md could not be written, see the log"
		}
	}
	m, err := a.Record.EndMaintenance(ctx, in.Run, in.Why)
	if err != nil {
		return flow.MaintenanceResult{}, fmt.Errorf("end maintenance: %w", err)
	}
	a.Logger.Info("memory maintenance has ended", "status", m.Status, "people", m.Scopes, "merged", m.Merged, "deleted", m.Deleted, "tokens", m.Tokens)
	return flow.MaintenanceResult{Run: m.ID, Scopes: m.Scopes, Changed: m.Changed, Failed: m.Failed, Merged: m.Merged, Deleted: m.Deleted,
		Conflicts: m.Conflicts, Error: brief.Cut(a.Mask(m.Error), maxDetail)}, nil
}

func (a *Activities) writeNotes(ctx context.Context) error {
	notes, err := a.Record.MemoryNotes(ctx)
	if err != nil {
		return err
	}
	parts := make([]prompt.Part, len(notes))
	for i, n := range notes {
		parts[i] = prompt.Part{Scope: n.Scope, Markdown: n.Markdown}
	}
	_, left, err := a.Prompt.SetParts(parts)
	if left > 0 {
		a.Logger.Warn("AGENT.md has no room for what is known of some people", "people", left)
	}
	return err
}
