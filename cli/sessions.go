package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"picobot/gateway"
	"picobot/internal/text"
	"picobot/store"
)

func newSessions(sys System, g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "What was said: list, show and export sessions",
		Long: `What was said, read from the record of a home, whether or not its gateway runs.
An ID is a session's id or its dialog id, as ` + "`picobot sessions list`" + ` shows them.`,
		Example: `  picobot sessions list
  picobot sessions show cli:CHAT:01M8…`,
	}
	group(cmd)
	cmd.AddCommand(newSessionsList(sys, g), newSessionsShow(sys, g), newSessionsExport(sys, g))
	return cmd
}

func newSessionsList(sys System, g *globals) *cobra.Command {
	var asJSON bool
	f := store.SessionFilter{Limit: 100}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions, the most recently active first",
		Example: `  picobot sessions list
  picobot sessions list --channel feishu --limit 10 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Limit < 1 {
				return usagef("--limit must be 1 or more")
			}
			return g.looking(cmd, sys, func(v *visit, record *store.Store) error {
				found, err := record.Sessions(cmd.Context(), f)
				if err != nil {
					return err
				}
				items := make([]gateway.Session, len(found))
				for i, s := range found {
					items[i] = gateway.SessionOf(s)
				}
				return printList(sys.Stdout, asJSON, items, columns(v.words, text.TableSessions{}), func(s gateway.Session) []string {
					return []string{s.ID, s.Title, s.Agent, fmt.Sprint(s.MessageCount), moment(s.LastActiveAt), mark(s.Active, v.words.Say(text.SessionActive{}))}
				})
			})
		},
	}
	cmd.Flags().StringVar(&f.Channel, "channel", "", "only sessions of this `channel`")
	cmd.Flags().StringVar(&f.ChatID, "chat", "", "only sessions of this `chat`")
	cmd.Flags().IntVar(&f.Limit, "limit", 100, "at most so `many`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	completeFlagOf(cmd, "channel", g.channels(sys))
	completeFlagOf(cmd, "chat", g.chatIDs(sys))
	return cmd
}

func mark(yes bool, word string) string {
	if yes {
		return word
	}
	return ""
}

func newSessionsExport(sys System, g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "export ID",
		Short: "Print every message of a session as it was said, one JSON object a line",
		Long: `Print every message of a session as it was said, in order, one JSON object a line:
also what has been compacted since, or was said before a /reset; never a copy.`,
		Example:           `  picobot sessions export cli:CHAT:01M8… > session.jsonl`,
		Args:              oneArg("ID"),
		ValidArgsFunction: first(g.sessionIDs(sys)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.looking(cmd, sys, func(_ *visit, record *store.Store) error {
				s, err := findSession(cmd, record, args[0])
				if err != nil {
					return err
				}
				out := json.NewEncoder(sys.Stdout)
				out.SetEscapeHTML(false)
				for from := int64(0); ; {
					rows, err := record.Messages(cmd.Context(), s.ID, from, 1000)
					if err != nil || len(rows) == 0 {
						return err
					}
					for _, r := range rows {
						if err := out.Encode(gateway.RowFrame(r)); err != nil {
							return err
						}
						from = r.Seq
					}
				}
			})
		},
	}
}

// findSession returns a session that was named on the command line.
func findSession(cmd *cobra.Command, record *store.Store, id string) (store.Session, error) {
	s, err := record.FindSession(cmd.Context(), id)
	if errors.Is(err, store.ErrNotFound) {
		return s, fmt.Errorf("there is no session %q: `picobot sessions list` shows their ids", id)
	}
	return s, err
}
