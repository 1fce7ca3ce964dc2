//go:build !unix

package proc

import "os/exec"

// There are no process groups here: only the command itself is killed.
func ownGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
