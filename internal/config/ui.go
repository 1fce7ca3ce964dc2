package config

import "strings"

// ExternalUI returns the address (http://host:port) of an external Temporal's web UI,
// "" where the file names none: whether there is one, and where, only people know.
func (c Config) ExternalUI() string {
	addr := c.Temporal.UIAddr
	switch {
	case c.Temporal.Mode != TemporalExternal || !c.Named("temporal.ui_addr"):
		return ""
	case strings.Contains(addr, "://"):
		return strings.TrimRight(addr, "/")
	default:
		return "http://" + addr
	}
}
