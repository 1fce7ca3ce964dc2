package app

import (
	"context"
	"errors"
	"net"
	"time"

	"picobot/internal/live"
	"picobot/store"
)

// openRecord opens the record. Every change of a session wakes those who watch it, and
// onWrite, which may be nil, is told of each write, onJobs (likewise) of changes of jobs.
func openRecord(ctx context.Context, o Options, hub *live.Hub, onWrite func(time.Duration, int, error), onJobs func()) (*store.Store, error) {
	return store.Open(ctx, store.Options{
		Path:        o.Home.StorageDB(),
		Now:         o.Now,
		RetryDelays: o.Config.Session.StorageRetryDelays(),
		ExpireAfter: o.Config.Session.ExpireAfter(),
		OnChange:    hub.Wake,
		OnJobs:      onJobs,
		Scheduler:   scheduled(o),
		OnWrite:     onWrite,
		Logger:      o.Log,
	})
}

// token is what clients present: the configured one, else the home's own.
func (o Options) token() (string, error) {
	if t := o.Config.Gateway.Token.Reveal(); t != "" {
		return t, nil
	}
	t, err := o.Home.Token()
	o.Scrub.Add(t)
	return t, err
}

// ignoreClosed is for what its user may have closed already.
func ignoreClosed(shut func() error) func() error {
	return func() error {
		if err := shut(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}
