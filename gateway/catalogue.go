package gateway

import "picobot/internal/text"

// CommandInfo is a slash command as help lists it.
type CommandInfo struct {
	Name  string // without the slash
	Usage string // its arguments, "" = none
	Help  text.Message
}

// Commands lists the slash commands, for clients that complete them.
func Commands() []CommandInfo {
	var out []CommandInfo
	for _, cmd := range newCommandTable(Options{}) {
		out = append(out, CommandInfo{Name: cmd.name, Usage: cmd.usage, Help: cmd.help})
	}
	return out
}
