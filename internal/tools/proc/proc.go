package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// MarkName is the environment variable that every process of a command carries;
// its value is the command's Mark.
const MarkName = "PICOBOT_RUN"

const (
	// stopGrace is between SIGTERM and SIGKILL.
	stopGrace = 500 * time.Millisecond
	// stopLimit is how long the supervisor may take for both. After it the parent
	// kills what it can find itself.
	stopLimit = 1500 * time.Millisecond
	// outputGrace is how long the output is still read once the supervisor ended.
	outputGrace = 500 * time.Millisecond
)

// Command is what to run.
type Command struct {
	Args []string // Args[0] is the program's path
	Dir  string   // absolute
	Env  []string // all of the environment, except MarkName
	Mark string   // unique; KillMarked finds what carries it
	// Output gets what the command writes to stdout and stderr, in that order,
	// from one goroutine. It must not fail: nobody would read the rest.
	Output io.Writer
	// Confine is what the command may touch; nil = whatever its user may. What the
	// kernel cannot confine is not: ask ConfinementSupport first.
	Confine *Confinement
}

// Exit is how a command ended.
type Exit struct {
	Code   int    // exit status; -1 when a signal ended it
	Signal string // name of that signal, such as "killed"
}

// ErrNotHandedOver means that the program does not call Main first.
var ErrNotHandedOver = errors.New("proc.Main must be called first in main and in TestMain")

// Run runs the command until it ends or ctx does, then kills all that is left of
// it. When ctx ended it, the error is ctx's cause; all of the command is gone
// then too. Any other error means that the command could not be started.
func Run(ctx context.Context, c Command) (Exit, error) {
	if len(c.Args) == 0 || c.Mark == "" || c.Output == nil {
		return Exit{}, errors.New("run command: Args, Mark and Output are needed")
	}
	if ctx.Err() != nil {
		return Exit{}, context.Cause(ctx)
	}
	exit, err := run(ctx, c)
	if err != nil && ctx.Err() == nil {
		return exit, fmt.Errorf("run command: %w", err)
	}
	return exit, err
}
