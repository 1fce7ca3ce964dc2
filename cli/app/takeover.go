package app

import (
	"context"
	"errors"
	"net/http"
	"time"

	"picobot/cli/api"
	"picobot/internal/home"
	"picobot/internal/text"
)

// ErrYielded ends a gateway inside another command that gave the home up to a gateway
// that was started to stay.
var ErrYielded = errors.New("a gateway of its own has taken the home over")

// Who may own a home for a while, and who takes it over.
const (
	commandAgent   = "agent"
	commandGateway = "gateway"
)

const (
	yieldTimeout  = 5 * time.Second  // for the answer of a gateway that is asked for the home
	yieldPatience = 20 * time.Second // for its end; it promises 10 s
	yieldPoll     = 50 * time.Millisecond
)

// takeHome makes this process the owner of the home. A gateway that was started to
// stay gets it from one that only lives inside an `agent`, which connects to this one.
// One that does not answer is just beginning or ending, and is asked again. It fails
// with a home.HeldError, or with ctx's error when ctx ends first.
func takeHome(parent context.Context, o Options, owner home.Owner) (*home.Lock, error) {
	ctx, cancel := context.WithTimeout(parent, yieldPatience)
	defer cancel()
	granted := false
	for {
		lock, err := o.Home.Lock(owner)
		held, ok := errors.AsType[*home.HeldError](err)
		if !ok || o.Command != commandGateway {
			return lock, err
		}
		if leaves := held.Owner.Command == commandAgent || granted && held.Owner.PID == 0; !leaves {
			return nil, err
		}
		if !granted && held.Owner.Address != "" {
			answer := askForHome(ctx, o, held.Owner.Address)
			if _, refused := errors.AsType[*api.Error](answer); refused {
				o.Log.Warn("the gateway inside an agent does not give the home up", "error", answer)
				return nil, err
			}
			if granted = answer == nil; granted {
				o.Say(o.words().Say(text.TakingOver{PID: held.Owner.PID}))
			} else {
				o.Log.Debug("the gateway inside an agent does not answer", "error", answer)
			}
		}
		select {
		case <-time.After(yieldPoll):
		case <-ctx.Done():
			if stopped := parent.Err(); stopped != nil {
				return nil, stopped
			}
			return nil, err
		}
	}
}

// askForHome asks the gateway at addr (host:port) to give the home up.
func askForHome(ctx context.Context, o Options, addr string) error {
	token, err := o.token()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, yieldTimeout)
	defer cancel()
	c := api.New(home.URL(addr), token, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
	return c.Post(ctx, api.Path("yield"), nil, nil, nil)
}
