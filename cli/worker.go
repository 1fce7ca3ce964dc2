package cli

import (
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"picobot/cli/app"
	"picobot/internal/config"
)

func newWorker(sys System, g *globals) *cobra.Command {
	var metricsAddr string
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run only a Temporal worker, for an external Temporal",
		Long: `Run only a Temporal worker, for an external Temporal (temporal.mode "external").
Any number of workers may run beside the gateway, on its machine and in its home.
What they do is in the gateway's /metrics; --metrics-addr has a worker show its own
process's too, and its /health, to whoever has the gateway's token.`,
		Example: `  picobot worker
  picobot --home /var/lib/picobot/home worker --log-level debug
  picobot worker --metrics-addr 127.0.0.1:19877`,
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
			if metricsAddr != "" {
				if _, _, err := net.SplitHostPort(metricsAddr); err != nil {
					return &usageError{fmt.Errorf("--metrics-addr: %q is no host:port, such as 127.0.0.1:19877", metricsAddr)}
				}
			}
			log, closeLog, err := g.logger(sys, o, "")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closeLog()) }()
			o.Log = log
			o.Command, o.MetricsAddr = "worker", metricsAddr
			ctx, stop := sys.untilSignal(cmd.Context())
			defer stop()
			return sys.Runtime.Worker(ctx, o, func(a app.Addresses) {
				_, _ = fmt.Fprintf(sys.Stdout, "worker of %s\n", a.Temporal)
				if a.Metrics != "" {
					_, _ = fmt.Fprintf(sys.Stdout, "metrics %s\n", a.Metrics)
				}
			})
		},
	}
	cmd.Flags().StringVar(&metricsAddr, "metrics-addr", "", "show /metrics and /health of this process at `host:port` (default: nowhere)")
	return cmd
}
