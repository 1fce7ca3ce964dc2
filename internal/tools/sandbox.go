package tools

import (
	"errors"
	"fmt"
	"path/filepath"

	"picobot/internal/chat"
	"picobot/internal/tools/proc"
)

// Sandbox is how shell commands are confined: they read all but what is hidden, and
// write to the workspace and to temporary files only.
type Sandbox struct {
	// Support is what the system can do; see proc.ConfinementSupport.
	Support proc.Support
	// Hide are the absolute paths that no command may see.
	Hide []string
	// Read names, for each command anew, what may be read although it is hidden
	// otherwise; nil = nothing.
	Read func() []string
	// AllowUnconfined runs commands where they cannot be confined. People at the
	// terminal may run them there anyway: they sit at the machine.
	AllowUnconfined bool
}

// SandboxState says what holds for commands, for doctor and logs.
type SandboxState struct {
	Confined bool
	// Reason is why commands are not confined.
	Reason string
	// Gaps are what confined commands can do here all the same, as sentences.
	Gaps []string
}

// State tells what holds for commands in a workspace, which is named by its path.
func (s Sandbox) State(workspace string) SandboxState {
	if s.Support.Reason != "" {
		return SandboxState{Reason: s.Support.Reason}
	}
	if err := s.confinement(workspace, nil).Check(); err != nil {
		return SandboxState{Reason: err.Error()}
	}
	return SandboxState{Confined: true, Gaps: s.Support.Gaps}
}

// apply returns the confinement of one command, nil for none, or why it may not run.
func (s Sandbox) apply(w *Workspace, call Call, tmp string) (*proc.Confinement, error) {
	if state := s.State(w.dir); !state.Confined {
		if call.Channel == chat.ChannelCLI || s.AllowUnconfined {
			return s.asFarAsPossible(w, tmp), nil
		}
		return nil, fmt.Errorf("commands are not run in this chat, because they cannot be confined here: %s. Use the file tools, or ask the operator, who can allow it with tools.bash.allow_unconfined", state.Reason)
	}
	c := s.confinement(w.dir, []string{tmp})
	return &c, nil
}

// asFarAsPossible is the confinement of commands that run although it is not whole:
// what an old kernel can do is still worth having.
func (s Sandbox) asFarAsPossible(w *Workspace, tmp string) *proc.Confinement {
	c := s.confinement(w.dir, []string{tmp})
	if s.Support.ABI < 1 || c.Check() != nil {
		return nil
	}
	return &c
}

func (s Sandbox) confinement(workspace string, scratch []string) proc.Confinement {
	c := proc.Confinement{
		Hide:    s.Hide,
		Write:   []string{workspace},
		Scratch: append([]string{"/tmp", "/var/tmp", "/dev/shm"}, scratch...),
	}
	if s.Read != nil {
		for _, path := range s.Read() {
			// One bad entry must not make every command fail.
			if !c.Holds(path) {
				c.Read = append(c.Read, path)
			}
		}
	}
	return c
}

// scratchDir is a command's TMPDIR: the user's, if commands may write there, else
// one in the workspace.
func (s Sandbox) scratchDir(w *Workspace, tmp string) (string, error) {
	if !filepath.IsAbs(tmp) {
		tmp = "/tmp"
	}
	if !(proc.Confinement{Hide: s.Hide}).Holds(tmp) {
		return tmp, nil
	}
	const inside = ".picobot/tmp"
	if err := w.root.MkdirAll(inside, 0o700); err != nil {
		return "", errors.New("the workspace has no room for temporary files: remove .picobot/tmp in it")
	}
	return filepath.Join(w.dir, inside), nil
}
