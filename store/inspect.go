package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
)

// Report is what can be said of a record from outside.
type Report struct {
	Schema   int64  // the migration it is at
	Damage   string // what SQLite finds wrong, "" = nothing
	Sessions int64
	Messages int64
	Waiting  int64 // messages that have no answer yet
}

// Inspect looks at a record without changing it, also while a gateway has it open.
// Fails with fs.ErrNotExist when there is none, and with ErrSchemaTooNew.
func Inspect(ctx context.Context, path string) (r Report, err error) {
	if _, err := os.Stat(path); err != nil {
		return r, fmt.Errorf("look at the record: %w", err)
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(),
		RawQuery: url.Values{"mode": {"ro"}, "_pragma": {"query_only(ON)", fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}}.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return r, fmt.Errorf("look at the record: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if err := db.QueryRowContext(ctx, `SELECT max(version_id) FROM goose_db_version WHERE is_applied`).Scan(&r.Schema); err != nil {
		return r, fmt.Errorf("read the record's version (is %s a picobot record?): %w", path, err)
	}
	if newest, err := newestSchema(); err != nil || r.Schema > newest {
		return r, errors.Join(err, fmt.Errorf("%w (schema %d, this build knows %d)", ErrSchemaTooNew, r.Schema, newest))
	}
	var verdict string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
		return r, fmt.Errorf("check the record for damage: %w", err)
	}
	if verdict != "ok" {
		r.Damage = verdict
		return r, nil
	}
	err = db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM sessions WHERE deleted_at IS NULL), (SELECT count(*) FROM messages WHERE origin_seq IS NULL AND coalesce(marker, '') <> 'history_compaction'),
		(SELECT count(*) FROM turns WHERE status IN ('queued', 'running'))`).
		Scan(&r.Sessions, &r.Messages, &r.Waiting)
	if err != nil {
		return r, fmt.Errorf("look at the record: %w", err)
	}
	return r, nil
}

// newestSchema is the newest migration that this build knows.
func newestSchema() (int64, error) {
	files, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		return 0, err
	}
	var newest int64
	for _, f := range files {
		var n int64
		if _, err := fmt.Sscanf(f.Name(), "%05d_", &n); err != nil {
			return 0, fmt.Errorf("migration %s has no number: %w", f.Name(), err)
		}
		newest = max(newest, n)
	}
	return newest, nil
}
