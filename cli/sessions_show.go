package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"picobot/cli/terminal"
	"picobot/gateway"
	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/text"
	"picobot/store"
)

// shownTurns is how many turns `sessions show` lists.
const shownTurns = 20

func newSessionsShow(sys System, g *globals) *cobra.Command {
	var asJSON bool
	var turn string
	var step int
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a session and its latest turns, or what the model was sent in one of them",
		Long: `Show a session and its latest turns.

With --turn: every call of a model in that turn, with the rows of the session that
its request held, in order. A row that the request only named the file of, because it
did not fit, is marked as a stub. Tools, images and the day's date are not rows.`,
		Example: `  picobot sessions show cli:CHAT:01M8…
  picobot sessions show cli:CHAT:01M8… --turn 01M9… --step 2`,
		Args:              oneArg("ID"),
		ValidArgsFunction: first(g.sessionIDs(sys)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if step != 0 && turn == "" {
				return usagef("--step needs --turn")
			}
			return g.looking(cmd, sys, func(v *visit, record *store.Store) error {
				s, err := findSession(cmd, record, args[0])
				if err != nil {
					return err
				}
				if turn == "" {
					return v.showSession(cmd.Context(), record, s, asJSON)
				}
				return v.showRequests(cmd.Context(), record, s, turn, step, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&turn, "turn", "", "show what the model was sent in this `turn`")
	cmd.Flags().IntVar(&step, "step", 0, "only of this `step` of the turn")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON value")
	completeFlagOf(cmd, "turn", g.turnIDs(sys))
	return cmd
}

// shownSession is a session with its latest turns.
type shownSession struct {
	gateway.Session
	RunURL string         `json:"run_url,omitempty"` // of its latest run in the Temporal UI
	Turns  []gateway.Turn `json:"turns"`
}

func (v *visit) showSession(ctx context.Context, record *store.Store, s store.Session, asJSON bool) error {
	out, ui := v.sys.Stdout, v.ui()
	found, err := record.Turns(ctx, store.TurnFilter{SessionID: s.ID, Limit: shownTurns})
	if err != nil {
		return err
	}
	shown := shownSession{Session: gateway.SessionOf(s), Turns: make([]gateway.Turn, len(found))}
	for i, t := range found {
		shown.Turns[i] = turnOf(t, ui)
		if shown.RunURL == "" {
			shown.RunURL = shown.Turns[i].RunURL
		}
	}
	if asJSON {
		return printJSON(out, shown)
	}
	err = printFields(out, columns(v.words, text.FieldsSession{}), []string{
		s.ID, s.Title, s.Agent, s.ChatID, s.Channel, moment(s.CreatedAt), moment(s.LastActiveAt), moment(s.DeletedAt),
		v.words.Say(text.SessionMessages{People: int(s.MessageCount), All: int(s.TotalMessageCount)}), shown.RunURL,
	})
	if err != nil || len(found) == 0 {
		return err
	}
	_, _ = fmt.Fprintln(out)
	return printList(out, false, shown.Turns, columns(v.words, text.TableSessionTurns{}), func(t gateway.Turn) []string {
		return []string{t.ID, string(t.Status), t.Model, fmt.Sprint(t.Steps), fmt.Sprint(t.Usage.PromptTokens + t.Usage.CompletionTokens), moment(t.CreatedAt)}
	})
}

// request is a call of a model with what it was sent.
type request struct {
	gateway.ModelCall
	Messages []sentRow `json:"messages"`
}

// sentRow is a row as a request held it.
type sentRow struct {
	protocol.Message
	Stub bool `json:"stub,omitempty"` // only the name of a file that has the whole
}

func (v *visit) showRequests(ctx context.Context, record *store.Store, s store.Session, turnID string, step int, asJSON bool) error {
	out := v.sys.Stdout
	calls, err := record.ModelCalls(ctx, turnID)
	if err != nil {
		return err
	}
	if t, err := record.Turn(ctx, turnID); err != nil || t.SessionID != s.ID {
		return fmt.Errorf("there is no turn %q in session %s: `picobot sessions show %s` lists the latest", turnID, s.ID, s.ID)
	}
	requests := []request{}
	for _, c := range calls {
		if step != 0 && c.Step != step {
			continue
		}
		rows, err := record.RequestRows(ctx, s.ID, c)
		if err != nil {
			return err
		}
		r := request{ModelCall: gateway.ModelCallOf(c), Messages: make([]sentRow, len(rows))}
		for i, row := range rows {
			r.Messages[i] = sentRow{gateway.RowFrame(row), c.Stubs.Has(row.Seq)}
		}
		requests = append(requests, r)
	}
	if asJSON {
		return printJSON(out, requests)
	}
	for _, r := range requests {
		printRequest(out, v.words, r)
	}
	if len(requests) == 0 {
		_, _ = fmt.Fprintln(out, v.words.Say(text.NoModelAsked{}))
	}
	return nil
}

func printRequest(out io.Writer, words *text.Catalogue, r request) {
	_, _ = fmt.Fprintln(out, words.Say(text.RequestHeading{
		Step: r.Step, Attempt: r.Attempt, Model: cell(r.Model), Provider: cell(r.Provider), Status: strings.TrimSpace(r.Status + " " + cell(r.Error)),
		TokensIn: int(r.Usage.PromptTokens), TokensOut: int(r.Usage.CompletionTokens), MS: int(r.DurationMS),
	}))
	if r.Rows == "" {
		_, _ = fmt.Fprintln(out, "   "+words.Say(text.RowsUnknown{}))
	}
	for _, m := range r.Messages {
		kind := string(m.Role)
		if m.Marker != "" {
			kind += ", " + string(m.Marker)
		}
		if m.ToolName != "" {
			kind += " " + cell(m.ToolName)
		}
		if m.Stub {
			kind += ", " + words.Say(text.SentAsStub{})
		}
		_, _ = fmt.Fprintln(out, words.Say(text.RequestRow{Seq: int(m.Seq), Kind: kind}))
		if m.Content != "" {
			_, _ = fmt.Fprintln(out, terminal.Clean(m.Content))
		}
		for _, c := range m.ToolCalls {
			_, _ = fmt.Fprintln(out, "   "+words.Say(text.RowCalls{Tool: cell(c.Function.Name), Arguments: terminal.Clean(chat.RawArguments(c.Function.Arguments))}))
		}
	}
	_, _ = fmt.Fprintln(out)
}
