package config

import (
	"slices"
	"strings"
)

// Absent returns an *Error that names the environment variables which Load for a
// client has done without, nil when there were none. Whoever needs more of the
// configuration than a client does must not go on with it.
func (c Config) Absent() error { return c.origin.absent }

// dispensable reports whether the value at path is nothing to a client: it needs to
// find the gateway, the workspace and the skills, to link to Temporal's UI, and to know
// its language.
func dispensable(path string) bool {
	return !slices.ContainsFunc([]string{
		"gateway", "locale", "skills", "temporal.mode", "temporal.namespace", "temporal.ui_addr", "workspace",
	}, func(needed string) bool {
		rest, found := strings.CutPrefix(path, needed)
		return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}
