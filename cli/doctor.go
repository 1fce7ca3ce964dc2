package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"picobot/cli/app"
	"picobot/cli/doctor"
	"picobot/cli/logging"
	"picobot/internal/config"
	"picobot/internal/text"
)

func newDoctor(sys System, g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything PicoBot needs and say what to do about what is wrong",
		Long: `Check configuration, home, gateway, record, Temporal, each model (with one short
question to each), channels, workspace and disk: one line each. Ends with 1 when
something is broken.`,
		Example: `  picobot doctor
  picobot doctor --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var findings []doctor.Finding
			report := func(f doctor.Finding) {
				findings = append(findings, f)
				if !asJSON {
					printFinding(sys.Stdout, f)
				}
			}
			if err := g.examine(cmd, sys, asJSON, report); err != nil {
				return err
			}
			if asJSON {
				if err := json.NewEncoder(sys.Stdout).Encode(findings); err != nil {
					return err
				}
			}
			for _, f := range findings {
				if f.Status == doctor.Fail {
					return errSilent
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// examine visits a home. A configuration that cannot be read is what most is wrong
// with: its problems are the findings then. What is for programs is in English.
func (g *globals) examine(cmd *cobra.Command, sys System, asJSON bool, report func(doctor.Finding)) error {
	h, err := g.findHome(sys)
	if err != nil {
		return err
	}
	words := text.For(text.English)
	if !asJSON {
		words = g.words(sys, h)
	}
	cfg, err := g.loadConfig(sys, h)
	if bad, ok := errors.AsType[*config.Error](err); ok {
		for _, p := range bad.Problems {
			report(doctor.Finding{Check: "config", Status: doctor.Fail, Detail: p.String(), Fix: words.Say(text.DoctorEditFile{File: bad.File})})
		}
		return nil
	}
	if err != nil {
		report(doctor.Finding{Check: "config", Status: doctor.Fail, Detail: err.Error(), Fix: words.Say(text.DoctorUnreadableConfig{})})
		return nil
	}
	o := app.Options{Home: h, WorkDir: sys.workDir(), UserHome: sys.getenv("HOME"), Config: cfg, Now: sys.Now, Log: slog.New(slog.DiscardHandler), Scrub: logging.NewScrubber(cfg.Secrets()...)}
	models, err := app.NewCatalog(cfg)
	if err != nil {
		report(doctor.Finding{Check: "models", Status: doctor.Fail, Detail: err.Error(), Fix: words.Say(text.DoctorCorrectConfig{})})
		return nil
	}
	defer models.Close()
	doctor.Examine(cmd.Context(), doctor.Options{Options: o, Models: models, Words: words}, report)
	return nil
}

func printFinding(w io.Writer, f doctor.Finding) {
	line := fmt.Sprintf("%-4s  %s: %s", f.Status, f.Check, f.Detail)
	if f.Fix != "" {
		line += " → " + f.Fix
	}
	_, _ = fmt.Fprintln(w, line)
}
