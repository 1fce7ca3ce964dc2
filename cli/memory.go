package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"picobot/gateway"
	"picobot/internal/memory"
	"picobot/internal/text"
)

// memoryFlags say which memories are meant and how they are shown.
type memoryFlags struct {
	scope, namespace string
	limit            int
	json             bool
}

func newMemory(sys System, g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Look at, change and tidy what is remembered of people",
		Long: `Look at, change and tidy what is remembered of people. A person is named by --scope, as
channel:sender_id; without it, list, search and export mean everybody, the others you in
this home's terminal. Reading works without a gateway, too.`,
		Example: `  picobot memory list
  picobot memory search "when is the birthday"`,
	}
	group(cmd)
	cmd.AddCommand(newMemoryList(sys, g), newMemorySearch(sys, g), newMemoryShow(sys, g), newMemoryPut(sys, g), newMemoryDelete(sys, g), newMemoryExport(sys, g), newMemoryMaintain(sys, g))
	return cmd
}

// memoryCommand gives a command its flags; what names those besides --scope.
func (g *globals) memoryCommand(sys System, f *memoryFlags, cmd *cobra.Command, what ...string) *cobra.Command {
	flags := cmd.Flags()
	flags.StringVar(&f.scope, "scope", "", "whose memories, as `channel:sender_id`")
	completeFlagOf(cmd, "scope", g.memoryParts(sys, func(m memory.Memory) string { return m.Scope }))
	for _, w := range what {
		switch w {
		case "namespace":
			flags.StringVar(&f.namespace, "namespace", "", "only this `namespace`")
			completeFlagOf(cmd, "namespace", g.memoryParts(sys, func(m memory.Memory) string { return m.Namespace }))
		case "limit":
			flags.IntVar(&f.limit, "limit", cmp.Or(f.limit, 100), "at most so many; 0 = all")
		case "json":
			flags.BoolVar(&f.json, "json", false, "print JSON")
		}
	}
	return cmd
}

func (f *memoryFlags) check() error {
	if f.limit < 0 {
		return usagef("--limit must be 0 or greater")
	}
	if f.scope == "" {
		return nil
	}
	if _, err := memory.CleanScope(f.scope); err != nil {
		return usagef("--scope: %w", err)
	}
	return nil
}

// remembering runs do with a way to the memories.
func (g *globals) remembering(cmd *cobra.Command, sys System, f *memoryFlags, do func(ctx context.Context, v *visit) error) error {
	if err := f.check(); err != nil {
		return err
	}
	return g.visiting(cmd.Context(), sys, func(v *visit) error { return do(cmd.Context(), v) })
}

func newMemoryList(sys System, g *globals) *cobra.Command {
	var f memoryFlags
	return g.memoryCommand(sys, &f, &cobra.Command{
		Use:     "list",
		Example: `  picobot memory list --scope cli:CHAT`,
		Short:   "List memories",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.remembering(cmd, sys, &f, func(ctx context.Context, v *visit) error {
				items, err := v.memories(ctx, f)
				if err != nil {
					return err
				}
				return printMemories(sys.Stdout, v.words, f.json, items, func(m gateway.MemoryItem) string { return m.Content })
			})
		},
	}, "namespace", "limit", "json")
}

func newMemorySearch(sys System, g *globals) *cobra.Command {
	f := memoryFlags{limit: 20}
	return g.memoryCommand(sys, &f, &cobra.Command{
		Use:     "search QUERY",
		Short:   "Search memories, the best answer first",
		Example: `  picobot memory search "when is the birthday"`,
		Args:    oneArg("QUERY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.remembering(cmd, sys, &f, func(ctx context.Context, v *visit) error {
				items, err := v.searchMemories(ctx, f, args[0])
				if err != nil {
					return err
				}
				return printMemories(sys.Stdout, v.words, f.json, items, func(m gateway.MemoryItem) string { return m.Snippet })
			})
		},
	}, "namespace", "limit", "json")
}

func newMemoryShow(sys System, g *globals) *cobra.Command {
	var f memoryFlags
	return g.memoryCommand(sys, &f, &cobra.Command{
		Use:               "show NAMESPACE KEY",
		Example:           `  picobot memory show profile birthday`,
		Short:             "Print one memory in full",
		Args:              needArgs(2, "NAMESPACE KEY"),
		ValidArgsFunction: offer(g.memoryNames(sys, &f)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.remembering(cmd, sys, &f, func(ctx context.Context, v *visit) error {
				m, err := v.memory(ctx, f, args[0], args[1])
				if err != nil {
					return err
				}
				if f.json {
					return printJSON(sys.Stdout, m)
				}
				_, err = fmt.Fprintln(sys.Stdout, m.Content)
				return err
			})
		},
	}, "json")
}

func newMemoryExport(sys System, g *globals) *cobra.Command {
	var f memoryFlags
	return g.memoryCommand(sys, &f, &cobra.Command{
		Use:     "export",
		Example: `  picobot memory export > memories.jsonl`,
		Short:   "Print all memories, a JSON object a line",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.remembering(cmd, sys, &f, func(ctx context.Context, v *visit) error {
				items, err := v.memories(ctx, f)
				if err != nil {
					return err
				}
				e := json.NewEncoder(sys.Stdout)
				e.SetEscapeHTML(false)
				for _, m := range items {
					if err := e.Encode(m); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}, "namespace")
}

func printMemories(w io.Writer, words *text.Catalogue, asJSON bool, items []gateway.MemoryItem, shown func(gateway.MemoryItem) string) error {
	return printList(w, asJSON, items, columns(words, text.TableMemories{}), func(m gateway.MemoryItem) []string {
		return []string{m.ScopeKey, m.Namespace, m.MemoryKey, moment(m.UpdatedAt), shown(m)}
	})
}
