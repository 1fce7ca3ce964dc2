package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const scope = "picobot"

// Tracing makes spans and sends them. nil makes none.
type Tracing struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

func newTracing(p *sdk.TracerProvider) *Tracing {
	return &Tracing{provider: p, tracer: p.Tracer(scope)}
}

// Close sends what is left, for as long as ctx lasts.
func (t *Tracing) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Turn is what spans tell of a turn.
type Turn struct {
	ID, SessionID      string
	WorkflowID, RunID  string
	Status, ErrorCode  string
	Model              string
	Steps              int
	Prompt, Completion int64 // tokens
	Start, End         time.Time
}

// Message tells that a message has been accepted, the beginning of its turn's trace.
func (t *Tracing) Message(channel, sessionID, turnID string, start, end time.Time) {
	id, ok := traceID(turnID)
	if t == nil || !ok {
		return
	}
	ctx := withIDs(context.Background(), id, messageSpan(id))
	_, span := t.tracer.Start(ctx, "message", trace.WithNewRoot(), trace.WithTimestamp(start), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("picobot.channel", channel), attribute.String("picobot.session_id", sessionID), attribute.String("picobot.turn_id", turnID)))
	span.End(trace.WithTimestamp(end))
}

// Turn tells that a turn has ended.
func (t *Tracing) Turn(turn Turn) {
	id, ok := traceID(turn.ID)
	if t == nil || !ok {
		return
	}
	ctx := withIDs(below(context.Background(), id, messageSpan(id)), id, turnSpan(id))
	_, span := t.tracer.Start(ctx, "turn", trace.WithTimestamp(turn.Start), trace.WithAttributes(
		attribute.String("picobot.session_id", turn.SessionID), attribute.String("picobot.turn_id", turn.ID),
		attribute.String("temporal.workflow_id", turn.WorkflowID), attribute.String("temporal.run_id", turn.RunID),
		attribute.String("picobot.status", turn.Status), attribute.String("picobot.model", turn.Model), attribute.Int("picobot.steps", turn.Steps),
		attribute.Int64("gen_ai.usage.input_tokens", turn.Prompt), attribute.Int64("gen_ai.usage.output_tokens", turn.Completion)))
	if turn.ErrorCode != "" {
		fail(span, turn.ErrorCode)
	}
	span.End(trace.WithTimestamp(turn.End))
}

// Attempt is one of Temporal's at an activity.
type Attempt struct {
	Activity          string
	Number            int // from 1
	WorkflowID, RunID string
	Step              int // of the turn; 0 = of no one
	Start             time.Time
}

// Work begins a span below a turn's. end ends it, with the kind of what went wrong,
// "" = nothing.
func (t *Tracing) Work(ctx context.Context, turnID string, a Attempt) (_ context.Context, end func(failure string)) {
	id, ok := traceID(turnID)
	if t == nil || !ok {
		return ctx, func(string) {}
	}
	ctx, span := t.tracer.Start(below(ctx, id, turnSpan(id)), a.Activity, trace.WithTimestamp(a.Start), trace.WithAttributes(
		attribute.Int("temporal.attempt", a.Number), attribute.String("temporal.workflow_id", a.WorkflowID), attribute.String("temporal.run_id", a.RunID)))
	if a.Step > 0 {
		span.SetAttributes(attribute.Int("picobot.step", a.Step))
	}
	return ctx, ending(span)
}

// Call begins a span for a request to a provider, below the one in ctx; without one
// there it does nothing. Names are those of OpenTelemetry's conventions for generative AI.
func Call(ctx context.Context, provider, model string) (_ context.Context, end func(failure string, prompt, completion int64)) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, func(string, int64, int64) {}
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, "chat "+model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", provider), attribute.String("gen_ai.request.model", model)))
	return ctx, func(failure string, prompt, completion int64) {
		span.SetAttributes(attribute.Int64("gen_ai.usage.input_tokens", prompt), attribute.Int64("gen_ai.usage.output_tokens", completion))
		ending(span)(failure)
	}
}

// Beside returns ctx with the span of another context, for work that outlives that.
func Beside(ctx, other context.Context) context.Context {
	return trace.ContextWithSpan(ctx, trace.SpanFromContext(other))
}

func ending(span trace.Span) func(failure string) {
	return func(failure string) {
		if failure != "" {
			fail(span, failure)
		}
		span.End()
	}
}

func fail(span trace.Span, kind string) {
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(codes.Error, kind)
}
