package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// conn is one connection that keeps its statements prepared: SQLite takes longer
// to parse most of ours than to run them. For one goroutine at a time.
type conn struct {
	sql        *sql.Conn
	statements map[string]*sql.Stmt // by query; all queries are constants of this package
}

func newConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	return &conn{sql: c, statements: map[string]*sql.Stmt{}}, nil
}

func (c *conn) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := c.statements[query]; ok {
		return s, nil
	}
	s, err := c.sql.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.statements[query] = s
	return s, nil
}

func (c *conn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	s, err := c.prepared(ctx, query) //nolint:sqlclosecheck // stays prepared; close closes it
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (c *conn) row(ctx context.Context, query string, args ...any) scanner {
	s, err := c.prepared(ctx, query) //nolint:sqlclosecheck // stays prepared; close closes it
	if err != nil {
		return unscannable{err}
	}
	return s.QueryRowContext(ctx, args...)
}

// rows must be read to the end or closed before the same query is made again.
func (c *conn) rows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := c.prepared(ctx, query) //nolint:sqlclosecheck // stays prepared; close closes it
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// pragma runs a PRAGMA. Not prepared: SQLite carries out some of them while it
// parses, and a second run would do nothing.
func (c *conn) pragma(ctx context.Context, query string) error {
	_, err := c.sql.ExecContext(ctx, query)
	return err
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.sql.Close())...)
}

// scanner is a row that was asked for.
type scanner interface{ Scan(dest ...any) error }

// unscannable is a row whose query could not be made.
type unscannable struct{ err error }

func (u unscannable) Scan(...any) error { return u.err }
