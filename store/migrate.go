package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrate brings the file to the newest schema, forward only, one migration a
// transaction, under a lock that keeps other processes out. Before an existing
// file is changed a copy of it is kept beside it (sessions.db.before-N, N being
// the schema it is migrated to).
func migrate(ctx context.Context, o Options) (err error) {
	lock := flock.New(o.Path + ".migrate.lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock record for migration: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()

	db, err := open(o.Path, "immediate", "synchronous(FULL)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)

	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return fmt.Errorf("migrate record: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrate record: %w", err)
	}
	current, target, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the record's version (is %s a picobot record?): %w", o.Path, err)
	}
	if current > target {
		return fmt.Errorf("%w (schema %d, this build knows %d)", ErrSchemaTooNew, current, target)
	}
	if current == target {
		return nil
	}
	if current > 0 {
		if err := keepCopy(ctx, db, fmt.Sprintf("%s.before-%d", o.Path, target)); err != nil {
			return err
		}
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate record from schema %d to %d: %w", current, target, err)
	}
	o.Logger.Info("record migrated", "from", current, "to", target)
	return nil
}

// keepCopy writes a consistent copy of db to path. One that is there already is from
// an earlier try at the same migration, and truer.
func keepCopy(ctx context.Context, db *sql.DB, path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	half := path + ".part" // what a crash leaves here is no copy
	if err := os.Remove(half); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep a copy of the record: %w", err)
	}
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, half); err != nil {
		return fmt.Errorf("keep a copy of the record: %w", err)
	}
	if err := errors.Join(os.Chmod(half, 0o600), os.Rename(half, path)); err != nil {
		return fmt.Errorf("keep a copy of the record: %w", err)
	}
	return nil
}
