package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"picobot/cli/app"
	"picobot/internal/text"
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
		e.ok("bash", e.say(text.DoctorConfined{}))
	case state.Confined:
		e.ok("bash", e.say(text.DoctorConfinedButFor{Gaps: strings.Join(state.Gaps, "; ")}))
	case sandbox.AllowUnconfined:
		e.warn("bash", text.DoctorForbidUnconfined{}, e.say(text.DoctorUnconfinedForAll{Detail: state.Reason}))
	default:
		e.warn("bash", text.DoctorAllowUnconfined{}, e.say(text.DoctorUnconfined{Detail: state.Reason}))
	}
}
