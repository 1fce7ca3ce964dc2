package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
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
