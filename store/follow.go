package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Follow calls changed once at the start and then, looking every so often, whenever
// somebody else has committed to the record: another process, or this one. It returns
// nil when ctx ends, or why the record cannot be followed.
//
// SQLite tells a connection that another one has committed, and not what
// (https://www.sqlite.org/pragma.html#pragma_data_version). A look that finds nothing
// reads no page.
func (s *Store) Follow(ctx context.Context, every time.Duration, changed func()) (err error) {
	c, err := s.read.Conn(ctx)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := int64(-1) // what was written before counts as news
	for {
		v, err := dataVersion(ctx, c)
		if err != nil {
			return unlessEnded(ctx, err)
		}
		if v != last {
			last = v
			changed()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("follow record: %w", err)
}

func dataVersion(ctx context.Context, c *sql.Conn) (v int64, err error) {
	err = c.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&v)
	return v, err
}
