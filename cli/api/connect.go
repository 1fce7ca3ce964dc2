package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"picobot/cli/connect"
	"picobot/internal/home"
)

// ErrNoGateway is when nothing runs that could be asked.
var ErrNoGateway = errors.New("no gateway runs: start it with `picobot gateway`")

// Options say which gateway is asked.
type Options struct {
	Home home.Home
	Addr string // the configured address, host:port
	// Token is what the gateway is to be presented; it is asked for once one was found.
	Token func() (string, error)
	// TemporalAway is told when the gateway cannot reach Temporal; nil = nobody.
	TemporalAway func()
}

// How long a gateway that owns the home may take to answer (it may just be starting
// or stopping), and the pause between two looks.
const (
	patience = 15 * time.Second
	poll     = 50 * time.Millisecond
)

// Connect finds the running gateway of a home. It fails with ErrNoGateway when there
// is none. Close the client after use.
func Connect(ctx context.Context, o Options) (*Client, error) {
	if o.TemporalAway == nil {
		o.TemporalAway = func() {}
	}
	hc := &http.Client{Transport: &http.Transport{}} // no proxy stands between a person and their own gateway
	finder := connect.New(connect.Options{
		Home:         o.Home,
		Addr:         o.Addr,
		Token:        o.Token,
		Start:        func(context.Context, func(string)) error { return ErrNoGateway },
		Started:      func(string) {},
		TemporalAway: o.TemporalAway,
		Patience:     patience,
		Poll:         poll,
		HTTP:         hc,
	})
	c, err := connected(ctx, o, finder, hc)
	if err != nil {
		hc.CloseIdleConnections()
	}
	return c, err
}

func connected(ctx context.Context, o Options, finder *connect.Finder, hc *http.Client) (*Client, error) {
	at, err := finder.Locate(ctx)
	if _, owned, ownerErr := o.Home.ReadOwner(); ownerErr == nil && !owned && ctx.Err() == nil {
		// What answers at the configured address may be another home's gateway.
		if err != nil || !ours(ctx, New(at.URL, at.Token, hc)) {
			return nil, ErrNoGateway
		}
	}
	if err != nil {
		return nil, err
	}
	return New(at.URL, at.Token, hc), nil
}

// ours reports whether a gateway takes the token.
func ours(ctx context.Context, c *Client) bool {
	status, _ := c.Do(ctx, http.MethodGet, "/api/v1/", nil, nil, nil) // there is nothing, but only who may come in is told so
	return status != http.StatusUnauthorized
}
