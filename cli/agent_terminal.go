package cli

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"

	"picobot/cli/api"
	"picobot/cli/app"
	"picobot/cli/client"
	"picobot/cli/terminal/history"
	"picobot/cli/terminal/tui"
	"picobot/gateway"
	"picobot/internal/chat"
	"picobot/internal/text"
)

// listDialogs lists the dialogs of the chat that is talked in.
type listDialogs func(context.Context) ([]tui.Session, error)

// onTerminal is the way to talk with a person on a terminal.
func onTerminal(sys System, o app.Options, words *text.Catalogue, list listDialogs) (conversation, error) {
	typed, err := history.Open(filepath.Join(o.Home.Dir, "history"))
	if err != nil {
		return conversation{}, err
	}
	p := tui.NewProgram(tui.Options{
		Settings: tui.Settings{
			Words:           words,
			Commands:        commands(words),
			Colour:          sys.getenv("NO_COLOR") == "",
			MaxMessageBytes: o.Config.Gateway.MaxMessageBytes,
		},
		In:       sys.Stdin,
		Out:      sys.tty,
		Env:      sys.Env,
		Typed:    typed,
		Now:      sys.Now,
		Sessions: list,
	})
	return conversation{
		frame:   p.Frame,
		say:     p.Say,
		lost:    p.Lost,
		earlier: p.Earlier,
		cancel:  (*client.Client).CancelRunning,
		hold: func(ctx context.Context, c *client.Client, inside func() bool) error {
			return p.Run(ctx, c, inside)
		},
		broke: p.End,
	}, nil
}

// commands are the slash commands that this build's gateway knows.
func commands(words *text.Catalogue) []tui.Command {
	var out []tui.Command
	for _, c := range gateway.Commands() {
		out = append(out, tui.Command{Name: c.Name, Usage: c.Usage, Help: words.Say(c.Help)})
	}
	return out
}

// mostDialogs is how many dialogs can be chosen from.
const mostDialogs = 1000

// dialogs lists a chat's dialogs, the one that was used last first.
func dialogs(ctx context.Context, at client.Endpoint, chatID string) ([]tui.Session, error) {
	if at.URL == "" {
		return nil, errors.New("no gateway is connected")
	}
	hc := &http.Client{Transport: &http.Transport{}}
	c := api.New(at.URL, at.Token, hc)
	defer c.Close()
	query := url.Values{"channel": {chat.ChannelCLI}, "chat_id": {chatID}, "limit": {strconv.Itoa(mostDialogs)}}
	found, err := api.List[gateway.Session](ctx, c, api.Path("sessions"), query, "cursor", mostDialogs)
	if err != nil {
		return nil, err
	}
	var out []tui.Session
	for _, s := range found {
		out = append(out, tui.Session{ID: s.ID, Title: s.Title, Messages: int(s.MessageCount)})
	}
	return out, nil
}
