package activities

import (
	"context"
	"errors"
	"time"

	"picobot/store"
)

// persistFor bounds how long a result is held in memory while the record cannot
// be written. After that the activity fails and is retried, result and all.
const persistFor = 5 * time.Minute

// persist writes a result down, trying again while the record cannot be written:
// what a model or a tool gave is worth more than a retry. It goes on after a
// cancel (the record decides what a cancelled turn keeps) and ends early only on
// shutdown of the process's store.
func persist[T any](ctx context.Context, write func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), persistFor)
	defer cancel()
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		v, err := write(ctx)
		if !errors.Is(err, store.ErrUnavailable) {
			return v, err
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return v, err
		case <-t.C:
		}
	}
}
