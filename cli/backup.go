package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"picobot/cli/backup"
	"picobot/internal/home"
	"picobot/internal/text"
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
  picobot backup --workspace --force picobot.tar.gz`,
		Args: oneArg("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := g.findHome(sys)
			if err != nil {
				return err
			}
			words := g.words(sys, h)
			note := func(note string) { _, _ = fmt.Fprintln(sys.Stderr, words.Say(text.BackupNote{Note: note})) }
			if err := g.outside(sys, h, workspace, func(m text.Message) { note(words.Say(m)) }); err != nil {
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
			_, err = fmt.Fprintln(sys.Stdout, words.Say(text.BackupWritten{
				File: r.File, Sessions: int(r.Sessions), Messages: int(r.Messages), Files: int(r.Files), Size: size(r.Bytes),
			}))
			return err
		},
	}
	cmd.Flags().BoolVar(&workspace, "workspace", false, "the workspace too")
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// outside tells what belongs to a home but is not in it, and so not in a backup.
func (g *globals) outside(sys System, h home.Home, workspace bool, note func(text.Message)) error {
	cfg, err := g.loadClientConfig(sys, h)
	if err != nil {
		note(text.BackupConfigBroken{})
		return nil
	}
	if file := cfg.File(); file != "" && file != h.ConfigFile() {
		note(text.BackupConfigOutside{File: file})
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
		Example: `  picobot --home ~/elsewhere restore picobot.tar.gz
  picobot restore --force picobot.tar.gz`,
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
			lines := []text.Message{text.Restored{
				Home: r.Home, Sessions: int(r.Sessions), Messages: int(r.Messages), Files: int(r.Files), When: moment(r.CreatedAt),
			}}
			if r.Waiting > 0 {
				lines = append(lines, text.RestoredWaiting{Messages: int(r.Waiting)})
			}
			if r.Kept != "" {
				lines = append(lines, text.RestoredKept{Dir: r.Kept})
			}
			words := g.words(sys, h) // of the home as it is now
			for _, line := range lines {
				_, _ = fmt.Fprintln(sys.Stdout, words.Say(line))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace a home that is there, and keep it beside the new one")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// size shows a number of bytes.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
