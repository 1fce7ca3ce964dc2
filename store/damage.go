package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// checkPatience bounds the search for damage at each start: a large file is then
// taken as it is.
const checkPatience = 500 * time.Millisecond

// intact looks for damage before anything is built on the file.
func intact(ctx context.Context, db *sql.DB) error {
	limited, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	var verdict string
	err := db.QueryRowContext(limited, `PRAGMA quick_check(1)`).Scan(&verdict)
	switch {
	case limited.Err() != nil:
		return ctx.Err()
	case err != nil:
		return damaged(fmt.Errorf("check for damage: %w", err))
	case verdict != "ok":
		return fmt.Errorf("%w: %s", ErrDamaged, verdict)
	}
	return nil
}

// damaged adds ErrDamaged to errors of SQLite that mean it.
func damaged(err error) error {
	if !isDamage(err) {
		return err
	}
	return errors.Join(ErrDamaged, err)
}

func isDamage(err error) bool {
	se, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	code := se.Code() & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}
