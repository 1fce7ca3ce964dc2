package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/server/common/headers"
)

// checkPatience bounds the search for damage at each start.
const checkPatience = 500 * time.Millisecond

// prepared is a set of files that fits this build.
type prepared struct {
	meta  meta
	db    stores
	fresh bool
	// why says why the files are fresh.
	why string
}

// prepare keeps the files that are there if they fit, or makes new ones.
func prepare(ctx context.Context, o Options, f files) (*prepared, error) {
	builtin, err := builtinSchemaHash(ctx)
	if err != nil {
		return nil, err
	}
	there, err := f.present()
	if err != nil {
		return nil, err
	}
	p := &prepared{db: newStores(f, o.Stock)}
	if len(there) > 0 {
		kept, why := fits(ctx, f, builtin)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if kept != nil {
			p.meta = *kept
			return p, ensureNamespace(ctx, p.db, o)
		}
		aside, err := f.setAside(o.Now())
		if err != nil {
			return nil, err
		}
		p.why = fmt.Sprintf("%s; the old files are in %s", why, filepath.Base(aside))
	} else {
		p.why = "there were no engine files"
	}

	p.fresh = true
	p.meta = meta{
		ServerVersion: headers.ServerVersion,
		SchemaHash:    builtin,
		ClusterID:     uuid.NewString(),
		Build:         o.Build,
		CreatedAt:     o.Now().UnixMilli(),
	}
	if err := createPrivate(f.databases()); err != nil {
		return nil, err
	}
	if err := p.db.createSchema(); err != nil {
		return nil, err
	}
	if err := ensureNamespace(ctx, p.db, o); err != nil {
		return nil, err
	}
	// Last: files without a record are not trusted, so a start that was cut
	// short leaves nothing that a later one would build on.
	return p, p.meta.write(f.meta())
}

// fits returns the record of the files, or why they cannot be used.
func fits(ctx context.Context, f files, builtin string) (*meta, string) {
	m, err := readMeta(f.meta())
	if err != nil {
		return nil, err.Error()
	}
	if m == nil {
		return nil, "the engine files have no record of their version"
	}
	if m.ServerVersion != headers.ServerVersion {
		return nil, fmt.Sprintf("Temporal server %s made the engine files and this is %s", m.ServerVersion, headers.ServerVersion)
	}
	if m.SchemaHash != builtin {
		return nil, "another schema of the same Temporal server made the engine files"
	}
	for _, path := range f.databases() {
		hash, err := inspect(ctx, path, checkPatience)
		if err != nil {
			return nil, fmt.Sprintf("%s cannot be used: %v", filepath.Base(path), err)
		}
		if hash != builtin {
			return nil, fmt.Sprintf("%s has another schema than this build", filepath.Base(path))
		}
	}
	return m, ""
}

// createPrivate makes empty files that only this user can read; SQLite takes
// the permissions of what it keeps beside them from these.
func createPrivate(paths []string) error {
	for _, path := range paths {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil {
			err = errors.Join(file.Chmod(0o600), file.Close())
		}
		if err != nil {
			return fmt.Errorf("make the engine's files: %w", err)
		}
	}
	return nil
}
