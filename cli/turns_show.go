package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"picobot/cli/terminal"
	"picobot/gateway"
	"picobot/internal/text"
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
		ValidArgsFunction: first(g.turnIDs(sys)),
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
				return printTurn(sys.Stdout, v.words, shown, sys.Now())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func printTurn(out io.Writer, words *text.Catalogue, t gateway.TurnDetail, now time.Time) error {
	err := printFields(out, columns(words, text.FieldsTurn{}), []string{
		t.ID, turnState(words, t.Turn), t.SessionID, t.Channel, t.ChatID, t.SenderID,
		t.Model, fmt.Sprint(t.Steps), fmt.Sprintf("%d + %d", t.Usage.PromptTokens, t.Usage.CompletionTokens),
		moment(t.CreatedAt), moment(t.StartedAt), moment(t.FinishedAt), took(t.Turn, now),
		t.WorkflowID, t.RunID, tracing.TraceID(t.ID), t.RunURL,
	})
	if err != nil {
		return err
	}
	if t.Error != nil {
		_, _ = fmt.Fprintf(out, "\n%s\n", words.Say(text.TurnFailedBecause{Code: t.Error.Code, Detail: terminal.Clean(t.Error.Message)}))
	}
	_, _ = fmt.Fprintf(out, "\n%s\n", terminal.Clean(t.Content))
	if len(t.ModelCalls) > 0 {
		_, _ = fmt.Fprintln(out)
		err := printList(out, false, t.ModelCalls, columns(words, text.TableModelCalls{}), func(c gateway.ModelCall) []string {
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
	return printList(out, false, t.ToolRuns, columns(words, text.TableToolRuns{}), func(r gateway.ToolRun) []string {
		end := r.FinishedAt
		if end == 0 {
			end = now.UnixMilli()
		}
		return []string{fmt.Sprint(r.Step), r.Name, string(r.Status), moment(r.StartedAt), span(max(0, end-r.StartedAt))}
	})
}

// printFields prints names and values, those that have one. The last one is an address
// to be opened: it is whole, however long.
func printFields(out io.Writer, names, values []string) error {
	var rows [][]string
	for i, value := range values {
		if i < len(values)-1 {
			value = cell(value)
		}
		if value != "" {
			rows = append(rows, []string{names[i], value})
		}
	}
	_, err := io.WriteString(out, table(rows))
	return err
}
