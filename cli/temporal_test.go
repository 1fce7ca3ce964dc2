package cli

import (
	"context"
	"slices"
	"testing"

	"picobot/cli/app"
)

func TestTemporalPrintsItsAddressesAndRunsUntilItIsStopped(t *testing.T) {
	h := newHarness(t)
	h.runtime.serve = func(ctx context.Context, o app.Options, ready func(app.Addresses)) error {
		ready(app.Addresses{Temporal: "127.0.0.1:7233", UI: "http://127.0.0.1:8233"})
		h.signals <- interrupt
		<-ctx.Done()
		return nil
	}
	if r := h.run("temporal"); r.code != 0 || r.stdout != "temporal 127.0.0.1:7233\nui http://127.0.0.1:8233\n" || !slices.Equal(h.runtime.calls, []string{"temporal"}) {
		t.Errorf("%+v", r)
	}
}
