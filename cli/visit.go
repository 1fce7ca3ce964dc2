package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"picobot/cli/api"
	"picobot/cli/app"
	"picobot/internal/config"
	"picobot/internal/flow"
	"picobot/internal/home"
	"picobot/internal/text"
	"picobot/store"
)

// visit is a command's way to what a home holds: through its gateway where one runs,
// else through the record, for reading only. Neither makes anything.
type visit struct {
	sys    System
	home   home.Home
	config config.Config
	words  *text.Catalogue
	client *api.Client  // nil = no gateway runs
	reader *store.Store // nil = not opened yet
}

// visit finds a home and the gateway that runs in it, if any.
func (g *globals) visit(ctx context.Context, sys System) (*visit, error) {
	h, err := g.findHome(sys)
	if err != nil {
		return nil, err
	}
	cfg, err := g.loadClientConfig(sys, h)
	if err != nil {
		return nil, err
	}
	v := &visit{sys: sys, home: h, config: cfg, words: text.For(cfg.Locale)}
	v.client, err = api.Connect(ctx, api.Options{
		Home: h,
		Addr: cfg.Gateway.Addr,
		Token: func() (string, error) {
			if t := cfg.Gateway.Token.Reveal(); t != "" {
				return t, nil
			}
			return h.Token()
		},
		TemporalAway: func() { _, _ = fmt.Fprintln(sys.Stderr, v.words.Say(text.TemporalAway{})) },
	})
	if err != nil && !errors.Is(err, api.ErrNoGateway) {
		return nil, err
	}
	return v, nil
}

// gateway returns the running gateway, or fails with api.ErrNoGateway.
func (v *visit) gateway() (*api.Client, error) {
	if v.client == nil {
		return nil, api.ErrNoGateway
	}
	return v.client, nil
}

// record returns the record, for reading only.
func (v *visit) record(ctx context.Context) (*store.Store, error) {
	if v.reader != nil {
		return v.reader, nil
	}
	r, err := store.OpenReader(ctx, v.home.StorageDB(), v.sys.Now)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no record in %s yet: begin with `picobot agent`, or name another home with --home", v.home.Dir)
	}
	v.reader = r
	return r, err
}

// ui is where runs can be looked at. An embedded Temporal has a UI while it runs.
func (v *visit) ui() flow.UI {
	url := v.config.ExternalUI()
	if v.config.Temporal.Mode == config.TemporalEmbedded {
		if owner, alive, err := v.home.ReadOwner(); err == nil && alive {
			url = owner.UIURL
		}
	}
	return app.Options{Config: v.config, Now: v.sys.Now}.UI(url)
}

// visiting runs do with a visit that ends with it.
func (g *globals) visiting(ctx context.Context, sys System, do func(v *visit) error) error {
	v, err := g.visit(ctx, sys)
	if err != nil {
		return err
	}
	return errors.Join(do(v), v.close())
}

// asking runs a command that needs the running gateway.
func (g *globals) asking(ctx context.Context, sys System, ask func(c *api.Client, words *text.Catalogue) error) error {
	return g.visiting(ctx, sys, func(v *visit) error {
		c, err := v.gateway()
		if err != nil {
			return err
		}
		return ask(c, v.words)
	})
}

// looking runs a command that reads the record of a home.
func (g *globals) looking(cmd *cobra.Command, sys System, look func(v *visit, record *store.Store) error) error {
	return g.visiting(cmd.Context(), sys, func(v *visit) error {
		record, err := v.record(cmd.Context())
		if err != nil {
			return err
		}
		return look(v, record)
	})
}

// close gives back what was opened.
func (v *visit) close() error {
	if v.client != nil {
		v.client.Close()
	}
	if v.reader != nil {
		return v.reader.Close()
	}
	return nil
}
