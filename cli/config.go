package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"picobot/cli/app"
	"picobot/internal/config"
)

func newConfig(sys System, g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Write, show or check the configuration", Example: `  picobot config init
  picobot config check`}
	group(cmd)
	cmd.AddCommand(newConfigInit(sys, g), newConfigShow(sys, g), newConfigCheck(sys, g))
	return cmd
}

func newConfigInit(sys System, g *globals) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented configuration to start from",
		Example: `  picobot config init
  picobot --config ./config.json config init`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			path := g.configFile
			if path == "" {
				h, err := g.findHome(sys)
				if err != nil {
					return err
				}
				path = h.ConfigFile()
			}
			err := writeNew(path, config.Starter(), force)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists already: edit it, or replace it with --force", path)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(sys.Stdout, path)
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	return cmd
}

func newConfigShow(sys System, g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Print the effective configuration as JSON, secrets masked",
		Example: `  picobot config show
  picobot --config ./config.json config show`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := g.load(sys)
			if err != nil {
				return err
			}
			text, err := cfg.Show()
			if err != nil {
				return err
			}
			_, err = sys.Stdout.Write(text)
			return err
		},
	}
}

func newConfigCheck(sys System, g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and list every problem with its JSON path",
		Example: `  picobot config check
  picobot --config ./config.json config check`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := g.load(sys)
			if err != nil {
				return err
			}
			// Only the adapters know what they take; nobody is talked to.
			models, err := app.NewCatalog(cfg)
			if err != nil {
				return err
			}
			models.Close()
			for _, w := range cfg.Warnings() {
				_, _ = fmt.Fprintf(sys.Stderr, "warning: %s\n", w)
			}
			// The gateway starts without them, which is not what somebody means who wrote them.
			if _, jobs := cfg.Jobs(sys.Now()); len(jobs) > 0 {
				return &config.Error{File: cfg.File(), Problems: jobs}
			}
			_, err = fmt.Fprintln(sys.Stdout, "ok")
			return err
		},
	}
}

// load reads the configuration without touching anything.
func (g *globals) load(sys System) (config.Config, error) {
	h, err := g.findHome(sys)
	if err != nil {
		return config.Config{}, err
	}
	return g.loadConfig(sys, h)
}
