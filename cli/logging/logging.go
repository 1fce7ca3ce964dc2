package logging

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Formats of log lines.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// Options say how to log.
type Options struct {
	Level  string // debug, info, warn or error
	Format string // FormatText or FormatJSON
}

// New returns a logger that writes to w what the scrubber lets through. It fails
// when an option has no known value.
func New(w io.Writer, o Options, s *Scrubber) (*slog.Logger, error) {
	level, err := parseLevel(o.Level)
	if err != nil {
		return nil, err
	}
	ho := &slog.HandlerOptions{Level: level, ReplaceAttr: renamed}
	// The scrubber works on whole lines, as handlers write them: nothing that a
	// handler does to a value can get round it.
	out := s.Writer(w)
	switch o.Format {
	case FormatText:
		return slog.New(slog.NewTextHandler(out, ho)), nil
	case FormatJSON:
		return slog.New(slog.NewJSONHandler(out, ho)), nil
	default:
		return nil, fmt.Errorf("log format %q is unknown: use text or json", o.Format)
	}
}

func parseLevel(name string) (slog.Level, error) {
	switch strings.ToLower(name) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	default:
		return 0, fmt.Errorf("log level %q is unknown: use debug, info, warn or error", name)
	}
}
