//go:build unix && !linux

package proc

import (
	"os/exec"
	"syscall"
)

// ownGroup makes cancelling terminate the whole group; Wait kills the command
// itself after WaitDelay, and killGroup what is left.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
