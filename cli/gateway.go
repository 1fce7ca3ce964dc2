package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"picobot/cli/app"
	"picobot/internal/config"
	"picobot/internal/text"
)

func newGateway(sys System, g *globals) *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Run everything: gateway, channels, worker and the embedded Temporal",
		Long: `Run everything on this machine: the HTTP and WebSocket gateway, the channels, the
worker and, unless temporal.mode is "external", an embedded Temporal with its web UI.
One line per address is printed once it serves. Ctrl-C stops it.`,
		Example: `  picobot gateway
  picobot gateway --addr 127.0.0.1:0 --log-format json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o, err := g.prepare(sys)
			if err != nil {
				return err
			}
			if addr != "" {
				if o.Config, err = o.Config.WithGatewayAddr(addr); err != nil {
					return &usageError{err}
				}
			}
			log, closeLog, err := g.logger(sys, o, "")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closeLog()) }()
			o.Log = log
			o.Command = "gateway"
			ctx, stop := sys.untilSignal(cmd.Context())
			defer stop()
			err = sys.Runtime.Gateway(ctx, o, func(a app.Addresses) {
				sys.printAddresses(a)
				if o.Config.Offline() {
					o.Say(text.For(o.Config.Locale).Say(text.OfflineNotice{}))
				}
				if o.Config.Temporal.Mode == config.TemporalEmbedded {
					o.Say(text.For(o.Config.Locale).Say(text.UIPassword{File: o.Home.EngineKeyFile()}))
				}
			})
			if ctx.Err() != nil && errors.Is(err, context.Canceled) {
				return nil // asked to stop while it was starting
			}
			return err
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "", "listen on this `host:port` instead of gateway.addr")
	return cmd
}

// printAddresses prints one line per address.
func (s System) printAddresses(a app.Addresses) {
	for _, line := range []struct{ name, addr string }{{"gateway", a.Gateway}, {"temporal", a.Temporal}, {"ui", a.UI}} {
		if line.addr != "" {
			_, _ = fmt.Fprintf(s.Stdout, "%s %s\n", line.name, line.addr)
		}
	}
}
