package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
)

// Copy writes a consistent copy of the record at path to a new file, as of one moment,
// also while others write the record. Nothing that has been erased is in it. The copy
// has been checked for damage. Fails with fs.ErrNotExist when there is no record.
func Copy(ctx context.Context, path, to string) (Report, error) {
	if _, err := os.Stat(path); err != nil {
		return Report{}, fmt.Errorf("copy the record: %w", err)
	}
	// Made by us, so that nobody else can read it from its first byte on.
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Report{}, fmt.Errorf("copy the record: %w", err)
	}
	if err := f.Close(); err != nil {
		return Report{}, fmt.Errorf("copy the record: %w", err)
	}
	if err := vacuumInto(ctx, path, to); err != nil {
		return Report{}, fmt.Errorf("copy the record: %w", err)
	}
	r, err := Inspect(ctx, to)
	if err == nil && r.Damage != "" {
		err = fmt.Errorf("the copy of the record is damaged, and so is the record: %s", r.Damage)
	}
	// The look at it may have left these beside it; they hold nothing.
	for _, beside := range []string{"-wal", "-shm"} {
		if gone := os.Remove(to + beside); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return r, err
}

func vacuumInto(ctx context.Context, path, to string) (err error) {
	db, err := openDSN(path, url.Values{"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	_, err = patiently(ctx, func() (sql.Result, error) { return db.ExecContext(ctx, `VACUUM INTO ?`, to) })
	return err
}
