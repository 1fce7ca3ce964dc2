package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

const (
	firstWait = 500 * time.Millisecond
	// steady: a connection that lasted this long starts the waits anew.
	steady = time.Minute
	// readyWithin bounds how long a connection may take to be made.
	readyWithin = 30 * time.Second
)

func (b *backoff) next() time.Duration {
	b.now = min(max(2*b.now, firstWait), b.most)
	return b.now/2 + rand.N(b.now/2+1)
}

func (b *backoff) reset() { b.now = 0 }

// line makes one connection. A line that was connected once is used up, as the SDK has
// it; one that was not is tried again, because each leaves a goroutine of the SDK's
// behind for good (v3.11.0, cache.newCron).
type line struct {
	client *larkws.Client
	link   atomic.Pointer[link] // the present try
}

// newLine returns a line. The SDK would connect again by itself, but waits up to two
// minutes where Feishu says so, and takes a connection for good that is none.
func (c *Channel) newLine() *line {
	n := &line{}
	seen := func() { n.link.Load().seen(c.app.opts.Now()) }
	feishu := &websocket.Dialer{
		Proxy: http.ProxyFromEnvironment, HandshakeTimeout: readyWithin, TLSClientConfig: c.app.tls,
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{Timeout: readyWithin}).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return watched{Conn: conn, seen: seen}, nil
		},
	}
	between := &relay{channel: c, line: n, dialer: feishu}
	dialer := &websocket.Dialer{HandshakeTimeout: readyWithin, NetDialContext: between.dial("ws"), NetDialTLSContext: between.dial("wss")}
	o := c.app.opts
	n.client = larkws.NewClient(o.AppID, o.AppSecret,
		larkws.WithDomain(c.app.api.base),
		larkws.WithEventHandler(events),
		larkws.WithAutoReconnect(false),
		larkws.WithHttpClient(listening{c.app.api.http, n}),
		larkws.WithWebSocketDialer(dialer),
		larkws.WithLogger(sdkLogger{c.log}),
		larkws.WithLogLevel(larkcore.LogLevelWarn),
		larkws.WithOnReady(func() { close(n.link.Load().ready) }))
	return n
}

// link is one long connection, or the try to make it.
type link struct {
	ctx    context.Context //nolint:containedctx // of the connection's life, which calls of the SDK's do not carry
	cancel context.CancelFunc
	relays sync.WaitGroup
	ready  chan struct{}
	done   chan struct{}
	err    error // why it ended, once done is closed
	since  time.Time
	last   atomic.Int64 // ms, when something came in
	ping   atomic.Int64 // s, between two pings of ours
}

// connect tries to make a connection; its ready or its done is closed then.
func (c *Channel) connect(ctx context.Context, n *line) *link {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, channelKey{}, c))
	l := &link{ctx: ctx, cancel: cancel, ready: make(chan struct{}), done: make(chan struct{}), since: c.app.opts.Now()}
	l.ping.Store(120)
	l.seen(c.app.opts.Now())
	n.link.Store(l)
	go func() {
		defer close(l.done)
		l.err = n.client.Start(ctx)
		cancel()
		l.relays.Wait()
	}()
	return l
}

func (l *link) seen(now time.Time) { l.last.Store(now.UnixMilli()) }

// end closes the connection and waits until nothing of it is left.
func (l *link) end() {
	if l != nil {
		l.cancel()
		<-l.done
	}
}

func (l *link) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// watched tells when something comes in.
type watched struct {
	net.Conn
	seen func()
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.seen()
	}
	return n, err
}

// listening hears how often Feishu wants to be pinged: a silence longer than that is
// one that should not be.
type listening struct {
	*http.Client
	line *line
}

// Do implements larkcore.HttpClient.
func (h listening) Do(req *http.Request) (*http.Response, error) {
	resp, err := h.Client.Do(req)
	if err != nil {
		return nil, bare(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var told struct {
		Data struct {
			ClientConfig *struct{ PingInterval int64 }
		} `json:"data"`
	}
	if json.Unmarshal(body, &told) == nil && told.Data.ClientConfig != nil && told.Data.ClientConfig.PingInterval > 0 {
		h.line.link.Load().ping.Store(told.Data.ClientConfig.PingInterval)
	}
	return resp, nil
}

// stayConnected keeps one connection until ctx ends. One that is only suspected of
// hearing nothing stays until the next one is there.
func (c *Channel) stayConnected(ctx context.Context) {
	wait := newBackoff(c.app.opts.Timing.Reconnect)
	var now *link // the connection in use
	defer func() { now.end() }()
	spare := c.newLine()
	for ctx.Err() == nil {
		next := c.connect(ctx, spare)
		if err := next.awaitReady(ctx); err != nil {
			next.end()
			if ctx.Err() != nil {
				return
			}
			if errors.Is(err, errNotReady) { // stopped from here, which uses a line up
				spare = c.newLine()
			}
			if now == nil || now.ended() {
				c.failed("the long connection to feishu is not made", err)
			}
			if sleep(ctx, wait.next()) != nil {
				return
			}
			continue
		}
		now.end()
		now, spare = next, c.newLine()
		c.heard()
		c.is(OK)
		c.why.Store(nil)
		c.log.Info("connected to feishu", "bot", c.botID())
		why := c.watch(ctx, now)
		if ctx.Err() != nil {
			return
		}
		if c.app.opts.Now().Sub(now.since) > steady {
			wait.reset()
		}
		c.log.Warn("the long connection to feishu is made anew", "why", why)
		if why == whyStale {
			continue
		}
		now.end()
		c.is(Connecting)
		if sleep(ctx, wait.next()) != nil {
			return
		}
	}
}

var errNotReady = errors.New("it is not made in time")

func (l *link) awaitReady(ctx context.Context) error {
	timer := time.NewTimer(readyWithin)
	defer timer.Stop()
	select {
	case <-l.ready:
		return nil
	case <-l.done:
		if l.err == nil {
			return errNotReady
		}
		return l.err
	case <-timer.C:
		return errNotReady
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Why a connection is replaced.
const (
	whyStale  = "there was no event for long: it may have been forgotten"
	whySilent = "nothing came in, not even answers to pings"
)

// watch returns when the connection must be replaced, and says why.
func (c *Channel) watch(ctx context.Context, l *link) string {
	t := c.app.opts.Timing
	tick := time.NewTicker(max(10*time.Millisecond, min(t.Silence, t.Stale, 20*time.Second)/4))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-l.done:
			if l.err != nil {
				return redact(l.err.Error())
			}
			return "it ended"
		case <-tick.C:
		}
		now := c.app.opts.Now()
		switch {
		case now.Sub(time.UnixMilli(l.last.Load())) > time.Duration(l.ping.Load())*time.Second+t.Silence:
			return whySilent
		case now.Sub(time.UnixMilli(c.event.Load())) > t.Stale:
			return whyStale
		}
	}
}

// isSetup reports an error that waits for somebody to change something.
func isSetup(err error) bool {
	if _, ok := errors.AsType[*larkws.ClientError](err); ok {
		return true
	}
	return err != nil && classOf(err) == setup
}
