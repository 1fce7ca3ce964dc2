package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Follow calls changed once at the start and then, looking every so often, whenever
// somebody has committed to the record; elsewhere says that another process may have.
// What this one changes Options.OnChange tells as it happens. Follow returns nil when
// ctx ends, or why the record cannot be followed.
//
// SQLite tells a connection that another one has committed, and not what
// (https://www.sqlite.org/pragma.html#pragma_data_version). All that this process
// commits comes through one connection: that one is told of other processes only. A look
// that finds nothing reads no page.
func (s *Store) Follow(ctx context.Context, every time.Duration, changed func(elsewhere bool)) (err error) {
	c, err := s.read.Conn(ctx)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	seen, others := int64(-1), int64(unknown) // what was written before counts as news
	for {
		v, err := dataVersion(ctx, c)
		if err != nil {
			return unlessEnded(ctx, err)
		}
		if v != seen {
			o, err := s.versionOfOthers(ctx, every)
			if err != nil {
				return unlessEnded(ctx, err)
			}
			elsewhere := o == unknown || o != others
			if seen = v; o != unknown {
				others = o
			}
			changed(elsewhere)
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

// unknown is the version of those who cannot be told apart now.
const unknown = -1

// versionOfOthers changes when another process commits. It is unknown while the
// connection of this one is busy for longer than patience, and to a reader, to whom
// everybody is another.
func (s *Store) versionOfOthers(ctx context.Context, patience time.Duration) (int64, error) {
	if s.writer == nil {
		return unknown, nil
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v, err := s.writer.version(waiting)
	if errors.Is(err, context.DeadlineExceeded) {
		return unknown, nil
	}
	return v, err
}

func dataVersion(ctx context.Context, c *sql.Conn) (v int64, err error) {
	err = c.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&v)
	return v, err
}
