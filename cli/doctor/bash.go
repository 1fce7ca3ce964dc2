package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"picobot/cli/app"
	"picobot/internal/tools"
)

// bash says how far shell commands are confined.
func (e *examination) bash(context.Context) {
	sandbox := app.CommandSandbox(e.Home, e.Config, nil)
	state := sandbox.State(e.workspaceDir())
	if _, err := os.Stat(e.workspaceDir()); errors.Is(err, fs.ErrNotExist) {
		// It is made at the first start. Until then only the kernel can be asked.
		state = tools.SandboxState{Confined: sandbox.Support.Reason == "", Reason: sandbox.Support.Reason, Gaps: sandbox.Support.Gaps}
	}
	switch {
	case state.Confined && len(state.Gaps) == 0:
		e.ok("bash", "commands see of the home only workspace, media and skills, and write nowhere but to the workspace and among temporary files")
	case state.Confined:
		e.ok("bash", "commands see of the home only workspace, media and skills, and write nowhere but to the workspace and among temporary files; what this kernel cannot prevent: %s", strings.Join(state.Gaps, "; "))
	case sandbox.AllowUnconfined:
		e.warn("bash", "use a Linux kernel with Landlock, or unset tools.bash.allow_unconfined", "commands are not confined and run for every chat: %s", state.Reason)
	default:
		e.warn("bash", "use a Linux kernel with Landlock; tools.bash.allow_unconfined lets other chats run commands all the same", "commands are not confined and run for the terminal only: %s", state.Reason)
	}
}
