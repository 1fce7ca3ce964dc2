//go:build !linux

package proc

import (
	"context"
	"errors"
	"os/exec"
)

// IsChild reports whether this process was started as a supervisor: there is
// none on this system.
func IsChild() bool { return false }

// Main does nothing on this system.
func Main() {}

// KillMarked finds nothing on this system, where processes cannot be told by
// their environment.
func KillMarked(context.Context, string) error { return nil }

// ConfinementSupport says that this system cannot confine commands.
func ConfinementSupport() Support {
	return Support{Reason: "commands can be confined on Linux only"}
}

// run starts the command without a supervisor: descendants that leave its
// process group, or outlive a killed parent, are not found here.
func run(ctx context.Context, c Command) (Exit, error) {
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(c.Env[:len(c.Env):len(c.Env)], MarkName+"="+c.Mark)
	cmd.Stdout, cmd.Stderr = c.Output, c.Output
	cmd.WaitDelay = stopGrace + outputGrace
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return Exit{}, err
	}
	// What the command left in the background holds its output open; Wait returns
	// after WaitDelay, and then the group is killed.
	err := cmd.Wait()
	killGroup(cmd)
	if ctx.Err() != nil {
		return Exit{Code: -1}, context.Cause(ctx)
	}
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) && !errors.Is(err, exec.ErrWaitDelay) {
		return Exit{}, err
	}
	exit := Exit{Code: cmd.ProcessState.ExitCode()}
	if exit.Code < 0 {
		exit.Signal = cmd.ProcessState.String()
	}
	return exit, nil
}
