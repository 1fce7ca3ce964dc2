// Command picobot is an agent gateway for the terminal and for chats.
package main

import (
	"context"
	"os"

	"picobot/cli"
	"picobot/cli/app"
	"picobot/cli/embedded"
	"picobot/internal/tools/proc"
)

func main() {
	proc.Main() // never returns in a process that only supervises a command of the agent
	sys := cli.OS(cli.ReadBuild(), app.Runtime{StartEngine: embedded.Start})
	os.Exit(cli.Main(context.Background(), sys))
}
