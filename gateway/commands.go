package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"picobot/internal/protocol"
	"picobot/internal/text"
	"picobot/store"
)

// command is a word after a slash. It is answered at once and never sent to a model.
type command struct {
	name  string
	usage string // arguments, as help shows them
	help  text.Message
	run   func(ctx context.Context, c *conn, args string) answer
}

// answer is what a command has to say.
type answer struct {
	failed bool
	text   string
	data   json.RawMessage
}

// commandTable is every command, in the order help lists them.
type commandTable []command

func newCommandTable() commandTable {
	return commandTable{
		{name: "stop", help: text.HelpStop{}, run: runStop},
		{name: "help", help: text.HelpHelp{}, run: runHelp},
	}
}

func (t commandTable) find(name string) (command, bool) {
	for _, cmd := range t {
		if cmd.name == name {
			return cmd, true
		}
	}
	return command{}, false
}

// names lists the commands as a person writes them.
func (t commandTable) names() string {
	var out []string
	for _, cmd := range t {
		out = append(out, "/"+cmd.name)
	}
	return strings.Join(out, " ")
}

// command answers a message that starts with a slash.
func (c *conn) command(ctx context.Context, m protocol.UserMessage) {
	name, args := strings.TrimPrefix(m.Content, "/"), ""
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		name, args = name[:i], name[i:]
	}
	name = strings.ToLower(name)
	var a answer
	if cmd, ok := c.server.commands.find(name); ok {
		a = cmd.run(ctx, c, strings.TrimSpace(args))
	} else {
		name = cut(name)
		a = answer{failed: true, text: c.words.Say(text.UnknownCommand{Name: name, Known: c.server.commands.names()})}
	}
	c.write(protocol.Accepted{ID: m.ID, SessionID: c.attached.ID})
	c.write(protocol.Command{ID: m.ID, Name: name, OK: !a.failed, Text: a.text, Data: a.data})
}

// cut bounds what is repeated of a word nobody knows.
func cut(name string) string {
	const most = 64
	if r := []rune(name); len(r) > most {
		return string(r[:most]) + "…"
	}
	return name
}

func runHelp(_ context.Context, c *conn, _ string) answer {
	var lines []string
	for _, cmd := range c.server.commands {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("/%s %s", cmd.name, cmd.usage))+": "+c.words.Say(cmd.help))
	}
	return answer{text: c.words.Say(text.HelpHeading{}) + "\n" + strings.Join(lines, "\n")}
}

func runStop(ctx context.Context, c *conn, _ string) answer {
	_, err := c.server.stopTurn(ctx, c.attached.ID, "")
	switch {
	case errors.Is(err, store.ErrNotFound):
		return answer{text: c.words.Say(text.StopNothing{})}
	case err != nil:
		c.log.Error("/stop failed", "session", c.attached.ID, "error", err)
		return answer{failed: true, text: c.words.Say(text.CommandFailed{Name: "stop", Detail: "the record cannot be written now"})}
	}
	return answer{text: c.words.Say(text.StopRequested{})}
}
