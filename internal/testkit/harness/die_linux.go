package harness

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the process when the test's process dies, also
// when that is killed and cleans nothing up.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
