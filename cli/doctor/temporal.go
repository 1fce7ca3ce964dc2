package doctor

import (
	"context"
	"errors"

	"picobot/cli/app"
	"picobot/internal/config"
	"picobot/internal/port"
)

func (e *examination) temporal(ctx context.Context) {
	cfg := e.Config.Temporal
	if cfg.Mode == config.TemporalExternal {
		if err := app.CheckTemporal(ctx, e.Options.Options); err != nil {
			e.fail("temporal", "start it, or correct temporal.address, namespace, api_key and tls", "%s at %s: %v", cfg.Namespace, cfg.Address, err)
			return
		}
		e.ok("temporal", "external, %s at %s", cfg.Namespace, cfg.Address)
		return
	}
	if e.gateway != nil {
		if e.gateway.Temporal != "ok" {
			e.fail("temporal", "see the gateway's log", "the gateway says %q", e.gateway.Temporal)
			return
		}
		e.ok("temporal", "embedded, its web UI is at %s", e.gateway.UIURL)
		return
	}
	for key, addr := range map[string]string{"temporal.address": cfg.Address, "temporal.ui_addr": cfg.UIAddr} {
		if !e.Config.Named(key) {
			continue // a default port that is taken is replaced
		}
		l, err := port.Listen(ctx, addr)
		if taken, ok := errors.AsType[*port.TakenError](err); ok {
			e.fail("temporal", "stop that process, or set "+key+" to another address", "%v", taken)
			return
		}
		if err == nil {
			_ = l.Close()
		}
	}
	e.ok("temporal", "embedded, starts with the gateway; its files are in %s", e.Home.TemporalDir())
}
