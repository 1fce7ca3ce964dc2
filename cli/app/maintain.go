package app

import (
	"context"

	"picobot/gateway/dispatch"
	"picobot/internal/config"
)

// maintain starts memory maintenance; nil = it is turned off.
func maintain(cfg config.Config, d *dispatch.Dispatcher) func(ctx context.Context, scope string) (string, error) {
	if !cfg.Memory.MaintenanceEnabled {
		return nil
	}
	return d.Maintain
}
