package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"picobot/cli/app"
	"picobot/internal/config"
)

func newWorker(sys System, g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "worker",
		Short: "Run only a Temporal worker, for an external Temporal",
		Long: `Run only a Temporal worker, for an external Temporal (temporal.mode "external").
Any number of workers may run beside the gateway, on its machine and in its home.`,
		Example: `  picobot worker
  picobot --home /var/lib/picobot/home worker --log-level debug`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o, err := g.prepare(sys)
			if err != nil {
				return err
			}
			if o.Config.Temporal.Mode != config.TemporalExternal {
				return errors.New(`a worker of its own needs an external Temporal: set temporal.mode to "external", or run ` +
					"`picobot gateway`, which has its own worker")
			}
			log, closeLog, err := g.logger(sys, o, "")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closeLog()) }()
			o.Log = log
			o.Command = "worker"
			ctx, stop := sys.untilSignal(cmd.Context())
			defer stop()
			return sys.Runtime.Worker(ctx, o, func(a app.Addresses) {
				_, _ = fmt.Fprintf(sys.Stdout, "worker of %s\n", a.Temporal)
			})
		},
	}
}
