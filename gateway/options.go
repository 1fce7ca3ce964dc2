package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"picobot/internal/flow"
	"picobot/internal/live"
	"picobot/internal/metrics"
	"picobot/internal/schedule"
	"picobot/internal/skills"
	"picobot/internal/tracing"
	"picobot/store"
)

// Options configure a Server.
type Options struct {
	// Addr is where to listen (host:port). It is not replaced when it is taken.
	Addr string
	// Listener is listened on instead, if set; the server closes it.
	Listener net.Listener
	// Names are host names of the gateway besides its addresses.
	Names []string
	// Token is what clients present. TokenGenerated says that nobody chose it:
	// then only loopback addresses are listened on.
	Token          string
	TokenGenerated bool
	// AllowedOrigins are browser origins (scheme://host[:port]) besides the gateway's own.
	AllowedOrigins  []string
	MaxMessageBytes int64 // 0 = 8 MiB
	MaxConnections  int   // WebSockets at once; 0 = 1024
	LargeBytes      int64 // of large frames in memory at once; 0 = 32 MiB
	MaxStrangers    int   // connections at once that have shown no token or ask for nothing; 0 = 512
	Version         string
	// Locale is the language for clients that name none; "" = English.
	Locale string
	// Zone is that of times told to people; nil = the machine's.
	Zone *time.Location
	// Workspace is where attachments named by path must be, MediaDir where all are kept.
	Workspace string
	MediaDir  string
	// UI is where Temporal shows runs, for links.
	UI flow.UI
	// Agents are the names a client may ask for; none = any.
	Agents []string
	// CompactionKeepTurns is how many of the newest user turns /compact leaves as they are; 0 = 3.
	CompactionKeepTurns int
	// WatchRecord: other processes write to the record too, so look for their changes.
	WatchRecord bool
	// ActiveWithin: a session with activity in this time counts as active; 0 = 24 h.
	ActiveWithin time.Duration
	Timing       Timing
}

// Timing bounds how long things take. Zero fields get the defaults.
type Timing struct {
	Hello   time.Duration // until a new peer must have said hello: 10 s
	Ping    time.Duration // between pings: 20 s
	Silence time.Duration // after which a peer is dropped: 60 s
	Write   time.Duration // for one frame, a large one more, else the reader is too slow: 10 s
	Record  time.Duration // for one write to the record, retries included: 15 s
	Close   time.Duration // for a peer's answer to a close: 1 s
	Drain   time.Duration // for requests and sockets when the server stops: 3 s
	Retry   time.Duration // before the record is read again after an error: 1 s
	Poll    time.Duration // between looks for changes of other processes, whose news may not get here: 50 ms
	Text    time.Duration // between two pieces of a streamed text, which is joined meanwhile: 25 ms
	Health  time.Duration // for which an answer of /health is good, a bad one for a twentieth: 1 s
}

func (o Options) withDefaults() Options {
	if o.MaxMessageBytes <= 0 {
		o.MaxMessageBytes = 8 << 20
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = 1024
	}
	if o.LargeBytes <= 0 {
		o.LargeBytes = 32 << 20
	}
	if o.MaxStrangers <= 0 {
		o.MaxStrangers = 512
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.CompactionKeepTurns <= 0 {
		o.CompactionKeepTurns = 3
	}
	if o.ActiveWithin <= 0 {
		o.ActiveWithin = 24 * time.Hour
	}
	for d, def := range map[*time.Duration]time.Duration{
		&o.Timing.Hello: 10 * time.Second, &o.Timing.Ping: 20 * time.Second, &o.Timing.Silence: 60 * time.Second,
		&o.Timing.Write: 10 * time.Second, &o.Timing.Record: 15 * time.Second, &o.Timing.Close: time.Second,
		&o.Timing.Drain: 3 * time.Second, &o.Timing.Retry: time.Second, &o.Timing.Poll: 50 * time.Millisecond,
		&o.Timing.Text: 25 * time.Millisecond, &o.Timing.Health: time.Second,
	} {
		if *d <= 0 {
			*d = def
		}
	}
	return o
}

// Dispatcher gets what is in the record worked on. Its methods never block.
type Dispatcher interface {
	// Nudge says that a session has something waiting.
	Nudge(sessionID string)
	// CancelTurn says that a running turn is to stop.
	CancelTurn(sessionID, turnID string)
	// Compact says that a session is to be compacted.
	Compact(sessionID string)
}

// Model is what answers in a session.
type Model struct {
	Name    string
	Offline bool // the built-in model that only echoes
}

// Deps are what the server works with.
type Deps struct {
	Record     *store.Store
	Hub        *live.Hub // woken by the record's OnChange
	Dispatcher Dispatcher
	// Maintain starts memory maintenance of a scope, or of all (""), and returns the run's
	// id; nil = it is turned off.
	Maintain func(ctx context.Context, scope string) (run string, err error)
	// Health says how the parts are that the gateway cannot see itself.
	Health func(ctx context.Context) Health
	// Model says which model an agent uses.
	Model func(agent string) Model
	// Summarize says what a tool call does in one line, without secrets.
	Summarize func(name, arguments string) string
	// KnowsTool says which names of tools may be told apart in metrics; nil = none.
	KnowsTool func(name string) bool
	// Skills are shown at /api/v1/skills; nil = they are switched off.
	Skills *skills.Library
	// JobRules are what a job is checked against; nil = its form only.
	JobRules func() schedule.Rules
	// Metrics are shown at /metrics; nil = metrics of its own.
	Metrics *metrics.Metrics
	// Yield has this gateway give up the home, once it is asked to; nil = it stays.
	Yield func()
	// Traces are told of messages; nil = nobody is.
	Traces *tracing.Tracing
	Now    func() time.Time
	Logger *slog.Logger
}

func (d Deps) withDefaults() (Deps, error) {
	if d.Record == nil || d.Hub == nil || d.Dispatcher == nil {
		return d, errors.New("gateway: Record, Hub and Dispatcher are needed")
	}
	if d.Health == nil {
		d.Health = func(context.Context) Health { return Health{} }
	}
	if d.Model == nil {
		d.Model = func(string) Model { return Model{} }
	}
	if d.Summarize == nil {
		d.Summarize = func(name, _ string) string { return name }
	}
	if d.KnowsTool == nil {
		d.KnowsTool = func(string) bool { return false }
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.JobRules == nil {
		d.JobRules = func() schedule.Rules { return schedule.Rules{Now: d.Now(), Zone: "UTC"} }
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Metrics == nil {
		d.Metrics = metrics.New(metrics.Options{Logger: d.Logger})
	}
	return d, nil
}
