package app

import (
	"context"
	"errors"
	"net"
	"net/http"

	"picobot/cli/api"
	"picobot/internal/home"
	"picobot/internal/live"
	"picobot/internal/live/relay"
)

// newRelay takes what is of the moment here to the gateway that owns the home.
func newRelay(o Options, hub *live.Hub, open *closers) *relay.Relay {
	g := &gatewayBeside{home: o.Home, token: o.token}
	open.add("the way to the gateway", func() error { g.leave(); return nil })
	return relay.New(relay.Options{Hub: hub, Post: g.post, Logger: o.Log})
}

// gatewayBeside is the gateway of a home as a worker beside it sees it. Not safe for
// concurrent use.
type gatewayBeside struct {
	home  home.Home
	token func() (string, error)

	client *api.Client // nil = it is to be found first
}

var errNoGateway = errors.New("no gateway runs in this home")

// post hands news over. Whatever goes wrong, the gateway is looked for anew: another one
// may own the home by now, at another address. Where nobody has answered at all it is
// looked for at once, because then nothing can have got there.
func (g *gatewayBeside) post(ctx context.Context, news []live.News) error {
	err := g.try(ctx, news)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		err = g.try(ctx, news)
	}
	return err
}

func (g *gatewayBeside) try(ctx context.Context, news []live.News) error {
	if g.client == nil {
		if err := g.find(); err != nil {
			return err
		}
	}
	err := g.client.Post(ctx, api.Path("live"), nil, map[string][]live.News{"news": news}, nil)
	if err != nil {
		g.leave()
	}
	return err
}

// find finds the gateway by the home's lock file.
func (g *gatewayBeside) find() error {
	owner, alive, err := g.home.ReadOwner()
	if err != nil {
		return err
	}
	url := home.URL(owner.Address)
	if !alive || url == "" {
		return errNoGateway // or it does not serve yet
	}
	token, err := g.token()
	if err != nil {
		return err
	}
	g.client = api.New(url, token, &http.Client{Transport: &http.Transport{}}) // no proxy stands between the two
	return nil
}

func (g *gatewayBeside) leave() {
	if g.client != nil {
		g.client.Close()
		g.client = nil
	}
}
