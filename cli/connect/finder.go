package connect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"picobot/cli/client"
	"picobot/internal/home"
)

// ErrYielded is what Options.Start returns when its gateway gave the home up because
// another one asked for it.
var ErrYielded = errors.New("another gateway has taken the home over")

// giveWay is for how long, after that, no gateway is started here: the other one is
// about to take the home.
const giveWay = 20 * time.Second

// Options say where to look.
type Options struct {
	Home  home.Home
	URL   string // the gateway to use and no other, http(s)://…; "" = look for one
	Addr  string // the configured address, host:port
	Token func() (string, error)
	// Start runs a gateway in this process until its context ends. It calls ready
	// with the gateway's address (http://host:port) once it serves.
	Start func(ctx context.Context, ready func(url string)) error
	// Started is told when Start's gateway serves.
	Started func(url string)
	// TemporalAway is told when the gateway that was found cannot reach Temporal: messages
	// are kept, and answers have to wait. It is told once.
	TemporalAway func()
	// Patience bounds how long a gateway may take to answer, its own start included.
	Patience time.Duration
	// Poll is the pause between two looks.
	Poll time.Duration
	HTTP *http.Client
}

// Finder finds a gateway, again and again: the one it found may go away. Not safe
// for concurrent use, except for Close and At.
type Finder struct {
	o     Options
	found bool // a gateway has been found before
	// waiting: the person knows that answers have to wait for Temporal.
	waiting bool

	mu  sync.Mutex
	own *own
	at  client.Endpoint // what Locate returned last
}

// own is a gateway that runs in this process.
type own struct {
	stop context.CancelFunc
	url  chan string   // receives the address once it serves
	done chan struct{} // closed when it has stopped
	err  error         // why it stopped, once done is closed
	end  time.Time     // when it stopped, once done is closed
}

// New returns a Finder.
func New(o Options) *Finder { return &Finder{o: o} }

// Locate returns a gateway that answers right now. It is a client.Options.Locate.
func (f *Finder) Locate(ctx context.Context) (client.Endpoint, error) {
	url, meant, err := f.locate(ctx)
	if err != nil {
		return client.Endpoint{}, err
	}
	token, err := f.o.Token()
	if err != nil {
		return client.Endpoint{}, err
	}
	f.found = true
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = client.Endpoint{URL: url, Token: token}
	if !meant {
		f.at.IfRefused = f.foreign(url)
	}
	return f.at, nil
}

// foreign is what is wrong with a gateway that answers at the configured address, does
// not own this home, and refuses its token.
func (f *Finder) foreign(url string) string {
	return fmt.Sprintf("the gateway at %s is another home's: give this home, %s, an address of its own with gateway.addr in its config.json, such as "+
		`{"gateway": {"addr": "127.0.0.1:19877"}}, or use the other home with --home`, url, f.o.Home.Dir)
}

// At returns the gateway that was found last, a zero Endpoint before one was. It is
// safe for concurrent use.
func (f *Finder) At() client.Endpoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

// locate also tells whether the gateway is known to be the one that was meant: that of
// this home, or the one that was named.
func (f *Finder) locate(ctx context.Context) (url string, meant bool, err error) {
	if f.o.URL != "" {
		url, err = f.named(ctx)
		return url, true, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.o.Patience, errPatience)
	defer cancel()
	for {
		owner, alive, err := f.o.Home.ReadOwner()
		if err != nil {
			return "", false, err
		}
		switch {
		case alive && owner.Address != "":
			// Whoever owns the home may just be stopping: then look again.
			if url := home.URL(owner.Address); f.answers(ctx, url) == nil {
				return url, true, nil
			}
		case alive: // it is starting
		default:
			if url := home.URL(f.o.Addr); url != "" && f.answers(ctx, url) == nil {
				return url, false, nil
			}
			if f.givesWay() {
				break
			}
			url, err := f.start(ctx)
			if err == nil {
				return url, true, nil
			}
			if _, held := errors.AsType[*home.HeldError](err); !held {
				return "", false, err
			} // somebody else was quicker: use theirs
		}
		select {
		case <-time.After(f.o.Poll):
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), errPatience) {
				return "", false, ctx.Err()
			}
			return "", false, fmt.Errorf("no gateway answers: %w", &home.HeldError{Dir: f.o.Home.Dir, Owner: owner})
		}
	}
}

var errPatience = errors.New("no gateway answered in time")

// named waits for the one gateway that may be used. The first time it has to be
// there; later it may be restarting.
func (f *Finder) named(ctx context.Context) (string, error) {
	deadline := time.Now()
	if f.found {
		deadline = deadline.Add(f.o.Patience)
	}
	for {
		err := f.answers(ctx, f.o.URL)
		if err == nil {
			return f.o.URL, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if !time.Now().Before(deadline) {
			return "", fmt.Errorf("no gateway answers at %s (%w): start it with `picobot gateway`, or leave out --gateway", f.o.URL, err)
		}
		select {
		case <-time.After(f.o.Poll):
		case <-ctx.Done():
		}
	}
}

// start runs a gateway in this process and returns its address.
func (f *Finder) start(ctx context.Context) (string, error) {
	f.mu.Lock()
	if f.own != nil {
		select {
		case <-f.own.done: // it ended; another one takes its place
		default:
			f.mu.Unlock()
			return "", errors.New("the gateway of this process runs but does not answer: stop this process and start it again")
		}
	}
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	g := &own{stop: stop, url: make(chan string, 1), done: make(chan struct{})}
	f.own = g
	f.mu.Unlock()
	go func() {
		defer close(g.done)
		g.err = f.o.Start(runCtx, func(url string) { g.url <- url })
		g.end = time.Now()
	}()
	select {
	case url := <-g.url:
		f.o.Started(url)
		return url, nil
	case <-g.done:
		f.forget() // its error is told here, not by Close
		if g.err == nil {
			return "", errors.New("the gateway of this process stopped before it served: see its log")
		}
		return "", g.err
	case <-ctx.Done():
		stop()
		<-g.done
		f.forget()
		if errors.Is(context.Cause(ctx), errPatience) {
			return "", fmt.Errorf("the gateway of this process did not start within %s: see its log", f.o.Patience)
		}
		return "", ctx.Err()
	}
}

// givesWay reports whether the gateway of this process has just made room for another.
func (f *Finder) givesWay() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
		return false
	}
	select {
	case <-f.own.done:
		return errors.Is(f.own.err, ErrYielded) && time.Since(f.own.end) < giveWay
	default:
		return false
	}
}

func (f *Finder) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.own = nil
}

// Close stops the gateway that runs in this process, if any, and waits for it.
func (f *Finder) Close() error {
	f.mu.Lock()
	g := f.own
	f.mu.Unlock()
	if g == nil {
		return nil
	}
	g.stop()
	<-g.done
	if errors.Is(g.err, ErrYielded) {
		return nil
	}
	return g.err
}
