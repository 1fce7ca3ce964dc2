package cli

import (
	"context"

	"picobot/cli/app"
)

// Runtime runs what stays up. Each method returns when ctx ends and everything has
// stopped, or when it cannot go on; it calls ready once it serves. The real one is
// app.Runtime.
type Runtime interface {
	Gateway(ctx context.Context, o app.Options, ready func(app.Addresses)) error
	Worker(ctx context.Context, o app.Options, ready func(app.Addresses)) error
	Temporal(ctx context.Context, o app.Options, ready func(app.Addresses)) error
}
