package app

import (
	"context"
	"log/slog"
	"time"

	"picobot/cli/logging"
	"picobot/internal/config"
	"picobot/internal/flow"
	"picobot/internal/home"
	"picobot/internal/text"
)

// Options are what a running PicoBot is made from.
type Options struct {
	Home    home.Home
	Config  config.Config
	Version string
	Build   string // tells one build from another, see Engine.BuildChanged
	// WorkDir is where this process runs, whose .picobot and .agents hold a project's
	// skills, and UserHome the directory whose .agents holds the user's; "" = none.
	WorkDir, UserHome string

	// MetricsAddr is where a worker of its own shows /metrics (host:port); "" = nowhere.
	MetricsAddr string

	Command string // who runs it, for the lock file: gateway, agent
	Now     func() time.Time
	Log     *slog.Logger
	// Env looks up a variable of the environment; nil = none is set.
	Env func(name string) (string, bool)
	// Scrub knows what must not be seen in a log or in Temporal. It learns the secrets
	// that come to light during the start.
	Scrub *logging.Scrubber
	// Say tells the person who started it something worth knowing.
	Say func(text string)
}

// Addresses are where a running PicoBot can be reached; empty = it has none.
type Addresses struct {
	Gateway  string // http://host:port
	Temporal string // host:port
	UI       string // http://host:port
	Metrics  string // http://host:port/metrics, of a worker of its own
}

// EngineOptions say how the embedded Temporal is to run.
type EngineOptions struct {
	Dir           string
	Addr, UIAddr  string // host:port
	AddrFixed     bool   // a taken port is an error; else it is replaced
	UIFixed       bool
	Key           string // asked of every client; "" = everyone is let in
	Namespace     string
	RetentionDays int
	Build         string
	Now           func() time.Time
	Log           *slog.Logger
}

// Engine is a running embedded Temporal (engine.Server).
type Engine interface {
	Address() string         // host:port
	UIURL() string           // http://host:port
	Notices() []text.Message // replaced ports, for a person
	// Fresh reports that it started without anything in its files, and why.
	Fresh() (fresh bool, reason string)
	// BuildChanged reports that another build left the files; AcceptBuild records
	// that nothing of it is left open.
	BuildChanged() bool
	AcceptBuild() error
	// Failed is closed when it cannot go on; Err then says why.
	Failed() <-chan struct{}
	Err() error
	Stop(ctx context.Context) error
}

// StartEngine starts the embedded Temporal. It is a dependency, not an import, so
// that everything but the binary itself builds without a Temporal server.
type StartEngine func(ctx context.Context, o EngineOptions) (Engine, error)

// words are the texts of the configured language.
func (o Options) words() *text.Catalogue { return text.For(o.Config.Locale) }

// UI is the Temporal UI at url, "" = there is none.
func (o Options) UI(url string) flow.UI {
	ui := flow.UI{URL: url, Namespace: o.Config.Temporal.Namespace, Now: o.Now}
	if o.Config.Temporal.Mode == config.TemporalEmbedded { // of another, retention is not ours to know
		ui.Keeps = o.Config.Temporal.Retention()
	}
	return ui
}
