package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"picobot/cli/api"
	"picobot/gateway"
	"picobot/internal/text"
	"picobot/store"
)

const (
	maintainPoll = 200 * time.Millisecond
	// maintainSilence is how long a run may take to begin until a person is told.
	maintainSilence = 10 * time.Second
)

func newMemoryMaintain(sys System, g *globals) *cobra.Command {
	var f memoryFlags
	return g.memoryCommand(sys, &f, &cobra.Command{
		Use:   "maintain",
		Short: "Tidy memories now: merge what says the same, drop what is outdated, renew AGENT.md",
		Long: `Tidy memories now, through the running gateway, of everybody whose memories have
changed. A model plans, and a plan that would lose something is refused. This waits for
the end; stopped with Ctrl-C, the run goes on.`,
		Example: `  picobot memory maintain
  picobot memory maintain --scope cli:CHAT --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.remembering(cmd, sys, &f, func(ctx context.Context, v *visit) error {
				c, err := v.gateway()
				if err != nil {
					return err
				}
				ctx, stop := sys.untilSignal(ctx)
				defer stop()
				run, err := maintain(ctx, sys, v.words, c, f.scope)
				if err != nil {
					return err
				}
				return printMaintenance(sys, v.words, run, f.json)
			})
		},
	}, "json")
}

// maintain starts a run and waits for its end.
func maintain(ctx context.Context, sys System, words *text.Catalogue, c *api.Client, scope string) (run gateway.MaintenanceItem, err error) {
	var started struct {
		ID string `json:"id"`
	}
	if err := c.Post(ctx, api.Path("memories", "maintain"), nil, map[string]string{"scope_key": scope}, &started); err != nil {
		return run, err
	}
	began, told := time.Now(), false
	for {
		err := c.Get(ctx, api.Path("memories", "maintenance", started.ID), nil, &run)
		refusal, refused := errors.AsType[*api.Error](err)
		switch {
		case refused && refusal.Status == http.StatusNotFound: // no worker has taken it yet
			if !told && time.Since(began) > maintainSilence {
				told = true
				_, _ = fmt.Fprintln(sys.Stderr, words.Say(text.WaitingForWorker{}))
			}
		case err != nil:
			return run, err
		case run.Status != store.MaintenanceRunning:
			return run, nil
		}
		select {
		case <-time.After(maintainPoll):
		case <-ctx.Done():
			return run, errors.New("stopped waiting; the run goes on")
		}
	}
}

func printMaintenance(sys System, words *text.Catalogue, run gateway.MaintenanceItem, asJSON bool) error {
	if asJSON {
		if err := printJSON(sys.Stdout, run); err != nil {
			return err
		}
	} else if run.Scopes == 0 && run.Status == store.MaintenanceCompleted {
		_, _ = fmt.Fprintln(sys.Stdout, words.Say(text.NothingToTidy{}))
	} else {
		_, _ = fmt.Fprintln(sys.Stdout, words.Say(text.Tidied{
			Scopes: run.Scopes, Changed: run.Changed, Merged: run.Merged, Deleted: run.Deleted, Conflicts: run.Conflicts,
		}))
	}
	if run.Status == store.MaintenanceFailed {
		return fmt.Errorf("memory maintenance has failed, and changed nothing where it did: %s", strings.ReplaceAll(run.Error, "\n", "; "))
	}
	return nil
}
