package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// tx is a write transaction: the moment it happens at and the sessions it
// touches, whose readers are woken after the commit.
type tx struct {
	snapshot
	s       *Store
	at      int64 // ms
	touched map[string]struct{}
	jobs    bool // jobs changed
}

func (t *tx) touch(sessionID string) { t.touched[sessionID] = struct{}{} }

func (t *tx) exec(query string, args ...any) (int64, error) {
	return t.conn.exec(t.ctx, query, args...)
}

// update runs fn in one write transaction and returns when that is on the disk.
// Failures of SQLite itself are tried again after the configured delays and end as
// ErrUnavailable; errors of fn that are rules of ours come back as they are. fn may
// run several times.
func (s *Store) update(ctx context.Context, fn func(*tx) error) error {
	if s.writer == nil {
		return errReaderWrites
	}
	began := time.Now()
	for try := 0; ; try++ {
		err := s.updateOnce(ctx, fn)
		if err == nil || ctx.Err() != nil || !transient(err) {
			if err == nil {
				s.failing.Store(false)
				s.onWrite(time.Since(began), try, nil)
			}
			return damaged(err)
		}
		s.failing.Store(true)
		if try >= len(s.delays) {
			s.onWrite(time.Since(began), try, err)
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		s.log.Warn("write to the record failed, trying again", "error", err, "in", s.delays[try])
		if err := sleep(ctx, s.delays[try]); err != nil {
			return err
		}
	}
}

func (s *Store) updateOnce(ctx context.Context, fn func(*tx) error) error {
	var done *tx
	err := s.writer.write(ctx, func(c *conn) error {
		done = &tx{snapshot: snapshot{c, context.Background()}, s: s, at: s.now().UnixMilli(), touched: map[string]struct{}{}}
		return fn(done)
	})
	if err != nil {
		return err
	}
	for id := range done.touched {
		s.onChange(id)
	}
	if done.jobs {
		s.onJobs()
	}
	return nil
}

// renew replaces a connection that cannot begin: kept, it would fail everybody after.
func (s *Store) renew(ctx context.Context, c *conn) *conn {
	fresh, err := newConn(ctx, s.read)
	if err != nil {
		s.log.Error("a connection to the record is broken and cannot be replaced", "error", err)
		return c
	}
	if err := c.close(); err != nil {
		s.log.Warn("a broken connection to the record could not be closed", "error", err)
	}
	return fresh
}

var errClosed = errors.New("read record: it is closed")

// view runs fn on one snapshot of the record.
func (s *Store) view(ctx context.Context, fn func(q querier) error) (err error) {
	var c *conn
	select {
	case c = <-s.readers:
	case <-s.closed:
		return errClosed
	case <-ctx.Done():
		return fmt.Errorf("read record: %w", ctx.Err())
	}
	defer func() {
		s.readers <- c
		err = damaged(err)
	}()
	// Whoever hangs up must not leave the connection in a transaction: the driver reports
	// a context that has ended also when the statement was carried out.
	whole := context.WithoutCancel(ctx)
	if _, err := c.exec(whole, `BEGIN`); err != nil {
		c = s.renew(whole, c)
		return fmt.Errorf("read record: %w", err)
	}
	defer c.exec(whole, `ROLLBACK`) //nolint:errcheck // nothing to lose: the transaction only reads
	return fn(snapshot{c, ctx})
}

// querier is what reading functions need; both kinds of transaction have it.
type querier interface {
	row(query string, args ...any) scanner
	rows(query string, args ...any) (*sql.Rows, error)
}

type snapshot struct {
	conn *conn
	ctx  context.Context
}

func (v snapshot) row(query string, args ...any) scanner { return v.conn.row(v.ctx, query, args...) }

func (v snapshot) rows(query string, args ...any) (*sql.Rows, error) {
	return v.conn.rows(v.ctx, query, args...)
}

// collect scans every row with scan and closes rows.
func collect[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what matters
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// scanOne scans a row of one column.
func scanOne[T any](r scanner) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// found turns "no rows" into ErrNotFound.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
