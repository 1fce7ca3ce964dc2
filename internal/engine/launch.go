package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/temporal"
)

// launchTries bounds how often other ports are tried.
const launchTries = 3

// running is a Temporal server that has been started.
type running struct {
	srv   temporal.Server
	log   *logState
	ports ports
}

// launch starts the server, again with other ports when one that was free a
// moment ago is not any more.
func launch(ctx context.Context, o Options, p *prepared) (*running, error) {
	secret, err := newInternalTLS()
	if err != nil {
		return nil, err
	}
	var lost error
	for range launchTries {
		at, err := choosePorts(ctx, o)
		if err != nil {
			return nil, err
		}
		r, err := launchOn(ctx, o, p, at, secret)
		if err == nil {
			return r, nil
		}
		if !lostPort(err) {
			return nil, err
		}
		lost = err
	}
	return nil, fmt.Errorf("the engine's ports were taken %d times in a row: %w", launchTries, lost)
}

func launchOn(ctx context.Context, o Options, p *prepared, at ports, secret *internalTLS) (*running, error) {
	defer at.release()
	r := &running{log: &logState{fail: newFailure()}, ports: at}
	options := []temporal.ServerOption{
		temporal.WithConfig(serverConfig(at, p.db, p.meta.ClusterID)),
		temporal.ForServices(allServices()),
		temporal.WithStaticHosts(staticHosts(at)),
		temporal.WithLogger(serverLog{out: o.Logger, state: r.log}),
		temporal.WithDynamicConfigClient(dynamicSettings(o.Stock)),
		temporal.WithTLSConfigFactory(secret),
		temporal.WithAuthorizer(authorization.NewDefaultAuthorizer()),
		temporal.WithClaimMapper(claimMapperOption(o.APIKey)),
	}
	at.release()
	started := make(chan error, 1)
	go r.start(options, started)

	var err error
	select {
	case err = <-started:
	case <-ctx.Done():
		// The server cannot be told to stop starting, but it must be gone before
		// its files are anybody else's.
		err = ctx.Err()
		select {
		case late := <-started:
			err = errors.Join(err, late)
		case <-time.After(stopPatience):
			return nil, fmt.Errorf("start the engine: %w", err)
		}
	}
	if err != nil {
		if r.srv != nil {
			_ = r.stop(context.WithoutCancel(ctx))
		}
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	return r, nil
}

// start reports on started. A fatal fault ends its goroutine half-way (see
// serverLog.Fatal), and then the fault is what it reports.
func (r *running) start(options []temporal.ServerOption, started chan<- error) {
	err := errors.New("temporal server: it ended without saying why")
	defer func() {
		// sync.OnceValue, in which the server opens its ports, makes a panic of
		// a goroutine's end.
		if p := recover(); p != nil {
			err = fmt.Errorf("temporal server: %v", p)
		}
		if fault := r.log.fail.get(); fault != nil {
			err = fault
		}
		started <- err
	}()
	srv, newErr := temporal.NewServer(options...)
	if newErr != nil {
		err = newErr
		return
	}
	r.srv = srv
	err = srv.Start()
}

// lostPort reports that the server found one of its ports taken.
func lostPort(err error) bool {
	var fatal *fatalError
	return errors.As(err, &fatal) && strings.Contains(fatal.cause, "address already in use")
}
