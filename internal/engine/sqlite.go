package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	temporalsql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/resolver"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	_ "modernc.org/sqlite" // registers the driver of our own connections
)

const driver = "sqlite"

// stores are the server's two databases.
type stores struct {
	main       *config.SQL
	visibility *config.SQL
}

// newStores describes the databases for one start.
func newStores(f files, stock bool) stores {
	// The server keeps every database that it ever opened, by name, until the
	// process ends. A second start in one process would be handed the handle of
	// the first, even if that file has been set aside or deleted meanwhile. So
	// each start gets a name of its own: SQLite ignores pragmas it does not know.
	start := "s" + rand.Text()
	// A commit that is lost with the power is made again from the record.
	sync := "normal"
	if stock {
		sync = "full"
	}
	return stores{main: storeConfig(f.main(), start, sync), visibility: storeConfig(f.visibility(), start, sync)}
}

func storeConfig(path, start, sync string) *config.SQL {
	return &config.SQL{
		PluginName:   sqliteplugin.PluginName,
		DatabaseName: escapePath(path),
		// More than one and the server's deferred transactions collide.
		MaxConns:     1,
		MaxIdleConns: 1,
		// Names without an underscore become pragmas, all others are dropped in
		// silence.
		ConnectAttributes: map[string]string{
			"mode":          "rwc",
			"journal_mode":  "wal",
			"synchronous":   sync,
			"busy_timeout":  "5000",
			"picobot_start": start,
		},
	}
}

// escapePath makes a path safe within a "file:" URI.
func escapePath(path string) string {
	return (&url.URL{Path: path}).EscapedPath()
}

// createSchema makes the tables of both stores in empty files.
func (s stores) createSchema() error {
	for _, cfg := range []*config.SQL{s.main, s.visibility} {
		if err := sqliteschema.SetupSchema(cfg); err != nil {
			return fmt.Errorf("make the engine's tables in %s: %w", cfg.DatabaseName, err)
		}
	}
	return nil
}

// openMain opens the main store the way the server does, to read and write what
// has no API before the server runs.
func (s stores) openMain() (sqlplugin.DB, error) {
	return temporalsql.NewSQLDB(sqlplugin.DbKindMain, s.main, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
}

// openOwn opens a connection of our own. The file must be there.
func openOwn(path string) (*sql.DB, error) {
	db, err := sql.Open(driver, "file:"+escapePath(path)+"?mode=rw&_pragma=busy_timeout(1000)")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// checkpoint moves what is in the write-ahead log into the file itself, so that
// a copy of the file alone is whole.
func checkpoint(ctx context.Context, path string) (err error) {
	db, err := openOwn(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var busy, inLog, done int
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &inLog, &done); err != nil {
		return fmt.Errorf("checkpoint %s: %w", path, err)
	}
	if busy != 0 {
		return fmt.Errorf("checkpoint %s: the database is still in use", path)
	}
	return nil
}

// schemaHash names the tables, indexes and triggers of a database. One without
// any is an error: it would pass for equal to another one without any.
func schemaHash(ctx context.Context, db *sql.DB) (string, error) {
	rows, err := db.QueryContext(ctx, "SELECT type, name, coalesce(sql, '') FROM sqlite_master ORDER BY type, name")
	if err != nil {
		return "", fmt.Errorf("read the schema: %w", err)
	}
	defer func() { _ = rows.Close() }()
	sum := sha256.New()
	empty := true
	for rows.Next() {
		empty = false
		var kind, name, text string
		if err := rows.Scan(&kind, &name, &text); err != nil {
			return "", fmt.Errorf("read the schema: %w", err)
		}
		sum.Write(fmt.Appendf(nil, "%d:%s%d:%s%d:%s", len(kind), kind, len(name), name, len(text), text))
	}
	if err := rows.Err(); err != nil {
		return "", fmt.Errorf("read the schema: %w", err)
	}
	if empty {
		return "", errors.New("read the schema: there is none")
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// builtinSchemaHash is the hash of the schema that this build would make.
func builtinSchemaHash(ctx context.Context) (hash string, err error) {
	const name = "picobot-builtin-schema"
	cfg := &config.SQL{
		PluginName:        sqliteplugin.PluginName,
		DatabaseName:      name,
		ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"},
	}
	// A database in memory gets its tables as it is opened, once in a process.
	made, err := temporalsql.NewSQLDB(sqlplugin.DbKindUnknown, cfg, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return "", fmt.Errorf("read the built-in schema: %w", err)
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	db, err := sql.Open(driver, "file:"+name+"?mode=memory&cache=shared")
	if err != nil {
		return "", fmt.Errorf("read the built-in schema: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return schemaHash(ctx, db)
}

// inspect returns the schema hash of a file, or why the file is no good. The
// search for damage ends after patience: a large file is then taken as it is.
func inspect(ctx context.Context, path string, patience time.Duration) (hash string, err error) {
	db, err := openOwn(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if hash, err = schemaHash(ctx, db); err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var verdict string
	err = db.QueryRowContext(limited, "PRAGMA quick_check(1)").Scan(&verdict)
	switch {
	case limited.Err() != nil:
		return hash, ctx.Err()
	case err != nil:
		return "", fmt.Errorf("check for damage: %w", err)
	case verdict != "ok":
		return "", fmt.Errorf("check for damage: %s", verdict)
	}
	return hash, nil
}
