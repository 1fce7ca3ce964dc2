package store

import (
	"context"
	"time"
)

// Opening waits this long for other processes that are at work in the record, and looks
// again so often.
const (
	openPatience = 10 * time.Second
	openRetry    = 20 * time.Millisecond
)

// patiently opens the record once other processes leave room for it. Who starts beside
// them must not fail because they are busy: SQLite's waiting for a lock knows no queue,
// so a few busy writers can keep a newcomer out for longer than a statement waits.
func patiently[T any](ctx context.Context, open func() (T, error)) (T, error) {
	limit := time.NewTimer(openPatience)
	defer limit.Stop()
	for {
		s, err := open()
		if err == nil || !busy(err) {
			return s, err
		}
		select {
		case <-limit.C:
			return s, err
		default:
		}
		if sleep(ctx, openRetry) != nil {
			return s, err
		}
	}
}
