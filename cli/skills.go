package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"picobot/cli/api"
	"picobot/cli/app"
	"picobot/cli/terminal"
	"picobot/internal/config"
	"picobot/internal/home"
	"picobot/internal/skills"
	"picobot/internal/text"
)

func newSkills(sys System, g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "skills",
		Example: `  picobot skills list
  picobot skills check ./.picobot/skills`,
		Short: "Show and check skills, and switch them on and off",
		Long: `Show and check skills, and switch them on and off: those of the running gateway, else
those of the home and of the directory this is called in.`,
	}
	group(cmd)
	cmd.AddCommand(newSkillsList(sys, g), newSkillsShow(sys, g), newSkillsCheck(sys, g), newSkillsSwitch(sys, g, "disable"), newSkillsSwitch(sys, g, "enable"))
	return cmd
}

// skillsAt is a way to skills: through the gateway that uses them, or to their files.
type skillsAt struct {
	words   *text.Catalogue
	client  *api.Client     // nil = no gateway runs
	library *skills.Library // nil = they are switched off
}

// withSkills calls do with the way to a home's skills.
func (g *globals) withSkills(ctx context.Context, sys System, do func(skillsAt) error) error {
	return g.visiting(ctx, sys, func(v *visit) error {
		s := skillsAt{words: v.words, client: v.client}
		if s.client == nil {
			s.library = skillFiles(sys, v.home, v.config)
		}
		return do(s)
	})
}

// skillFiles are the skills of a home and of the directory this is called in; nil =
// they are switched off.
func skillFiles(sys System, h home.Home, cfg config.Config) *skills.Library {
	return app.Skills(app.Options{
		Home: h, Config: cfg, WorkDir: sys.workDir(), UserHome: sys.getenv("HOME"), Now: sys.Now, Log: slog.New(slog.DiscardHandler),
	}, nil)
}

var errSkillsOff = errors.New("skills are switched off by skills.enabled")

func (s skillsAt) list(ctx context.Context) (l skills.Listing, err error) {
	switch {
	case s.client != nil:
		err = s.client.Get(ctx, api.Path("skills"), nil, &l)
	case s.library != nil:
		l = s.library.Snapshot(ctx).Listing()
	default:
		err = errSkillsOff
	}
	return l, err
}

func (s skillsAt) show(ctx context.Context, name string) (d skills.Detail, err error) {
	switch {
	case s.client != nil:
		err = s.client.Get(ctx, api.Path("skills", name), nil, &d)
	case s.library != nil:
		var a skills.Activation
		a, err = s.library.Show(ctx, name)
		d = a.Detail()
	default:
		err = errSkillsOff
	}
	return d, err
}

func (s skillsAt) turn(ctx context.Context, action string, scope skills.Scope, names []string) (l skills.Listing, err error) {
	switch {
	case s.client != nil:
		err = s.client.Post(ctx, api.Path("skills"), nil, map[string]any{"action": action, "names": names, "scope": scope}, &l)
	case s.library != nil:
		do := s.library.Disable
		if action == "enable" {
			do = s.library.Enable
		}
		_, err = do(ctx, skills.Change{}, scope, names)
		l = s.library.Snapshot(ctx).Listing()
	default:
		err = errSkillsOff
	}
	return l, err
}

func newSkillsList(sys System, g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list",
		Example: `  picobot skills list
  picobot skills list --json`,
		Short: "List skills, and the folders that were skipped",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withSkills(cmd.Context(), sys, func(s skillsAt) error {
				l, err := s.list(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					for _, p := range l.Skipped {
						_, _ = fmt.Fprintln(sys.Stderr, skipped(s.words, p))
					}
				}
				return printSkills(sys, s.words, l, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func printSkills(sys System, words *text.Catalogue, l skills.Listing, asJSON bool) error {
	err := printList(sys.Stdout, asJSON, l.Items, columns(words, text.TableSkills{}), func(k skills.Item) []string {
		return []string{k.Name, stateOf(k), k.Source, k.Description}
	})
	if err != nil || asJSON {
		return err
	}
	if len(l.Items)+len(l.Skipped) == 0 {
		_, _ = fmt.Fprintln(sys.Stderr, words.Say(text.NoSkills{}))
	}
	for _, p := range l.Skipped {
		if _, err := fmt.Fprintln(sys.Stdout, skipped(words, p)); err != nil {
			return err
		}
	}
	return nil
}

func skipped(words *text.Catalogue, p skills.ProblemItem) string {
	return words.Say(text.SkillSkipped{Path: terminal.Clean(p.Path), Detail: p.Problem})
}

func stateOf(k skills.Item) string {
	switch {
	case !k.Enabled:
		return "disabled"
	case k.Manual:
		return "manual"
	}
	return "enabled"
}

func newSkillsShow(sys System, g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "show NAME",
		Example:           `  picobot skills show pdf-forms`,
		Short:             "Print a skill: where it is, its files, its instructions",
		Args:              oneArg("NAME"),
		ValidArgsFunction: first(g.skillNames(sys, true, false)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withSkills(cmd.Context(), sys, func(s skillsAt) error {
				d, err := s.show(cmd.Context(), args[0])
				if err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				if asJSON {
					return printJSON(sys.Stdout, d)
				}
				names := columns(s.words, text.FieldsSkill{})
				fields := []string{
					d.Name, d.Description, stateOf(d.Item), s.words.Say(text.SkillScope{Source: d.Source, Scope: string(d.Scope)}), terminal.Clean(d.Path), strings.Join(d.Overrides, ", "),
				}
				for i, f := range fields {
					if f != "" {
						_, _ = fmt.Fprintf(sys.Stdout, "%s: %s\n", names[i], f)
					}
				}
				for _, f := range d.Files {
					_, _ = fmt.Fprintf(sys.Stdout, "%s: %q\n", names[len(fields)], f)
				}
				_, err = fmt.Fprintf(sys.Stdout, "\n%s\n", strings.TrimSpace(terminal.Clean(d.Content)))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func newSkillsSwitch(sys System, g *globals, action string) *cobra.Command {
	var scope string
	var asJSON bool
	cmd := &cobra.Command{
		Use:               action + " NAME…",
		Example:           "  picobot skills " + action + " pdf-forms",
		Short:             map[string]string{"disable": "Switch skills off", "enable": "Switch skills on"}[action],
		ValidArgsFunction: offer(g.skillNames(sys, action == "disable")),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s needs the name of a skill, or several: see `%s --help`", cmd.CommandPath(), cmd.CommandPath())
			}
			if scope != "" && scope != string(skills.User) && scope != string(skills.Project) {
				return usagef("--scope must be project or user, not %q", scope)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withSkills(cmd.Context(), sys, func(s skillsAt) error {
				l, err := s.turn(cmd.Context(), action, skills.Scope(scope), args)
				if err != nil {
					return err
				}
				named := map[string]bool{}
				for _, name := range args {
					named[name] = true
				}
				items := []skills.Item{}
				for _, k := range l.Items {
					if named[k.Name] {
						items = append(items, k)
					}
				}
				if asJSON {
					return printJSON(sys.Stdout, items)
				}
				for _, k := range items {
					if _, err := fmt.Fprintf(sys.Stdout, "%s: %s\n", k.Name, stateOf(k)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&scope, "scope", "", "whose state file to write: project or user (default: disable in the skill's own, enable in both)")
	completeFlag(cmd, "scope", string(skills.Project), string(skills.User))
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}
