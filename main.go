// Command picobot is an agent gateway for the terminal and for chats.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"picobot/cli"
	"picobot/cli/app"
	"picobot/cli/embedded"
	"picobot/internal/tools/proc"
)

// What the linker may be told (-ldflags "-X main.version=…"); else the go command's
// own stamp counts.
var version, commit string

func main() {
	proc.Main() // never returns in a process that only supervises a command of the agent
	info, _ := debug.ReadBuildInfo()
	build := cli.NewBuild(version, commit, info)
	os.Exit(cli.Main(context.Background(), cli.OS(build, app.Runtime{StartEngine: embedded.Start})))
}
