package cli

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"picobot/cli/api"
	"picobot/gateway"
	"picobot/internal/schedule"
	"picobot/internal/text"
	"picobot/store"
)

func newJobs(sys System, g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "Scheduled jobs: list, show, make, pause, run and delete them",
		Long: `Scheduled jobs, through the running gateway: a job is due only while one runs. Jobs of
the configuration are changed there; they can be paused and run from here.`,
		Example: `  picobot jobs list
  picobot jobs put job.json
  picobot jobs runs builtin.memory_maintenance_daily`,
	}
	group(cmd)
	cmd.AddCommand(newJobsList(sys, g), newJobsGet(sys, g), newJobsPut(sys, g), newJobsDelete(sys, g),
		newJobsAct(sys, g, "pause", store.JobActive, "Keep a job from being due until it is resumed"),
		newJobsAct(sys, g, "resume", store.JobPaused, "Make a paused job due again"),
		newJobsRun(sys, g), newJobsRuns(sys, g))
	return cmd
}

// noJob says what to do about a job that is not there.
func noJob(id string, err error) error {
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.Status == http.StatusNotFound {
		return fmt.Errorf("there is no job %q: `picobot jobs list` shows their ids", id)
	}
	return err
}

func newJobsList(sys System, g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List jobs",
		Example: `  picobot jobs list
  picobot jobs list --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.asking(cmd.Context(), sys, func(c *api.Client, words *text.Catalogue) error {
				jobs, err := api.List[gateway.JobItem](cmd.Context(), c, api.Path("jobs"), url.Values{"limit": {strconv.Itoa(pageSize)}}, "cursor", 0)
				if err != nil {
					return err
				}
				return printList(sys.Stdout, asJSON, jobs, columns(words, text.TableJobs{}), func(j gateway.JobItem) []string {
					return []string{j.ID, string(j.Kind), spec(words, j.Schedule), j.State, nextRun(words, j, sys.Now()), lastRun(j), j.Source}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// spec shows a schedule in a few words.
func spec(words *text.Catalogue, s schedule.Spec) string {
	switch s.Type {
	case schedule.Delay:
		return words.Say(text.SpecDelay{After: seconds(s.Seconds)})
	case schedule.Interval:
		return words.Say(text.SpecInterval{Every: seconds(s.Seconds)})
	case schedule.At:
		return words.Say(text.SpecAt{Time: s.Time})
	}
	return s.Expression + " " + s.TimeZone
}

func seconds(n int) string {
	d := (time.Duration(n) * time.Second).String()
	if strings.HasSuffix(d, "m0s") {
		d = strings.TrimSuffix(d, "0s")
	}
	if strings.HasSuffix(d, "h0m") {
		d = strings.TrimSuffix(d, "0m")
	}
	return d
}

// nextRun shows the next run as the job's own clock shows it, and how far off it is.
func nextRun(words *text.Catalogue, j gateway.JobItem, now time.Time) string {
	if j.NextRunAt == 0 || j.State != store.JobActive {
		return "-"
	}
	at := time.UnixMilli(j.NextRunAt)
	if loc, err := time.LoadLocation(j.TimeZone); err == nil {
		at = at.In(loc)
	}
	day := columns(words, text.Weekdays{})[at.Weekday()]
	return day + at.Format(" 2006-01-02 15:04:05") + " (" + words.Say(farOff(at.Sub(now))) + ")"
}

// farOff says how far off something is in the largest unit of which there are two or
// more, to the nearest.
func farOff(d time.Duration) text.Message {
	in := func(unit time.Duration) int { return int(d.Round(unit) / unit) }
	const day = 24 * time.Hour
	switch {
	case d <= 0:
		return text.RunIsDue{}
	case d < 2*time.Minute:
		return text.InSeconds{Number: max(1, in(time.Second))}
	case d < 2*time.Hour:
		return text.InMinutes{Number: in(time.Minute)}
	case d < 2*day:
		return text.InHours{Number: in(time.Hour)}
	}
	return text.InDays{Number: in(day)}
}

func lastRun(j gateway.JobItem) string {
	if j.LastStatus == "" {
		return "-"
	}
	return strings.TrimSpace(j.LastStatus + " " + moment(j.LastRunAt))
}

func newJobsGet(sys System, g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Print a job as JSON, with its next three runs",
		Example: `  picobot jobs get builtin.memory_maintenance_daily
  picobot jobs get tea > job.json`,
		Args:              oneArg("ID"),
		ValidArgsFunction: first(g.jobIDs(sys)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.asking(cmd.Context(), sys, func(c *api.Client, _ *text.Catalogue) error {
				var j gateway.JobItem
				if err := c.Get(cmd.Context(), api.Path("jobs", args[0]), nil, &j); err != nil {
					return noJob(args[0], err)
				}
				return printJSON(sys.Stdout, j)
			})
		},
	}
	cmd.Flags().Bool("json", true, "print JSON, as it does anyway")
	return cmd
}

func newJobsRuns(sys System, g *globals) *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:               "runs ID",
		Short:             "List a job's runs, the newest first",
		Example:           `  picobot jobs runs builtin.memory_maintenance_daily --limit 10`,
		Args:              oneArg("ID"),
		ValidArgsFunction: first(g.jobIDs(sys)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usagef("--limit must be 1 or more")
			}
			return g.asking(cmd.Context(), sys, func(c *api.Client, words *text.Catalogue) error {
				runs, err := api.List[gateway.JobRunItem](cmd.Context(), c, api.Path("jobs", args[0], "runs"), url.Values{}, "cursor", limit)
				if err != nil {
					return noJob(args[0], err)
				}
				err = printList(sys.Stdout, asJSON, runs, columns(words, text.TableJobRuns{}), func(r gateway.JobRunItem) []string {
					took := ""
					if r.StartedAt != 0 && r.FinishedAt != 0 {
						took = (time.Duration(r.FinishedAt-r.StartedAt) * time.Millisecond).Round(100 * time.Millisecond).String()
					}
					return []string{moment(r.ScheduledFor), r.Trigger, r.Status, took, r.TurnID, r.Error}
				})
				// A table has no room for it, and of one run it is enough to find the others.
				if err == nil && !asJSON && len(runs) > 0 && runs[0].RunURL != "" {
					_, err = fmt.Fprintf(sys.Stdout, "\n%s\n", words.Say(text.NewestRunAt{URL: runs[0].RunURL}))
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most so `many`")
	return cmd
}
