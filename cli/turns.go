package cli

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"picobot/cli/api"
	"picobot/gateway"
	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/text"
	"picobot/store"
)

func newTurns(sys System, g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "turns",
		Short: "What runs now and what ran: list, show and stop turns",
		Long: `What runs now and what ran, in every channel. A turn is one message and all that is
done to answer it. Lists are read from the record, whether or not its gateway runs;
stopping needs the gateway.`,
		Example: `  picobot turns list --status running
  picobot turns stop 01M9…`,
	}
	group(cmd)
	cmd.AddCommand(newTurnsList(sys, g), newTurnsShow(sys, g), newTurnsStop(sys, g))
	return cmd
}

// turnStatuses are all, in the order in which a turn goes through them.
var turnStatuses = []chat.TurnStatus{chat.TurnQueued, chat.TurnRunning, chat.TurnCompleted, chat.TurnFailed, chat.TurnCancelled}

func newTurnsList(sys System, g *globals) *cobra.Command {
	var asJSON bool
	var status string
	f := store.TurnFilter{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List turns, the newest first",
		Example: `  picobot turns list
  picobot turns list --status failed --limit 10
  picobot turns list --session cli:CHAT:01M8… --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Limit < 1 {
				return usagef("--limit must be 1 or more")
			}
			if f.Status = chat.TurnStatus(status); status != "" && !knownStatus(f.Status) {
				return usagef("--status %q is unknown: use %s", status, strings.Join(statusNames(), ", "))
			}
			return g.looking(cmd, sys, func(v *visit, record *store.Store) error {
				found, err := record.Turns(cmd.Context(), f)
				if err != nil {
					return err
				}
				ui := v.ui()
				items := make([]gateway.Turn, len(found))
				for i, t := range found {
					items[i] = turnOf(t, ui)
				}
				return printList(sys.Stdout, asJSON, items, columns(v.words, text.TableTurns{}), func(t gateway.Turn) []string {
					return []string{
						t.ID, turnState(v.words, t), t.SessionID, t.Model, fmt.Sprint(t.Steps),
						fmt.Sprint(t.Usage.PromptTokens + t.Usage.CompletionTokens), moment(t.CreatedAt), took(t, sys.Now()),
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only turns with this `status`: "+strings.Join(statusNames(), ", "))
	cmd.Flags().StringVar(&f.SessionID, "session", "", "only turns of the session with this `ID`")
	cmd.Flags().IntVar(&f.Limit, "limit", 100, "at most so `many`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	completeFlag(cmd, "status", statusNames()...)
	completeFlagOf(cmd, "session", g.sessionIDs(sys))
	return cmd
}

func newTurnsStop(sys System, g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stop ID",
		Short: "Stop a turn that runs or waits",
		Long: `Stop a turn, of whatever channel, through the running gateway. One that waits ends at
once; one that runs ends as soon as what it does has been stopped.`,
		Example:           `  picobot turns stop 01M9…`,
		Args:              oneArg("ID"),
		ValidArgsFunction: first(g.turnIDs(sys, chat.TurnQueued, chat.TurnRunning)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.asking(cmd.Context(), sys, func(c *api.Client, words *text.Catalogue) error {
				var t gateway.Turn
				err := c.Post(cmd.Context(), api.Path("turns", args[0], "stop"), nil, nil, &t)
				if refused, ok := errors.AsType[*api.Error](err); ok {
					switch refused.Status {
					case http.StatusNotFound:
						err = fmt.Errorf("there is no turn %q: `picobot turns list` shows their ids", args[0])
					case http.StatusConflict:
						err = fmt.Errorf("turn %s has ended already: `picobot turns list --status running` shows what runs", args[0])
					}
				}
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(sys.Stdout, t)
				}
				_, err = fmt.Fprintln(sys.Stdout, words.Say(text.TurnIs{Turn: t.ID, State: turnState(words, t)}))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the turn as one JSON object")
	return cmd
}

func statusNames() []string {
	names := make([]string, len(turnStatuses))
	for i, s := range turnStatuses {
		names[i] = string(s)
	}
	return names
}

func knownStatus(s chat.TurnStatus) bool {
	for _, known := range turnStatuses {
		if s == known {
			return true
		}
	}
	return false
}

// turnOf tells a turn, with the page of its run.
func turnOf(t store.Turn, ui flow.UI) gateway.Turn {
	out := gateway.TurnOf(t)
	out.RunURL = ui.Run(t.WorkflowID, t.RunID, t.FinishedAt)
	return out
}

// turnState is a turn's status for people.
func turnState(words *text.Catalogue, t gateway.Turn) string {
	if t.Status == chat.TurnRunning && t.CancelRequestedAt != 0 {
		return words.Say(text.TurnStopping{})
	}
	return string(t.Status)
}

// took is how long a turn ran, so far if it still does; "" before it begins.
func took(t gateway.Turn, now time.Time) string {
	end := t.FinishedAt
	if end == 0 {
		end = now.UnixMilli()
	}
	if t.StartedAt == 0 || end < t.StartedAt {
		return ""
	}
	return span(end - t.StartedAt)
}

// span shows a duration in ms.
func span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}
