package home

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	dirPerm  = 0o700
	filePerm = 0o600
)

// Home is one home directory. The zero value is not usable; call Open or At.
type Home struct {
	// Dir is the absolute path of the directory.
	Dir string
}

// At names a home without making it, for commands that only read.
func At(dir string) (Home, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, fmt.Errorf("find home %s: %w", dir, err)
	}
	if info, err := os.Stat(abs); err == nil && !info.IsDir() {
		return Home{}, fmt.Errorf("%s is not a directory: name another home with --home or $PICOBOT_HOME", abs)
	}
	return Home{Dir: abs}, nil
}

// Open makes the directory and those below it where they are missing (0700).
// Directories that are there keep their permissions.
func Open(dir string) (Home, error) {
	h, err := At(dir)
	if err != nil {
		return Home{}, err
	}
	for _, d := range h.dirs() {
		if err := os.MkdirAll(d, dirPerm); err != nil {
			return Home{}, fmt.Errorf("make home directory %s, choose another with --home if this one is not yours to write: %w", d, err)
		}
	}
	return h, nil
}

func (h Home) dirs() []string {
	return []string{
		h.Dir, h.AgentDir(), h.StorageDir(), h.TemporalDir(), h.SkillsDir(),
		h.MediaDir(), h.WorkspaceDir(), h.LogsDir(),
	}
}

func (h Home) path(elem ...string) string {
	return filepath.Join(append([]string{h.Dir}, elem...)...)
}

// ConfigFile is where the configuration is looked for first.
func (h Home) ConfigFile() string { return h.path("config.json") }

// AgentDir holds the agent's standing instructions.
func (h Home) AgentDir() string { return h.path("agent") }

// AgentFile is the agent's standing instructions.
func (h Home) AgentFile() string { return h.path("agent", "AGENT.md") }

// StorageDir holds the record and the copies kept by migrations.
func (h Home) StorageDir() string { return h.path("storage") }

// StorageDB is the record.
func (h Home) StorageDB() string { return h.path("storage", "sessions.db") }

// TemporalDir holds the embedded engine's files. Deleting it loses nothing that
// a user cares about.
func (h Home) TemporalDir() string { return h.path("temporal") }

// SkillsDir holds the user's skills.
func (h Home) SkillsDir() string { return h.path("skills") }

// SkillStateFile says which skills are switched off.
func (h Home) SkillStateFile() string { return h.path("skill-state.json") }

// MediaDir holds received images and files.
func (h Home) MediaDir() string { return h.path("media") }

// WorkspaceDir is the root of the file tools where the config names no other.
func (h Home) WorkspaceDir() string { return h.path("workspace") }

// LogsDir holds log files.
func (h Home) LogsDir() string { return h.path("logs") }

// TokenFile holds the generated gateway token.
func (h Home) TokenFile() string { return h.path("gateway.token") }

// EngineKeyFile holds the key that the embedded engine asks of its clients.
func (h Home) EngineKeyFile() string { return h.path("temporal.key") }

// ClientIDFile holds this installation's client id.
func (h Home) ClientIDFile() string { return h.path("client.id") }

// LockFile is held by the process that owns the home, and names it.
func (h Home) LockFile() string { return h.path("gateway.lock") }

// secretsLockFile serialises the making of secrets between processes.
func (h Home) secretsLockFile() string { return h.path("secrets.lock") }
