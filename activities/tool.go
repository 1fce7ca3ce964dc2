package activities

import (
	"context"
	"errors"
	"fmt"

	"picobot/internal/brief"
	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/live"
	"picobot/internal/tools"
	"picobot/internal/tools/proc"
	"picobot/store"
)

const notRunResult = "Error: the turn ended before this call was run."

func unknownResult(why string) string {
	return "Unknown outcome: " + why + " while this call was running. It may or may not have acted, and was not run again. Look at what is there before you act."
}

// RunTool runs one call of a step and writes its result down. Read-only tools run
// again after a crash; those that act outside run at most once.
func (a *Activities) RunTool(ctx context.Context, in flow.ToolInput) (flow.ToolResult, error) {
	k := flightKey{turn: in.TurnID, step: in.Step, position: in.Position}
	return fly(ctx, a, k, func(ctx context.Context) (flow.ToolResult, error) {
		run, err := a.runTool(ctx, in)
		if err != nil {
			return flow.ToolResult{}, a.fenced(context.WithoutCancel(ctx), in.TurnID, err)
		}
		out := flow.ToolResult{Status: run.Status}
		if run.Effect == string(tools.Record) { // what it wrote to the outbox is to be sent
			out.Outbound, err = a.Record.OutboundOf(context.WithoutCancel(ctx), run.ID)
		}
		return out, err
	})
}

func (a *Activities) runTool(ctx context.Context, in flow.ToolInput) (store.ToolRun, error) {
	w, err := a.Record.ToolWork(ctx, in.TurnID, in.Step, in.Position)
	if err != nil {
		return store.ToolRun{}, err
	}
	if w.Run != nil && w.Run.Status.Final() {
		return *w.Run, nil
	}
	if err := open(w.Turn); err != nil {
		return store.ToolRun{}, err
	}
	name, arguments := w.Call.Function.Name, chat.RawArguments(w.Call.Function.Arguments)
	run := store.ToolRun{
		TurnID: in.TurnID, Step: in.Step, Position: in.Position,
		CallID: w.Call.ID, Name: name, Effect: string(a.Tools.Effect(name, arguments)),
		StartedAt: a.Now().UnixMilli(),
	}
	id := runID(in)
	if run.Effect != string(tools.Outside) && w.Run != nil {
		return a.abandoned(ctx, *w.Run, id) // claimed by a build in which the tool acted outside
	}
	if run.Effect == string(tools.Outside) {
		claim, fresh, err := a.Record.ClaimTool(ctx, run)
		if err != nil {
			return run, err
		}
		if claim.Status.Final() {
			return claim, nil
		}
		if !fresh {
			return a.abandoned(ctx, claim, id)
		}
	}
	a.Hub.Publish(w.Session.ID, live.Progress{TurnID: in.TurnID, Step: in.Step, Tool: &live.ToolStart{
		Position: in.Position, CallID: w.Call.ID, Name: name, Summary: a.summary(w.Call)}})
	call := tools.Call{
		ID: id, TurnID: in.TurnID, SessionID: w.Session.ID, Channel: w.Session.Channel,
		ChatID: w.Session.ChatID, SenderID: w.Inbound.SenderID,
	}
	if run.Effect == string(tools.Record) {
		return a.runRecordTool(ctx, call, run, arguments)
	}
	result := a.Tools.Run(ctx, call, name, arguments)
	if why := stopped(ctx); why != nil && run.Effect != string(tools.Outside) {
		return run, why // nothing was done that must be known; a later attempt starts afresh
	}
	run.Status, run.Result = outcome(result), result.Content
	run, err = persist(ctx, func(ctx context.Context) (store.ToolRun, error) { return a.Record.CommitTool(ctx, run) })
	if err != nil {
		return run, err
	}
	if why := stopped(ctx); errors.Is(why, errCancelled) {
		return run, why
	}
	return run, nil
}

// runRecordTool runs a tool that changes the record and nothing else: what it changes
// and its result are one transaction, so that whenever this process dies both are
// there or neither is.
func (a *Activities) runRecordTool(ctx context.Context, call tools.Call, run store.ToolRun, arguments string) (store.ToolRun, error) {
	run, err := persist(ctx, func(ctx context.Context) (store.ToolRun, error) {
		return a.Record.RunRecordTool(ctx, run, func(tx *store.ToolTx) (chat.ToolStatus, string, error) {
			call.Tx = tx
			result := a.Tools.Run(ctx, call, run.Name, arguments)
			return outcome(result), result.Content, result.Err
		})
	})
	if err != nil {
		return run, err
	}
	if why := stopped(ctx); errors.Is(why, errCancelled) {
		return run, why
	}
	return run, nil
}

func outcome(r tools.Result) chat.ToolStatus {
	if r.Failed {
		return chat.ToolFailed
	}
	return chat.ToolCompleted
}

// abandoned ends a call that an attempt now dead had claimed: what is left running
// of it is stopped, and nobody can say what it did.
func (a *Activities) abandoned(ctx context.Context, claim store.ToolRun, id string) (store.ToolRun, error) {
	a.killLeftovers(ctx, id)
	claim.Status, claim.Result = chat.ToolUnknown, unknownResult("PicoBot's process died")
	return persist(ctx, func(ctx context.Context) (store.ToolRun, error) { return a.Record.CommitTool(ctx, claim) })
}

// killLeftovers ends what a dead attempt left running. What cannot be killed (a
// process stuck in the kernel) must not keep the turn from going on.
func (a *Activities) killLeftovers(ctx context.Context, id string) {
	if err := proc.KillMarked(ctx, id); err != nil {
		a.Logger.Error("what a dead attempt left running cannot be stopped", "call", id, "error", err)
	}
}

// runID names a call among all calls ever made; what the call starts is marked with it.
func runID(in flow.ToolInput) string {
	return fmt.Sprintf("%s.%d.%d", in.TurnID, in.Step, in.Position)
}

// summary describes a call in one line. Secrets are masked before the line is cut,
// or the head of one at the cut would stay.
func (a *Activities) summary(c chat.ToolCall) string {
	return brief.Cut(a.Mask(a.Tools.Summary(c.Function.Name, chat.RawArguments(c.Function.Arguments), 8*maxSummary)), maxSummary)
}

// maxSummary bounds what Temporal's UI shows of a call, in characters.
const maxSummary = 120
