package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"picobot/cli/logging"
	"picobot/cli/terminal"
)

// Main runs one command line and returns the exit code.
func Main(ctx context.Context, sys System) int {
	out := &printer{w: sys.Stdout, screen: sys.Screen}
	sys.Stdout, sys.tty = out, sys.Stdout
	root := newRoot(sys)
	root.SetArgs(sys.Args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && !serves(cmd) {
		err = out.failed()
	}
	if errors.Is(err, syscall.EPIPE) && cmd.Name() != "agent" {
		err = errSilent // whoever reads has had enough, as head has; an answer that nobody reads is lost
	}
	if err != nil && !errors.Is(err, errSilent) {
		_, _ = fmt.Fprintf(sys.Stderr, "picobot: %s\n", strings.TrimRight(terminal.Clean(err.Error()), "\n"))
	}
	return exitCode(err)
}

// serves reports whether what a command prints is beside the matter.
func serves(cmd *cobra.Command) bool {
	switch cmd.Name() {
	case "gateway", "worker", "temporal":
		return true
	}
	return false
}

func newRoot(sys System) *cobra.Command {
	g := &globals{}
	root := &cobra.Command{
		Use:     "picobot",
		Version: sys.Build.Version,
		Short:   "An agent that answers in your terminal and your chats, and never loses its place",
		Long: `PicoBot is an agent gateway: it takes messages from the terminal and from Feishu
(Lark), lets a model answer them with tools, and writes down every step, so that it
goes on where it was after any crash.

Begin with:  picobot agent -m "calc 12*7"`,
		Example: `  picobot agent
  picobot gateway
  picobot doctor`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if _, err := logging.New(io.Discard, g.log, logging.NewScrubber()); err != nil {
				return &usageError{err}
			}
			return nil
		},
	}
	root.SetIn(sys.Stdin)
	root.SetOut(sys.Stdout)
	root.SetErr(sys.Stderr)
	g.register(root.PersistentFlags())
	completeFlag(root, "log-level", "debug", "info", "warn", "error")
	completeFlag(root, "log-format", logging.FormatText, logging.FormatJSON)
	_ = root.MarkPersistentFlagDirname("home")
	group(root)
	root.AddCommand(
		newAgent(sys, g),
		newGateway(sys, g),
		newWorker(sys, g),
		newTemporal(sys, g),
		newConfig(sys, g),
		newMemory(sys, g),
		newBackup(sys, g),
		newRestore(sys, g),
		newDoctor(sys, g),
		newSessions(sys, g),
		newSkills(sys, g),
		newTurns(sys, g),
		newJobs(sys, g),
		newVersion(sys),
	)
	completeNoFiles(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w: see `%s --help`", err, cmd.CommandPath())
	})
	return root
}

// group makes cmd a command that only has others below it: alone it shows its help,
// with a word that it does not know it is a usage error.
func group(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf(", did you mean %q", near[0])
		}
		return usagef("unknown command %q for %s%s: see `%s --help`", args[0], cmd.CommandPath(), hint, cmd.CommandPath())
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
}

// oneArg takes exactly one argument, called name.
func oneArg(name string) cobra.PositionalArgs { return needArgs(1, "one "+name) }

// needArgs takes exactly n arguments.
func needArgs(n int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s takes %s, but got %d arguments: see `%s --help`", cmd.CommandPath(), names, len(args), cmd.CommandPath())
		}
		return nil
	}
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument, but got %q: see `%s --help`", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}
