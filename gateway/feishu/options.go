package feishu

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"time"

	"picobot/internal/chat"
	"picobot/internal/live"
	"picobot/internal/text"
	"picobot/store"
)

// Options say what an App is and works with.
type Options struct {
	AppID, AppSecret string
	Domain           string   // "feishu", "lark" or a base URL
	AllowFrom        []string // open_ids; none = nobody, "*" = everyone
	RequireMention   bool     // in groups
	Agent            string   // "" = the default one
	ReplyInThread    bool

	Record *store.Store
	Hub    *live.Hub // nil = nothing is shown while a turn runs
	Texts  *text.Catalogue
	// KeepImage keeps an image where models are shown it from. bad says that it is none.
	KeepImage func(data []byte, name string) (ref chat.MediaRef, bad, err error)
	// KeepFile keeps a file where tools can read it and returns its path for the model.
	KeepFile func(messageID, name string, r io.Reader) (path string, err error)
	// Summarize says what a tool call does in one line, without secrets.
	Summarize func(name, arguments string) string
	Now       func() time.Time
	Logger    *slog.Logger
	Timing    Timing
}

// Ingest takes a message for good: see gateway.Server.Ingest.
type Ingest func(ctx context.Context, m store.Inbound) (store.Accepted, error)

// Timing bounds how long things take. Zero fields get the defaults.
type Timing struct {
	Ack       time.Duration // for one event, answered either way: 2.5 s of Feishu's 3
	TooOld    time.Duration // events older than this are not answered: 24 h
	Unknown   time.Duration // in which a uuid surely still counts: 50 min
	GiveUp    time.Duration // in which it is asked whether something was sent, where nobody answers that: 24 h
	Silence   time.Duration // beyond a ping interval, after which a connection counts as dead: 30 s
	Stale     time.Duration // without any event, after which a connection is replaced: 30 min
	Reconnect time.Duration // the longest wait between two tries to connect: 60 s
	Unwell    time.Duration // without a connection, after which that is an error: 2 min
	Card      time.Duration // a turn that takes longer is shown: 4 s
	Patch     time.Duration // between two changes of a card: 1.5 s
	Spacing   time.Duration // between two messages to one chat: 220 ms
}

func (t Timing) withDefaults() Timing {
	for d, def := range map[*time.Duration]time.Duration{
		&t.Ack: 2500 * time.Millisecond, &t.TooOld: 24 * time.Hour, &t.Unknown: 50 * time.Minute, &t.Silence: 30 * time.Second, &t.Stale: 30 * time.Minute,
		&t.Reconnect: time.Minute, &t.Unwell: 2 * time.Minute, &t.GiveUp: 24 * time.Hour, &t.Card: 4 * time.Second, &t.Patch: 1500 * time.Millisecond, &t.Spacing: 220 * time.Millisecond,
	} {
		if *d <= 0 {
			*d = def
		}
	}
	return t
}

// App is the Feishu app: what is sent goes through it, and what is received, once
// it runs as a Channel. Safe for concurrent use.
type App struct {
	opts  Options
	api   *api
	log   *slog.Logger
	pace  *pacer
	locks *locks
	tls   *tls.Config // nil = the machine's authorities are believed
}

// New returns an app; nothing is asked of Feishu yet.
func New(o Options) *App {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Texts == nil {
		o.Texts = text.For("")
	}
	if o.Summarize == nil {
		o.Summarize = func(name, _ string) string { return name }
	}
	o.Timing = o.Timing.withDefaults()
	return &App{opts: o, api: newAPI(o), log: o.Logger, pace: newPacer(o.Now, o.Timing.Spacing), locks: newLocks()}
}
