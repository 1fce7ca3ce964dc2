package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"picobot/cli/api"
	"picobot/gateway"
	"picobot/internal/schedule"
	"picobot/internal/text"
)

func newJobsPut(sys System, g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "put FILE",
		Short: "Make a job, or change the one with its id, from its JSON (- = standard input)",
		Long: `Make a job, or change the one with its id, from its JSON (- = standard input). What
` + "`picobot jobs get`" + ` prints can be changed and put again: what it tells of the job's
state is left out.`,
		Example: `  echo '{"id": "tea", "kind": "outbound_message", "schedule": {"type": "cron", "expression": "0 16 * * *"},
    "target": {"channel": "cli", "chat_id": "CHAT"}, "payload": {"content": "Tea!"}}' | picobot jobs put -
  picobot jobs get tea > job.json && picobot jobs put job.json`,
		Args: oneArg("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := readJob(sys, args[0])
			if err != nil {
				return err
			}
			var named struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(body, &named); err != nil {
				return noJobIn(args[0], err)
			}
			if why := schedule.BadID(named.ID); why != "" {
				return fmt.Errorf("id: %s", why)
			}
			return g.asking(cmd.Context(), sys, func(c *api.Client, words *text.Catalogue) error {
				var j gateway.JobItem
				created, err := c.Put(cmd.Context(), api.Path("jobs", named.ID), nil, json.RawMessage(asPut(body)), &j)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(sys.Stdout, j)
				}
				next := nextRun(words, j, sys.Now())
				var done text.Message = text.JobChanged{Job: j.ID, Next: next}
				if created {
					done = text.JobMade{Job: j.ID, Next: next}
				}
				_, err = fmt.Fprintln(sys.Stdout, words.Say(done))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the job as one JSON object")
	return cmd
}

// noJobIn says what is wrong with a file that should have a job.
func noJobIn(file string, err error) error {
	if file == "-" {
		file = "standard input"
	}
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
		return fmt.Errorf(`%s is not one JSON object whose "id" is a text: write a job as `+"`picobot jobs get`"+` shows one`, file)
	}
	return fmt.Errorf("%s is no JSON: %w", file, err)
}

// maxJobFile bounds what is read; the gateway has the last word.
const maxJobFile = 1 << 20

func readJob(sys System, name string) ([]byte, error) {
	in := sys.Stdin
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the operator names the file
		if err != nil {
			return nil, fmt.Errorf("read the job: %w", err)
		}
		defer f.Close() //nolint:errcheck // opened for reading only
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxJobFile))
	if err != nil {
		return nil, fmt.Errorf("read the job: %w", err)
	}
	return text, nil
}

// asPut is a job's JSON as it can be put: of what `jobs get` prints, without what that
// tells of the job's state. Anything else is left as it is, with what is wrong in it.
func asPut(body []byte) []byte {
	var shown map[string]json.RawMessage
	if json.Unmarshal(body, &shown) != nil || shown["created_at"] == nil || shown["next_runs"] == nil {
		return body
	}
	for _, key := range []string{
		"time_zone", "state", "source", "created_by", "origin", "last_run_at", "last_status", "next_run_at", "next_runs", "created_at", "updated_at",
	} {
		delete(shown, key)
	}
	put, err := json.Marshal(shown)
	if err != nil {
		return body
	}
	return put
}

func newJobsDelete(sys System, g *globals) *cobra.Command {
	return &cobra.Command{
		Use:               "delete ID",
		Short:             "Delete a job; a run that is under way goes on",
		Example:           `  picobot jobs delete tea`,
		Args:              oneArg("ID"),
		ValidArgsFunction: first(g.jobIDs(sys)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.asking(cmd.Context(), sys, func(c *api.Client, words *text.Catalogue) error {
				if err := c.Delete(cmd.Context(), api.Path("jobs", args[0]), nil); err != nil {
					return noJob(args[0], err)
				}
				_, err := fmt.Fprintln(sys.Stdout, words.Say(text.JobDeleted{Job: args[0]}))
				return err
			})
		},
	}
}

// newJobsAct makes the command that takes jobs out of the state from.
func newJobsAct(sys System, g *globals, action, from, short string) *cobra.Command {
	return &cobra.Command{
		Use:               action + " ID",
		Short:             short,
		Example:           "  picobot jobs " + action + " tea",
		Args:              oneArg("ID"),
		ValidArgsFunction: first(g.jobIDs(sys, from)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.asking(cmd.Context(), sys, func(c *api.Client, words *text.Catalogue) error {
				var j gateway.JobItem
				if err := c.Post(cmd.Context(), api.Path("jobs", args[0], action), nil, nil, &j); err != nil {
					return noJob(args[0], err)
				}
				_, err := fmt.Fprintln(sys.Stdout, words.Say(text.JobState{Job: j.ID, State: j.State, Next: nextRun(words, j, sys.Now())}))
				return err
			})
		},
	}
}

func newJobsRun(sys System, g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "run ID",
		Short:             "Run a job now, whatever its schedule and state",
		Example:           `  picobot jobs run builtin.memory_maintenance_daily`,
		Args:              oneArg("ID"),
		ValidArgsFunction: first(g.jobIDs(sys)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.asking(cmd.Context(), sys, func(c *api.Client, words *text.Catalogue) error {
				var r gateway.JobRunItem
				if err := c.Post(cmd.Context(), api.Path("jobs", args[0], "run"), nil, nil, &r); err != nil {
					return noJob(args[0], err)
				}
				if asJSON {
					return printJSON(sys.Stdout, r)
				}
				_, err := fmt.Fprintln(sys.Stdout, words.Say(text.JobRunAsked{Run: r.ID, Job: r.JobID}))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the run as one JSON object")
	return cmd
}
