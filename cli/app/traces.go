package app

import (
	"context"
	"time"

	"picobot/internal/tracing"
)

// stopTraces bounds the wait for a collector at the end: it is nobody's business that
// there is none.
const stopTraces = time.Second

// openTraces begins to trace if the environment asks for it; else it returns nil.
func openTraces(ctx context.Context, o Options, open *closers) (*tracing.Tracing, error) {
	if o.Env == nil {
		return nil, nil //nolint:nilnil // nil is the Tracing that does nothing
	}
	o.Scrub.Add(tracing.Secrets(o.Env)...)
	traces, err := tracing.FromEnv(ctx, o.Env, o.Version, o.Log)
	if err != nil || traces == nil {
		return nil, err
	}
	open.add("the traces", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), stopTraces)
		defer cancel()
		if err := traces.Close(ctx); err != nil {
			o.Log.Warn("the last traces could not be exported", "error", err)
		}
		return nil
	})
	return traces, nil
}
