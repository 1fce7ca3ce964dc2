package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	"picobot/internal/id"
)

var errReaderWrites = errors.New("the record was opened for reading only")

// OpenReader opens the record of a home in which nothing need run, for reading: it
// changes nothing and takes no lock that another process could wait for. Writes fail.
// Fails with fs.ErrNotExist when there is no record, with ErrSchemaTooNew, and with
// ErrSchemaTooOld when only a start of this build's gateway can read it.
func OpenReader(ctx context.Context, path string, now func() time.Time) (*Store, error) {
	return patiently(ctx, func() (*Store, error) { return openReader(ctx, path, now) })
}

func openReader(ctx context.Context, path string, now func() time.Time) (*Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	read, err := openDSN(path, url.Values{"mode": {"ro"}, "_txlock": {"deferred"},
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "query_only(ON)"}})
	if err != nil {
		return nil, err
	}
	s := &Store{
		read: read, now: now, ids: id.NewMaker(now), log: slog.New(slog.DiscardHandler), closed: make(chan struct{}),
		onChange: func(string) {}, onWrite: func(time.Duration, int, error) {},
	}
	if err := s.connectReaders(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.knownSchema(ctx, path); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// knownSchema fails when the file's schema is not the one that this build reads.
func (s *Store) knownSchema(ctx context.Context, path string) error {
	newest, err := newestSchema()
	if err != nil {
		return err
	}
	var schema int64
	if err := s.view(ctx, func(q querier) error {
		return q.row(`SELECT max(version_id) FROM goose_db_version WHERE is_applied`).Scan(&schema)
	}); err != nil {
		return fmt.Errorf("read the record's version (is %s a picobot record?): %w", path, err)
	}
	switch {
	case schema > newest:
		return fmt.Errorf("%w (schema %d, this build knows %d)", ErrSchemaTooNew, schema, newest)
	case schema < newest:
		return fmt.Errorf("%w (schema %d, this build reads %d)", ErrSchemaTooOld, schema, newest)
	}
	return nil
}
