package app

import (
	"path/filepath"

	"picobot/internal/config"
	"picobot/internal/home"
	"picobot/internal/tools"
	"picobot/internal/tools/proc"
)

// CommandSandbox is how the agent's shell commands are confined: they see nothing
// of the home but what the agent was given of it, and no other file with keys.
// Its State is what doctor reports.
// skills are the skills' folders, which they may read; nil = none.
func CommandSandbox(h home.Home, cfg config.Config, skills func() []string) tools.Sandbox {
	// The directories are named too: a workspace inside one of them would open it.
	hide := []string{h.Dir, h.StorageDir(), h.TemporalDir(), h.LogsDir(), h.AgentDir()}
	for _, file := range []string{cfg.File(), cfg.Temporal.TLS.KeyFile} {
		if file == "" {
			continue
		}
		if path, err := filepath.Abs(file); err == nil {
			hide = append(hide, path)
		}
	}
	return tools.Sandbox{
		Support: proc.ConfinementSupport(),
		Hide:    hide,
		Read: func() []string {
			dirs := []string{h.MediaDir()}
			if skills != nil {
				dirs = append(dirs, skills()...)
			}
			return dirs
		},
		AllowUnconfined: cfg.Tools.Bash.AllowUnconfined,
	}
}

// sandbox is CommandSandbox for a start, which logs what cannot be had.
func sandbox(o Options, w *tools.Workspace, skills func() []string) *tools.Sandbox {
	s := CommandSandbox(o.Home, o.Config, skills)
	state := s.State(w.Dir())
	if !state.Confined {
		o.Log.Warn("shell commands cannot be confined: they run for the terminal only, or for every chat with tools.bash.allow_unconfined",
			"reason", state.Reason, "allow_unconfined", s.AllowUnconfined)
	}
	for _, gap := range state.Gaps {
		o.Log.Info("shell commands are confined with a gap: " + gap)
	}
	return &s
}
