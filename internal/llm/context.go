package llm

import (
	"context"
	"errors"
	"fmt"
)

// ContextError returns the typed error for a context that has ended, nil for one
// that has not: a deadline is a timeout, anything else a cancellation. Both wrap
// the context's error and its cause.
func ContextError(ctx context.Context, provider, model string) *Error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	kind, message := KindCanceled, "the call was cancelled"
	if errors.Is(err, context.DeadlineExceeded) {
		kind, message = KindTimeout, "no answer before the deadline"
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &Error{Kind: kind, Provider: provider, Model: model, Message: message, Err: err}
}
