package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"picobot/cli/api"
	"picobot/gateway"
)

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
