package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

func newTemporal(sys System, g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "temporal",
		Short: "Run only the embedded Temporal server and its web UI",
		Long: `Run only the embedded Temporal server and its web UI, in the foreground, on the ports
of temporal.address and temporal.ui_addr (7233 and 8233 by default). For development
against an external Temporal without installing one.`,
		Example: `  picobot temporal
  picobot --home /tmp/temporal temporal`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o, err := g.prepare(sys)
			if err != nil {
				return err
			}
			log, closeLog, err := g.logger(sys, o, "")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closeLog()) }()
			o.Log = log
			o.Command = "temporal"
			ctx, stop := sys.untilSignal(cmd.Context())
			defer stop()
			return sys.Runtime.Temporal(ctx, o, sys.printAddresses)
		},
	}
}
