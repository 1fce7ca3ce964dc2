package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"picobot/internal/chat"
	"picobot/store"
)

// completeWithin bounds what a press of the tab key may take.
const completeWithin = 2 * time.Second

// completion is what cobra asks for the words that may follow.
type completion = func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective)

// completeFlag offers the values of a flag.
func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	// It fails only for a flag that is not there, which a test of the command shows.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completing offers what the record of the home holds, for a first argument or a
// flag. It asks no gateway and makes nothing; whatever goes wrong offers nothing.
func (g *globals) completing(sys System, ids func(ctx context.Context, record *store.Store) ([]cobra.Completion, error)) completion {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		h, err := g.findHome(sys)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		record, err := store.OpenReader(ctx, h.StorageDB(), sys.Now)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer func() { _ = record.Close() }()
		found, err := ids(ctx, record)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var fit []cobra.Completion
		for _, f := range found {
			if strings.HasPrefix(f, toComplete) {
				fit = append(fit, f)
			}
		}
		return fit, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeSessions offers the ids of sessions, the most recently active first.
func (g *globals) completeSessions(sys System) completion {
	return g.completing(sys, func(ctx context.Context, record *store.Store) ([]cobra.Completion, error) {
		found, err := record.Sessions(ctx, store.SessionFilter{Limit: 1000})
		var out []cobra.Completion
		for _, s := range found {
			out = append(out, cobra.CompletionWithDesc(s.ID, cell(s.Title)))
		}
		return out, err
	})
}

// completeTurns offers the ids of turns, the newest first; with statuses, of turns
// with one of these.
func (g *globals) completeTurns(sys System, statuses ...chat.TurnStatus) completion {
	return g.completing(sys, func(ctx context.Context, record *store.Store) ([]cobra.Completion, error) {
		if len(statuses) == 0 {
			statuses = []chat.TurnStatus{""}
		}
		var out []cobra.Completion
		for _, status := range statuses {
			found, err := record.Turns(ctx, store.TurnFilter{Status: status, Limit: 1000})
			if err != nil {
				return nil, err
			}
			for _, t := range found {
				out = append(out, cobra.CompletionWithDesc(t.ID, string(t.Status)+", "+moment(t.CreatedAt)))
			}
		}
		return out, nil
	})
}
