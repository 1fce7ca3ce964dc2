// Package embedded hands the embedded Temporal to the app. It is the only importer
// of internal/engine besides the end-to-end tests, and holds nothing else: whatever
// imports it takes minutes to compile the first time.
package embedded

import (
	"context"

	"picobot/cli/app"
	"picobot/internal/engine"
)

// Start starts the embedded Temporal. It is an app.StartEngine.
func Start(ctx context.Context, o app.EngineOptions) (app.Engine, error) {
	s, err := engine.Start(ctx, engine.Options{
		Dir:           o.Dir,
		Address:       o.Addr,
		AddressFixed:  o.AddrFixed,
		UIAddress:     o.UIAddr,
		UIFixed:       o.UIFixed,
		APIKey:        o.Key,
		Namespace:     o.Namespace,
		RetentionDays: o.RetentionDays,
		Build:         o.Build,
		Now:           o.Now,
		Logger:        o.Log,
	})
	if err != nil {
		return nil, err // not s: a nil *engine.Server would be a non-nil Engine
	}
	return s, nil
}
