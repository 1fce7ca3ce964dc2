package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"picobot/cli/api"
	"picobot/gateway"
	"picobot/internal/chat"
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

func newMemoryPut(sys System, g *globals) *cobra.Command {
	var f memoryFlags
	return g.memoryCommand(sys, &f, &cobra.Command{
		Use:               "put NAMESPACE KEY CONTENT",
		Short:             "Write a memory, in place of one of this name (- = content from standard input)",
		Example:           `  picobot memory put profile birthday "Born on 3 May 1990."`,
		Args:              needArgs(3, "NAMESPACE KEY CONTENT"),
		ValidArgsFunction: offer(g.memoryNames(sys, &f)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.remembering(cmd, sys, &f, func(ctx context.Context, v *visit) error {
				content := args[2]
				if content == "-" {
					text, err := io.ReadAll(io.LimitReader(sys.Stdin, 1<<20))
					if err != nil {
						return fmt.Errorf("read the content: %w", err)
					}
					content = string(text)
				}
				c, query, err := v.oneMemory(f, args[0], args[1])
				if err != nil {
					return err
				}
				var m gateway.MemoryItem
				if _, err := c.Put(ctx, api.Path("memories"), query, map[string]string{"content": content}, &m); err != nil {
					return err
				}
				if f.json {
					return printJSON(sys.Stdout, m)
				}
				return nil
			})
		},
	}, "json")
}

func newMemoryDelete(sys System, g *globals) *cobra.Command {
	var f memoryFlags
	return g.memoryCommand(sys, &f, &cobra.Command{
		Use:               "delete NAMESPACE KEY",
		Example:           `  picobot memory delete profile birthday`,
		Short:             "Forget a memory",
		Args:              needArgs(2, "NAMESPACE KEY"),
		ValidArgsFunction: offer(g.memoryNames(sys, &f)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.remembering(cmd, sys, &f, func(ctx context.Context, v *visit) error {
				c, query, err := v.oneMemory(f, args[0], args[1])
				if err != nil {
					return err
				}
				return c.Delete(ctx, api.Path("memories"), query)
			})
		},
	})
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

func (f memoryFlags) query() url.Values {
	q := url.Values{}
	if f.scope != "" {
		q.Set("scope_key", f.scope)
	}
	if f.namespace != "" {
		q.Set("namespace", f.namespace)
	}
	return q
}

// pageSize is how many items are asked for at once.
const pageSize = 500

// memories lists memories in the order of their names.
func (v *visit) memories(ctx context.Context, f memoryFlags) ([]gateway.MemoryItem, error) {
	if v.client != nil {
		q := f.query()
		q.Set("limit", strconv.Itoa(pageSize))
		return api.List[gateway.MemoryItem](ctx, v.client, api.Path("memories"), q, "cursor", f.limit)
	}
	r, err := v.record(ctx)
	if err != nil {
		return nil, err
	}
	var items []gateway.MemoryItem
	filter := memory.Filter{Scope: f.scope, Namespace: f.namespace, Limit: pageSize}
	for {
		page, err := r.Memories(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			if items = append(items, gateway.MemoryItemOf(m)); len(items) == f.limit {
				return items, nil
			}
			filter.After = m.Cursor()
		}
		if len(page) < pageSize {
			return items, nil
		}
	}
}

func (v *visit) searchMemories(ctx context.Context, f memoryFlags, query string) ([]gateway.MemoryItem, error) {
	if strings.TrimSpace(query) == "" {
		return nil, usagef("the query is empty: write the words to look for")
	}
	if f.limit == 0 {
		f.limit = pageSize
	}
	if v.client != nil {
		q := f.query()
		q.Set("q", query)
		q.Set("limit", strconv.Itoa(f.limit))
		return api.List[gateway.MemoryItem](ctx, v.client, api.Path("memories"), q, "", 0)
	}
	r, err := v.record(ctx)
	if err != nil {
		return nil, err
	}
	hits, err := r.SearchMemories(ctx, f.scope, f.namespace, query, f.limit)
	items := make([]gateway.MemoryItem, len(hits))
	for i, h := range hits {
		items[i] = gateway.HitItemOf(h)
	}
	return items, err
}

// memory returns one memory in full.
func (v *visit) memory(ctx context.Context, f memoryFlags, namespace, key string) (gateway.MemoryItem, error) {
	if v.client != nil {
		c, query, err := v.oneMemory(f, namespace, key)
		if err != nil {
			return gateway.MemoryItem{}, err
		}
		found, err := api.List[gateway.MemoryItem](ctx, c, api.Path("memories"), query, "", 0)
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("the gateway answered with %d memories instead of one", len(found))
		}
		if err != nil {
			return gateway.MemoryItem{}, err
		}
		return found[0], nil
	}
	r, err := v.record(ctx)
	if err != nil {
		return gateway.MemoryItem{}, err
	}
	scope, err := v.scope(f)
	if err != nil {
		return gateway.MemoryItem{}, err
	}
	name, err := memory.CleanName(memory.Name{Namespace: namespace, Key: key})
	if err != nil {
		return gateway.MemoryItem{}, err
	}
	m, err := r.Memory(ctx, scope, name)
	return gateway.MemoryItemOf(m), err
}

// oneMemory names a memory for the gateway.
func (v *visit) oneMemory(f memoryFlags, namespace, key string) (*api.Client, url.Values, error) {
	c, err := v.gateway()
	if err != nil {
		return nil, nil, err
	}
	scope, err := v.scope(f)
	return c, url.Values{"scope_key": {scope}, "namespace": {namespace}, "key": {key}}, err
}

// scope is whose memories are meant: who sits at this home's terminal, if nobody else
// is named.
func (v *visit) scope(f memoryFlags) (string, error) {
	if f.scope != "" {
		return f.scope, nil
	}
	id, err := v.home.ClientID()
	return memory.Scope(chat.ChannelCLI, id), err
}
