package tracing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/trace"
)

// TraceID returns the id of a turn's trace, 32 hexadecimal digits: the same 16 bytes as
// the turn's id. "" where that is none.
func TraceID(turnID string) string {
	id, ok := traceID(turnID)
	if !ok {
		return ""
	}
	return id.String()
}

func traceID(turnID string) (trace.TraceID, bool) {
	u, err := ulid.ParseStrict(turnID)
	return trace.TraceID(u), err == nil && trace.TraceID(u).IsValid()
}

// The spans that others are below of have ids that everybody knows.
func messageSpan(id trace.TraceID) trace.SpanID { return spanID(id, "message") }
func turnSpan(id trace.TraceID) trace.SpanID    { return spanID(id, "turn") }

func spanID(id trace.TraceID, name string) (s trace.SpanID) {
	sum := sha256.Sum256(append(id[:], name...))
	copy(s[:], sum[:])
	return s
}

// below is ctx below a span that is not of this process, or was.
func below(ctx context.Context, id trace.TraceID, span trace.SpanID) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx,
		trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.FlagsSampled, Remote: true}))
}

type idsKey struct{}

type knownIDs struct {
	trace trace.TraceID
	span  trace.SpanID
}

// withIDs has the next span of ctx get these ids.
func withIDs(ctx context.Context, id trace.TraceID, span trace.SpanID) context.Context {
	return context.WithValue(ctx, idsKey{}, knownIDs{id, span})
}

// generator makes ids as the SDK does, where withIDs has not said others.
type generator struct{}

// NewIDs implements the SDK's IDGenerator.
func (generator) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if k, ok := ctx.Value(idsKey{}).(knownIDs); ok {
		return k.trace, k.span
	}
	_, _ = rand.Read(id[:]) // it never fails
	_, _ = rand.Read(span[:])
	return id, span
}

// NewSpanID implements the SDK's IDGenerator.
func (generator) NewSpanID(ctx context.Context, id trace.TraceID) (span trace.SpanID) {
	if k, ok := ctx.Value(idsKey{}).(knownIDs); ok && k.trace == id {
		return k.span
	}
	_, _ = rand.Read(span[:])
	return span
}
