package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Env looks up a variable of the environment.
type Env func(name string) (string, bool)

func (e Env) get(names ...string) string {
	for _, n := range names {
		if v, ok := e(n); ok && strings.TrimSpace(v) != "" {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// FromEnv returns what the environment asks for, nil when it asks for nothing: traces
// go to OTEL_EXPORTER_OTLP_ENDPOINT (or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) over
// http/protobuf, or grpc if OTEL_EXPORTER_OTLP_PROTOCOL says so. The other variables
// of OTLP exporters, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER,
// OTEL_BSP_* and OTEL_SDK_DISABLED count as everywhere:
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
// The exporters read theirs from the process's own environment.
func FromEnv(ctx context.Context, env Env, version string, log *slog.Logger) (*Tracing, error) {
	exporters := env.get("OTEL_TRACES_EXPORTER")
	if env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") == "" ||
		strings.EqualFold(env.get("OTEL_SDK_DISABLED"), "true") || exporters != "" && exporters != "otlp" {
		return nil, nil //nolint:nilnil // nil is the Tracing that does nothing
	}
	sampler, err := samplerOf(env)
	if err != nil {
		return nil, err
	}
	var client otlptrace.Client
	switch p := env.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); p {
	case "", "http/protobuf":
		client = otlptracehttp.NewClient()
	case "grpc":
		client = otlptracegrpc.NewClient()
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL %q is not known here: use http/protobuf or grpc", p)
	}
	exporter, err := otlptrace.New(ctx, client) // it connects when there is something to send
	if err != nil {
		return nil, fmt.Errorf("traces cannot be exported (see the OTEL_EXPORTER_OTLP_ variables): %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithProcessPID(),
		resource.WithAttributes(attribute.String("service.name", scope), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		log.Warn("not all of OTEL_RESOURCE_ATTRIBUTES can be used", "error", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are not exported", "error", err) }))
	return newTracing(sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithSampler(sampler), sdk.WithResource(about), sdk.WithIDGenerator(generator{}))), nil
}

// samplerOf reads OTEL_TRACES_SAMPLER. Whether a trace is kept follows from its id
// alone, so that all processes decide alike: a parent need not be asked.
func samplerOf(env Env) (sdk.Sampler, error) {
	switch name := strings.TrimPrefix(env.get("OTEL_TRACES_SAMPLER"), "parentbased_"); name {
	case "", "always_on":
		return sdk.AlwaysSample(), nil
	case "always_off":
		return sdk.NeverSample(), nil
	case "traceidratio":
		share := 1.0
		if arg := env.get("OTEL_TRACES_SAMPLER_ARG"); arg != "" {
			var err error
			if share, err = strconv.ParseFloat(arg, 64); err != nil || share < 0 || share > 1 {
				return nil, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG %q is no share: use a number from 0 to 1", arg)
			}
		}
		return sdk.TraceIDRatioBased(share), nil
	default:
		return nil, fmt.Errorf("OTEL_TRACES_SAMPLER %q is not known here: use always_on, always_off or traceidratio, or parentbased_ with one of these", name)
	}
}

// Secrets lists what the environment's variables hold that nobody may read in a log:
// collectors are often presented a key in a header.
func Secrets(env Env) []string {
	var out []string
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for header := range strings.SplitSeq(env.get(name), ",") {
			if _, value, ok := strings.Cut(header, "="); ok {
				out = append(out, strings.TrimSpace(value))
				if plain, err := url.PathUnescape(strings.TrimSpace(value)); err == nil {
					out = append(out, plain)
				}
			}
		}
	}
	return out
}
