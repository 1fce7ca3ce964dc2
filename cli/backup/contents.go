package backup

import (
	"path"
	"strings"
)

const (
	// manifestName is the first entry of an archive.
	manifestName = "picobot-backup.json"
	// recordName is the second, and the only one that every archive has.
	recordName = "storage/sessions.db"
	// format is the version of all this. A reader refuses any other.
	format = 1
)

// Everything else that is in an archive: files, and directories with all that is below
// them. Left out are what is made anew (locks, logs, Temporal's files and its key), the
// copies that migrations keep, and the workspace unless it is asked for.
var (
	files = []string{"config.json", "gateway.token", "client.id", "history", "skill-state.json"}
	dirs  = []string{"agent", "skills", "media"}
)

// workspaceName is the directory that is in an archive only if somebody asked for it.
const workspaceName = "workspace"

// Bounds of an archive, far above those of any home.
const (
	maxManifest = 1 << 20
	maxName     = 4096 // bytes of a path
	maxFiles    = 4_000_000
)

// manifest says what an archive is.
type manifest struct {
	Format    int    `json:"format"`
	CreatedAt int64  `json:"created_at"` // ms
	Version   string `json:"version"`    // of the PicoBot that made it
	Schema    int64  `json:"schema"`     // of the record
	Workspace bool   `json:"workspace"`
	Files     int64  `json:"files"` // how many follow
	Bytes     int64  `json:"bytes"` // of all of them together
}

// belongs reports whether a home has a place for this path of an archive: relative,
// clean, with slashes, and below one of the names above.
func belongs(name string) bool {
	if name == "" || len(name) > maxName || name != path.Clean(name) || path.IsAbs(name) ||
		strings.ContainsAny(name, "\\\x00") || name == ".." || strings.HasPrefix(name, "../") {
		return false
	}
	if name == recordName {
		return true
	}
	for _, f := range files {
		if name == f {
			return true
		}
	}
	top, below, nested := strings.Cut(name, "/")
	for _, d := range append([]string{workspaceName}, dirs...) {
		if top == d {
			return nested && below != ""
		}
	}
	return false
}
