package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

func newVersion(sys System) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of PicoBot and of what it is built with",
		Example: `  picobot version
  picobot version --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := sys.Build
			if asJSON {
				return json.NewEncoder(sys.Stdout).Encode(b)
			}
			_, err := fmt.Fprintf(sys.Stdout, "picobot %s\ncommit %s\ngo %s\ntemporal server %s\ntemporal sdk %s\n",
				b.Version, b.Commit, b.Go, b.TemporalServer, b.TemporalSDK)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
