// Command picobot is an agent gateway for the terminal and for chats.
package main

import (
	"context"
	"os"

	"go.temporal.io/sdk/worker"

	"picobot/cli"
	"picobot/cli/app"
	"picobot/cli/embedded"
	"picobot/internal/tools/proc"
)

func main() {
	proc.Main() // never returns in a process that only supervises a command of the agent
	build := cli.ReadBuild()
	// Else the SDK reads the whole binary, to name it in the history of runs.
	worker.SetBinaryChecksum(build.Version + " " + build.Commit)
	sys := cli.OS(build, app.Runtime{StartEngine: embedded.Start})
	os.Exit(cli.Main(context.Background(), sys))
}
