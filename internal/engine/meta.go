package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
)

// meta is our record of who made the files. Temporal keeps none for SQLite and
// does not migrate: with files of another version it starts, and then schedules
// hang.
type meta struct {
	ServerVersion string `json:"server_version"`
	SchemaHash    string `json:"schema_hash"`
	ClusterID     string `json:"cluster_id"`
	// Build is the PicoBot build whose runs are in the files.
	Build     string `json:"build"`
	CreatedAt int64  `json:"created_at"`
}

// readMeta returns nil when there is no record.
func readMeta(path string) (*meta, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var m meta
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := uuid.Validate(m.ClusterID); err != nil {
		return nil, fmt.Errorf("read %s: cluster id: %w", path, err)
	}
	return &m, nil
}

// write puts the record in place whole, or not at all.
func (m meta) write(path string) (err error) {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	_, err = tmp.Write(append(data, '\n'))
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
