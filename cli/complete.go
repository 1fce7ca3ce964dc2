package cli

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"picobot/store"
)

// completeWithin bounds what a press of the tab key may take.
const completeWithin = 2 * time.Second

// completion is what cobra asks for the words that may follow.
type completion = func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective)

// found returns words that may follow the arguments there are, each by itself or with
// cobra.CompletionWithDesc.
type found func(ctx context.Context, cmd *cobra.Command, args []string) ([]cobra.Completion, error)

// offer makes a completion of words. It starts and makes nothing and says nothing:
// whatever goes wrong, or takes too long, offers nothing.
func offer(words found) completion {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		all, err := words(ctx, cmd, args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var fit []cobra.Completion
		for _, w := range all {
			if strings.HasPrefix(w, toComplete) {
				fit = append(fit, w)
			}
		}
		return fit, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// first offers words for the first argument only.
func first(words found) completion {
	return offer(func(ctx context.Context, cmd *cobra.Command, args []string) ([]cobra.Completion, error) {
		if len(args) > 0 {
			return nil, nil
		}
		return words(ctx, cmd, args)
	})
}

// completeFlag offers the values of a flag.
func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	// It fails only for a flag that is not there, which a test of the command shows.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completeFlagOf offers words for a flag, whatever arguments there are.
func completeFlagOf(cmd *cobra.Command, flag string, words found) {
	_ = cmd.RegisterFlagCompletionFunc(flag, offer(words)) // as in completeFlag
}

// completeNoFiles keeps shells from offering files to commands below cmd that take no
// arguments. Those of commands that take a FILE stay.
func completeNoFiles(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && !strings.Contains(cmd.Use, " ") {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, c := range cmd.Commands() {
		completeNoFiles(c)
	}
}

// fromRecord finds words in the record of the home. A running gateway need not be
// asked: it writes everything there.
func (g *globals) fromRecord(sys System, words func(ctx context.Context, record *store.Store, cmd *cobra.Command, args []string) ([]cobra.Completion, error)) found {
	return func(ctx context.Context, cmd *cobra.Command, args []string) ([]cobra.Completion, error) {
		h, err := g.findHome(sys)
		if err != nil {
			return nil, err
		}
		record, err := store.OpenReader(ctx, h.StorageDB(), sys.Now)
		if err != nil {
			return nil, err
		}
		defer func() { _ = record.Close() }()
		return words(ctx, record, cmd, args)
	}
}

// quiet is sys for somebody who must not say anything.
func (s System) quiet() System {
	s.Stderr = io.Discard
	return s
}
