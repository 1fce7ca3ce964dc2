package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"picobot/cli/terminal"
	"picobot/internal/skills"
	"picobot/internal/text"
)

// checked is what skills check says of one folder.
type checked struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Status  string `json:"status"` // ok, note or skipped
	Message string `json:"message,omitempty"`
}

func newSkillsCheck(sys System, g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check [DIR]",
		Example: `  picobot skills check
  picobot skills check ./.picobot/skills/pdf-forms`,
		Short: "Check skills and say what is wrong with each folder",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		Long: `Check skills and say what is wrong with each folder: those of the home and of the
directory this is called in, or those in DIR, or the one in DIR. Ends with 1 when one
would be skipped.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes one directory, but got %q too: see `%s --help`", cmd.CommandPath(), args[1], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, problems, words, err := g.checkSkills(cmd.Context(), sys, args)
			if err != nil {
				return err
			}
			all, bad := []checked{}, false
			for _, p := range problems {
				c := checked{p.Name, p.Path, "skipped", p.Message}
				if p.Note {
					c.Status = "note"
				}
				bad = bad || !p.Note
				all = append(all, c)
			}
			for _, k := range found {
				all = append(all, checked{Name: k.Name, Path: k.Path, Status: "ok"})
			}
			if asJSON {
				if err := printJSON(sys.Stdout, all); err != nil {
					return err
				}
			} else if err := printChecked(sys, words, all); err != nil {
				return err
			}
			if bad {
				return errSilent
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func printChecked(sys System, words *text.Catalogue, all []checked) error {
	for _, c := range all {
		line := fmt.Sprintf("%-7s  %s (%s)", c.Status, c.Name, terminal.Clean(c.Path))
		if c.Message != "" {
			line += ": " + c.Message
		}
		if _, err := fmt.Fprintln(sys.Stdout, line); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		_, _ = fmt.Fprintln(sys.Stderr, words.Say(text.NoSkillsToCheck{}))
	}
	return nil
}

// checkSkills looks at files, also where a gateway runs: it is for whoever writes them.
func (g *globals) checkSkills(ctx context.Context, sys System, args []string) (found []skills.Skill, problems []skills.Problem, words *text.Catalogue, err error) {
	h, err := g.findHome(sys)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(args) == 1 {
		found, problems, err = skills.Check(args[0], sys.Now())
		return found, problems, g.words(sys, h), err
	}
	cfg, err := g.loadClientConfig(sys, h)
	if err != nil {
		return nil, nil, nil, err
	}
	library := skillFiles(sys, h, cfg)
	if library == nil {
		return nil, nil, nil, errSkillsOff
	}
	snap := library.Snapshot(ctx)
	return snap.Skills(), snap.Problems(), text.For(cfg.Locale), nil
}
