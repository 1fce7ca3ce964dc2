package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"picobot/cli/backup"
	"picobot/internal/home"
)

func newBackup(sys System, g *globals) *cobra.Command {
	var asJSON, workspace, force bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the home into one file, also while it runs",
		Long: `Write the home into one file: the record as of one moment, config.json, AGENT.md,
skills, media, and the keys by which clients know this home. The file has secrets in it
and is readable for its owner only. Not in it: temporal/ (made anew from the record),
logs, and the workspace unless --workspace is given.`,
		Example: `  picobot backup picobot-$(date +%F).tar.gz
  picobot backup --workspace /backups/picobot.tar.gz --force`,
		Args: oneArg("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := g.findHome(sys)
			if err != nil {
				return err
			}
			note := func(text string) { _, _ = fmt.Fprintln(sys.Stderr, "note: "+text) }
			if err := g.outside(sys, h, workspace, note); err != nil {
				return err
			}
			r, err := backup.Write(cmd.Context(), backup.Options{
				Home: h, File: args[0], Workspace: workspace, Replace: force, Version: sys.Build.Version, Now: sys.Now(), Note: note,
			})
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(sys.Stdout, r)
			}
			_, err = fmt.Fprintf(sys.Stdout, "%s: %d sessions, %d messages, %d files, %s\n", r.File, r.Sessions, r.Messages, r.Files, megabytes(r.Bytes))
			return err
		},
	}
	cmd.Flags().BoolVar(&workspace, "workspace", false, "the workspace too")
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// outside tells what belongs to a home but is not in it, and so not in a backup.
func (g *globals) outside(sys System, h home.Home, workspace bool, note func(string)) error {
	cfg, err := g.loadClientConfig(sys, h)
	if err != nil {
		note("the configuration cannot be used as it is: `picobot config check` says why")
		return nil
	}
	if file := cfg.File(); file != "" && file != h.ConfigFile() {
		note("the configuration is " + file + ", outside of the home: keep a copy of it yourself")
	}
	if dir := cfg.Workspace; workspace && dir != "" && filepath.Clean(dir) != h.WorkspaceDir() {
		return usagef("the workspace is %s, outside of the home: leave out --workspace and back it up by other means", dir)
	}
	return nil
}

func newRestore(sys System, g *globals) *cobra.Command {
	var asJSON, force bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make the home what it was when a backup was written",
		Long: `Make the home what it was when ` + "`picobot backup`" + ` wrote FILE. The home must not be in
use. It changes in one step once all of the file has been read and found sound, or not
at all. A home that is there already is refused, or with --force kept beside the new
one. Messages that had no answer then are answered at the next start.`,
		Example: `  picobot restore picobot-2026-11-30.tar.gz
  picobot --home /var/lib/picobot/home restore --force picobot.tar.gz`,
		Args: oneArg("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := g.findHome(sys)
			if err != nil {
				return err
			}
			r, err := backup.Restore{Home: h, File: args[0], Replace: force, Now: sys.Now()}.Run(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(sys.Stdout, r)
			}
			_, _ = fmt.Fprintf(sys.Stdout, "%s: %d sessions, %d messages, %d files, as of %s\n", r.Home, r.Sessions, r.Messages, r.Files, moment(r.CreatedAt))
			if r.Waiting > 0 {
				_, _ = fmt.Fprintf(sys.Stdout, "%d messages wait for an answer: the next start answers them\n", r.Waiting)
			}
			if r.Kept != "" {
				_, _ = fmt.Fprintf(sys.Stdout, "what was there before is in %s\n", r.Kept)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace a home that is there, and keep it beside the new one")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }
