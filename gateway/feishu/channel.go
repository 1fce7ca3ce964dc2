package feishu

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
)

// States of a Channel, as /health shows them.
const (
	Connecting = "connecting"
	OK         = "ok"
	Failing    = "error"
)

// Channel receives. Make it with App.Channel.
type Channel struct {
	app    *App
	ingest Ingest
	log    *slog.Logger
	shows  *shows // nil = nothing is shown while a turn runs

	state  atomic.Value           // string
	unwell atomic.Int64           // ms, since when it is not OK; 0 = it is
	bot    atomic.Value           // string, the bot's open_id
	event  atomic.Int64           // ms, the last event
	why    atomic.Pointer[string] // what was logged last of what is wrong; nil = nothing is
	taking sync.WaitGroup
}

// Channel returns what receives messages for the app, and gives them to ingest.
func (a *App) Channel(ingest Ingest) *Channel {
	c := &Channel{app: a, ingest: ingest, log: a.log}
	c.bot.Store("")
	c.is(Connecting)
	if a.opts.Hub != nil {
		c.shows = newShows(a)
	}
	return c
}

// Status says how the channel is: Connecting, OK or Failing. To be connecting for long
// is to fail: nobody who writes is heard.
func (c *Channel) Status() string {
	state, since := c.state.Load().(string), c.unwell.Load()
	if state == Connecting && since != 0 && c.app.opts.Now().Sub(time.UnixMilli(since)) > c.app.opts.Timing.Unwell {
		return Failing
	}
	return state
}

// is takes down how the channel is.
func (c *Channel) is(state string) {
	if state == OK {
		c.unwell.Store(0)
	} else {
		c.unwell.CompareAndSwap(0, c.app.opts.Now().UnixMilli())
	}
	c.state.Store(state)
}

func (c *Channel) botID() string { return c.bot.Load().(string) }

func (c *Channel) heard() { c.event.Store(c.app.opts.Now().UnixMilli()) }

// Run receives until ctx ends.
func (c *Channel) Run(ctx context.Context) error {
	defer c.taking.Wait()
	var background sync.WaitGroup
	defer background.Wait()
	if c.shows != nil {
		background.Go(func() { c.shows.run(ctx) })
	}
	if c.learnBot(ctx) {
		c.stayConnected(ctx)
	}
	return nil
}

// learnBot finds out who the bot is: without that nobody can tell who is mentioned.
// false = ctx has ended.
func (c *Channel) learnBot(ctx context.Context) bool {
	wait := newBackoff(c.app.opts.Timing.Reconnect)
	for {
		id, err := c.app.botOpenID(ctx)
		if err == nil {
			c.bot.Store(id)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		c.failed("feishu does not say who the bot is", err)
		if sleep(ctx, wait.next()) != nil {
			return false
		}
	}
}

// failed logs what keeps the channel from working, and shows it.
func (c *Channel) failed(what string, err error) {
	state := Connecting
	if isSetup(err) {
		state = Failing
	}
	c.is(state)
	why := what + ": " + redact(err.Error())
	if before := c.why.Swap(&why); before != nil && *before == why {
		return // it was said
	}
	c.log.Warn(what+": trying again", "error", redact(err.Error()))
}

func (a *App) botOpenID(ctx context.Context) (string, error) {
	var out struct {
		Bot struct {
			OpenID string `json:"open_id"`
		} `json:"bot"`
	}
	if err := a.api.call(ctx, http.MethodGet, "/open-apis/bot/v3/info", nil, nil, &out); err != nil {
		return "", err
	}
	if out.Bot.OpenID == "" {
		return "", &Error{Status: http.StatusOK, Code: 11205, Msg: "the app has no bot: add the bot ability"}
	}
	return out.Bot.OpenID, nil
}

type channelKey struct{}

// events hands the events of a connection to the channel that its context names. It
// is made before the program runs, because the SDK greets on standard output when it
// makes one (v3.11.0), and that belongs to answers.
var events = func() *dispatcher.EventDispatcher {
	stdout := os.Stdout
	os.Stdout = nil // writes to it fail, which the SDK's logger ignores
	defer func() { os.Stdout = stdout }()
	d := dispatcher.NewEventDispatcher("", "")
	d.OnP2MessageReceiveV1(func(ctx context.Context, e *larkim.P2MessageReceiveV1) error {
		c, ok := ctx.Value(channelKey{}).(*Channel)
		if !ok {
			return nil
		}
		return c.received(ctx, e)
	})
	return d
}()

// backoff waits longer each time, and never as long as another process that was cut
// off at the same moment.
type backoff struct{ most, now time.Duration }

func newBackoff(most time.Duration) *backoff { return &backoff{most: most} }
