package tracing

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

func recorded(t *testing.T, s sdk.Sampler) (*Tracing, func() map[string]tracetest.SpanStub) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	tr := newTracing(sdk.NewTracerProvider(sdk.WithSyncer(kept), sdk.WithSampler(s), sdk.WithIDGenerator(generator{})))
	t.Cleanup(func() { require.NoError(t, tr.Close(context.Background())) })
	return tr, func() map[string]tracetest.SpanStub {
		out := map[string]tracetest.SpanStub{}
		for _, s := range kept.GetSpans() {
			out[s.Name] = s
		}
		return out
	}
}

func TestTracing_PartsThatKnowOnlyTheTurn_MakeOneTrace(t *testing.T) {
	turn, at := ulid.Make().String(), time.UnixMilli(1_796_000_000_000)
	// The gateway, a worker, and the worker that ends the turn, in three processes.
	gateway, g := recorded(t, sdk.AlwaysSample())
	first, w := recorded(t, sdk.AlwaysSample())
	last, l := recorded(t, sdk.AlwaysSample())
	gateway.Message("cli", "s", turn, at, at.Add(time.Millisecond))
	ctx, end := first.Work(t.Context(), turn, Attempt{Activity: "CallModel", Number: 1, Start: at})
	_, paid := Call(Beside(context.Background(), ctx), "openai", "gpt")
	paid("rate_limit", 1, 2)
	end("ModelError")
	last.Turn(Turn{ID: turn, Status: "failed", ErrorCode: "rate_limit", Start: at, End: at.Add(time.Second)})

	message, call, chat, ended := g()["message"], w()["CallModel"], w()["chat gpt"], l()["turn"]
	for _, s := range []tracetest.SpanStub{message, call, chat, ended} {
		require.Equal(t, TraceID(turn), s.SpanContext.TraceID().String())
	}
	require.False(t, message.Parent.IsValid())
	require.Equal(t, message.SpanContext.SpanID(), ended.Parent.SpanID())
	require.Equal(t, ended.SpanContext.SpanID(), call.Parent.SpanID())
	require.Equal(t, call.SpanContext.SpanID(), chat.Parent.SpanID())
	require.Equal(t, time.Second, ended.EndTime.Sub(ended.StartTime))
	require.Equal(t, codes.Error, chat.Status.Code)
	require.Equal(t, trace.SpanKindClient, chat.SpanKind)
	require.Equal(t, codes.Error, ended.Status.Code)
}

func TestTraceID_IsTheTurnsIDInHexadecimal(t *testing.T) {
	id := ulid.Make()
	require.Equal(t, hex.EncodeToString(id[:]), TraceID(id.String()))
	require.Empty(t, TraceID("no turn"))
}

func TestTracing_Sampler_DecidesAlikeInEveryProcess(t *testing.T) {
	env := Env(func(name string) (string, bool) {
		v, ok := map[string]string{"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"}[name]
		return v, ok
	})
	s, err := samplerOf(env)
	require.NoError(t, err)
	kept := 0
	for range 64 {
		a, as := recorded(t, s)
		b, bs := recorded(t, s)
		turn := ulid.MustNew(ulid.Now(), rand.Reader).String() // Make counts up within a millisecond
		a.Message("cli", "s", turn, time.Now(), time.Now())
		_, end := b.Work(t.Context(), turn, Attempt{Activity: "CallModel", Start: time.Now()})
		end("")
		require.Len(t, bs(), len(as()), "a trace is whole or not there")
		kept += len(as())
	}
	require.NotZero(t, kept)
	require.NotEqual(t, 64, kept)
}

func TestTracing_NotAskedFor_DoesNothing(t *testing.T) {
	for name, vars := range map[string]map[string]string{
		"nothing set": {}, "switched off": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"},
		"no exporter": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"},
	} {
		tr, err := FromEnv(t.Context(), func(n string) (string, bool) { v, ok := vars[n]; return v, ok }, "v", slog.New(slog.DiscardHandler))
		require.NoError(t, err, name)
		require.Nil(t, tr, name)
		tr.Message("cli", "s", ulid.Make().String(), time.Now(), time.Now())
		tr.Turn(Turn{})
		ctx, end := tr.Work(t.Context(), ulid.Make().String(), Attempt{Activity: "x", Start: time.Now()})
		end("")
		_, done := Call(ctx, "p", "m")
		done("", 0, 0)
		require.NoError(t, tr.Close(t.Context()))
	}
}

func TestFromEnv_WhatItDoesNotKnow_IsRefusedWithWhatItDoes(t *testing.T) {
	for variable, c := range map[string]struct{ value, want string }{
		"OTEL_EXPORTER_OTLP_PROTOCOL": {"carrier-pigeon", "http/protobuf or grpc"},
		"OTEL_TRACES_SAMPLER":         {"dice", "traceidratio"},
	} {
		vars := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", variable: c.value}
		_, err := FromEnv(t.Context(), func(n string) (string, bool) { v, ok := vars[n]; return v, ok }, "v", slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, variable)
	}
}

func TestSecrets_AreTheHeadersForTheCollector(t *testing.T) {
	vars := map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20abc, x-key = k1 ", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": ""}
	got := Secrets(func(n string) (string, bool) { v, ok := vars[n]; return v, ok })
	require.Subset(t, got, []string{"Bearer abc", "k1"})
}
