package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode"

	"picobot/internal/brief"
	"picobot/internal/chat"
	"picobot/internal/text"
	"picobot/store"
)

// command is a word after a slash. It is answered at once and never sent to a model.
type command struct {
	name  string
	usage string // arguments, as help shows them
	// leads: after it the chat is in the dialog that the answer names, and so is who said it.
	leads bool
	// ends: it ends the dialog that it is said in. Who is in it is led on, too.
	ends bool
	help text.Message
	// run does it within the record's transaction, see store.RunCommand: it may be run
	// again, and changes nothing but the record.
	run func(tx *store.CommandTx, in invocation) (outcome, error)
}

// invocation is a command as somebody said it.
type invocation struct {
	usage string // of the command, as a person writes it
	args  string
	words *text.Catalogue // in the language of who said it
	known commandTable
	about about
}

// about is what commands tell of this gateway.
type about struct {
	agents []string // none = any
	model  func(agent string) Model
	watch  func(store.LatestRun) string
	zone   *time.Location
}

// outcome is what a command has to say, and what follows from it outside the record.
type outcome struct {
	store.CommandAnswer
	// then, if set, is run once the record has the command. A crash before it costs
	// time and nothing else: whoever it would have told finds it in the record.
	then func(*Server)
}

// commandTable is every command, in the order help lists them.
type commandTable []command

func newCommandTable(o Options) commandTable {
	return commandTable{
		{name: "new", usage: "[TITLE]", help: text.HelpNew{}, run: runNew, leads: true},
		{name: "reset", help: text.HelpReset{}, run: runReset},
		{name: "sessions", help: text.HelpSessions{}, run: runSessions},
		{name: "use", usage: "N|ID", help: text.HelpUse{}, run: runUse, leads: true},
		{name: "switch", usage: "DIALOG_ID", help: text.HelpSwitch{}, run: runUse, leads: true},
		{name: "rename", usage: "TITLE", help: text.HelpRename{}, run: runRename},
		{name: "delete", help: text.HelpDelete{}, run: runDelete, leads: true, ends: true},
		{name: "info", help: text.HelpInfo{}, run: runInfo},
		{name: "compact", help: text.HelpCompact{}, run: runCompact(o.CompactionKeepTurns)},
		{name: "stop", help: text.HelpStop{}, run: runStop},
		{name: "agent", usage: "[NAME]", help: text.HelpAgent{}, run: runAgent},
		{name: "help", help: text.HelpHelp{}, run: runHelp},
	}
}

// written is the command as a person writes it.
func (c command) written() string { return strings.TrimSpace("/" + c.name + " " + c.usage) }

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

// runCommand does what a message that starts with a slash asks for, once, and writes
// its answer down; one that comes again gets that answer. Chats that cannot be
// answered on the spot get it through the outbox.
func (s *Server) runCommand(ctx context.Context, m store.Inbound, words *text.Catalogue) (store.Accepted, error) {
	name, args := strings.TrimPrefix(m.Content, "/"), ""
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		name, args = name[:i], name[i:]
	}
	name = strings.ToLower(name)
	cmd, ok := s.commands.find(name)
	if !ok {
		name = cut(name)
		cmd.run = unknown(name)
	}
	in := invocation{
		usage: cmd.written(), args: strings.TrimSpace(args), words: words, known: s.commands,
		about: about{agents: s.opts.Agents, model: s.deps.Model, watch: s.watch, zone: s.opts.Zone},
	}
	var then func(*Server)
	ctx, cancel := s.recordContext(ctx)
	defer cancel()
	got, err := s.deps.Record.RunCommand(ctx, m, name, func(tx *store.CommandTx) (store.CommandAnswer, error) {
		o, err := cmd.run(tx, in)
		then, o.Deliver = o.then, m.Channel != chat.ChannelCLI
		return o.CommandAnswer, err
	})
	if err == nil && !got.Duplicate && then != nil {
		then(s)
	}
	return got, err
}

// cut bounds what is repeated of a word nobody knows.
func cut(name string) string {
	const most = 64
	return brief.Cut(name, most)
}

func say(t string) outcome { return outcome{CommandAnswer: store.CommandAnswer{Text: t}} }

// refuse is say for a command that did nothing.
func refuse(t string) outcome {
	return outcome{CommandAnswer: store.CommandAnswer{Text: t, Failed: true}}
}

// with adds what programs read of an answer.
func (o outcome) with(data any) (outcome, error) {
	b, err := json.Marshal(data)
	o.Data = b
	return o, err
}

func unknown(name string) func(*store.CommandTx, invocation) (outcome, error) {
	return func(_ *store.CommandTx, in invocation) (outcome, error) {
		return refuse(in.words.Say(text.UnknownCommand{Name: name, Known: in.known.names()})), nil
	}
}

func runHelp(_ *store.CommandTx, in invocation) (outcome, error) {
	lines := []string{in.words.Say(text.HelpHeading{})}
	for _, cmd := range in.known {
		lines = append(lines, cmd.written()+": "+in.words.Say(cmd.help))
	}
	return say(strings.Join(lines, "\n")), nil
}

func runStop(tx *store.CommandTx, in invocation) (outcome, error) {
	stopped, err := tx.Cancel("")
	if errors.Is(err, store.ErrNotFound) {
		return say(in.words.Say(text.StopNothing{})), nil
	}
	if err != nil {
		return outcome{}, err
	}
	o := say(in.words.Say(text.StopRequested{}))
	o.then = func(s *Server) { s.tellStopped(stopped) }
	return o, nil
}
