package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"picobot/cli/terminal"
	"picobot/gateway"
	"picobot/internal/tracing"
	"picobot/store"
)

func newTurnsShow(sys System, g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a turn: what was asked, every call of a model and of a tool, how it ended",
		Long: `Show a turn: what was asked, every call of a model and of a tool, how it ended, and
where to see its run in the Temporal UI. What was said is in the session:
` + "`picobot sessions show SESSION --turn ID`" + ` prints it.`,
		Example: `  picobot turns show 01M9…
  picobot turns show 01M9… --json`,
		Args:              oneArg("ID"),
		ValidArgsFunction: g.completeTurns(sys),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.looking(cmd, sys, func(v *visit, record *store.Store) error {
				d, err := record.TurnDetail(cmd.Context(), args[0])
				if errors.Is(err, store.ErrNotFound) {
					return fmt.Errorf("there is no turn %q: `picobot turns list` shows their ids", args[0])
				}
				if err != nil {
					return err
				}
				shown := gateway.TurnDetailOf(d)
				shown.Turn = turnOf(d.Turn, v.ui())
				if asJSON {
					return printJSON(sys.Stdout, shown)
				}
				return printTurn(sys.Stdout, shown, sys.Now())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func printTurn(out io.Writer, t gateway.TurnDetail, now time.Time) error {
	lines := [][2]string{
		{"id", t.ID}, {"status", turnState(t.Turn)}, {"session", t.SessionID}, {"channel", t.Channel}, {"chat", t.ChatID}, {"from", t.SenderID},
		{"model", t.Model}, {"steps", fmt.Sprint(t.Steps)}, {"tokens", fmt.Sprintf("%d + %d", t.Usage.PromptTokens, t.Usage.CompletionTokens)},
		{"accepted", moment(t.CreatedAt)}, {"begun", moment(t.StartedAt)}, {"ended", moment(t.FinishedAt)}, {"took", took(t.Turn, now)},
		{"workflow", t.WorkflowID}, {"run", t.RunID}, {"trace", tracing.TraceID(t.ID)},
	}
	if err := printFields(out, lines); err != nil {
		return err
	}
	if t.RunURL != "" { // whole, however long: it is to be opened
		_, _ = fmt.Fprintf(out, "look at it  %s\n", t.RunURL)
	}
	if t.Error != nil {
		_, _ = fmt.Fprintf(out, "\nit failed (%s): %s\n", t.Error.Code, terminal.Clean(t.Error.Message))
	}
	_, _ = fmt.Fprintf(out, "\n%s\n", terminal.Clean(t.Content))
	if len(t.ModelCalls) > 0 {
		_, _ = fmt.Fprintln(out)
		err := printList(out, false, t.ModelCalls, []string{"STEP", "ATTEMPT", "MODEL", "PROVIDER", "STATUS", "TOKENS", "TOOK"}, func(c gateway.ModelCall) []string {
			status := c.Status
			if c.Error != "" {
				status += ": " + c.Error
			}
			return []string{
				fmt.Sprint(c.Step), fmt.Sprint(c.Attempt), c.Model, c.Provider, status,
				fmt.Sprint(c.Usage.PromptTokens + c.Usage.CompletionTokens), span(c.DurationMS),
			}
		})
		if err != nil {
			return err
		}
	}
	if len(t.ToolRuns) == 0 {
		return nil
	}
	_, _ = fmt.Fprintln(out)
	return printList(out, false, t.ToolRuns, []string{"STEP", "TOOL", "STATUS", "BEGUN", "TOOK"}, func(r gateway.ToolRun) []string {
		end := r.FinishedAt
		if end == 0 {
			end = now.UnixMilli()
		}
		return []string{fmt.Sprint(r.Step), r.Name, string(r.Status), moment(r.StartedAt), span(max(0, end-r.StartedAt))}
	})
}

// printFields prints names and values, those that have one.
func printFields(out io.Writer, lines [][2]string) error {
	var rows [][]string
	for _, line := range lines {
		if line[1] != "" {
			rows = append(rows, []string{line[0], cell(line[1])})
		}
	}
	_, err := io.WriteString(out, table(rows))
	return err
}
