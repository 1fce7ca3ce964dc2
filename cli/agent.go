package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"picobot/cli/app"
	"picobot/cli/client"
	"picobot/cli/connect"
	"picobot/cli/terminal"
	"picobot/cli/terminal/tui"
	"picobot/internal/id"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

// agentFlags are the flags of `picobot agent`.
type agentFlags struct {
	gateway, session, chat, agent, token string
	message                              string
	json                                 bool
}

func newAgent(sys System, g *globals) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Talk to the agent in this terminal",
		Long: `Talk to the agent in this terminal. A running gateway is used; when none answers, one
runs inside this command for as long as it lasts.

With -m, one message is sent and its reply printed. When standard input is no terminal,
each of its lines is a message: replies are printed in order, what goes wrong with one
message is said on standard error, and the exit code is 0 unless no message was taken.`,
		Example: `  picobot agent -m "calc 12*7"
  echo "what time is it?" | picobot agent`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return runAgent(cmd.Context(), sys, g, f, cmd.Flags().Changed("message"))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.gateway, "gateway", "", "the gateway's `URL` (default: the one of the home)")
	flags.StringVar(&f.session, "session", "", "continue the session with this `ID`")
	flags.StringVar(&f.chat, "chat", "", "the chat's `ID` (default: one of this home)")
	flags.StringVar(&f.agent, "agent", "", "`NAME` of the agent that answers in a new session")
	flags.StringVar(&f.token, "token", "", "the gateway's `token` (default: gateway.token of the configuration or the home)")
	flags.StringVarP(&f.message, "message", "m", "", "send one message and print the reply")
	flags.BoolVar(&f.json, "json", false, "print each reply as a JSON object")
	completeFlagOf(cmd, "session", g.sessionIDs(sys))
	completeFlagOf(cmd, "chat", g.chatIDs(sys))
	completeFlagOf(cmd, "agent", g.agentNames(sys))
	return cmd
}

func (f *agentFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("message") && strings.TrimSpace(f.message) == "" {
		return usagef("-m needs a message that is not empty")
	}
	if !cmd.Flags().Changed("gateway") {
		return nil
	}
	u, err := url.Parse(f.gateway)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usagef("--gateway %q is no address of a gateway: write it like http://127.0.0.1:19876", f.gateway)
	}
	if f.token == "" && !loopback(u.Hostname()) {
		// This home's token is for its own gateway; it is nobody else's business.
		return usagef("--gateway %s is on another machine: give its token with --token", f.gateway)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// conversation is a way to talk: it shows frames and notices, and holds the talk.
type conversation struct {
	frame func(protocol.ServerFrame)
	say   func(string)
	lost  func(error)
	// earlier shows rows from before; with newsOnly, only those are of interest that
	// nobody has seen in a terminal of this home.
	earlier  func([]protocol.Message)
	newsOnly bool
	// cancel is what a SIGINT stops.
	cancel func(c *client.Client) bool
	// hold talks until it is over. inside tells whether the gateway runs in this process.
	hold func(ctx context.Context, c *client.Client, inside func() bool) error
	// broke, if set, is told that the conversation cannot go on: nobody may be waiting.
	broke func(error)
}

func runAgent(ctx context.Context, sys System, g *globals, f agentFlags, oneMessage bool) (err error) {
	o, err := g.prepareClient(sys)
	if err != nil {
		return err
	}
	clientID, err := o.Home.ClientID()
	if err != nil {
		return err
	}
	chatID := f.chat
	if chatID == "" {
		chatID = clientID
	}
	texts := text.For(o.Config.Locale)
	var finder *connect.Finder
	talk, err := newConversation(sys, o, f, oneMessage, func(ctx context.Context) ([]tui.Session, error) {
		return dialogs(ctx, finder.At(), chatID)
	})
	if err != nil {
		return err
	}
	o.Say, o.Command = talk.say, "agent"
	hello := protocol.Hello{ClientID: clientID, ChatID: f.chat, SessionID: f.session, Agent: f.agent}
	if o.Config.Named("locale") {
		hello.Locale = o.Config.Locale
	}
	httpClient := &http.Client{Transport: &http.Transport{}} // no proxy stands between a person and their own gateway
	defer httpClient.CloseIdleConnections()
	var inside atomic.Bool
	finder = connect.New(connect.Options{
		Home:  o.Home,
		URL:   f.gateway,
		Addr:  o.Config.Gateway.Addr,
		Token: func() (string, error) { return token(f, o) },
		Start: func(ctx context.Context, ready func(string)) error {
			defer inside.Store(false)
			return startGateway(sys, g, o)(ctx, ready)
		},
		Started: func(url string) {
			inside.Store(true)
			talk.say(texts.Say(text.GatewayStartedInside{URL: url}))
		},
		TemporalAway: func() { talk.say(texts.Say(text.TemporalAway{})) },
		Patience:     time.Minute,
		Poll:         50 * time.Millisecond,
		HTTP:         httpClient,
	})
	watched := newWatched(o.Home, talk)
	options := client.Options{
		Locate:    finder.Locate,
		Hello:     hello,
		NewID:     id.NewMaker(sys.Now).New,
		OnFrame:   watched.frame,
		Earlier:   watched.wanted,
		OnEarlier: talk.earlier,
		OnLost:    talk.lost,
		HTTP:      httpClient,
		Timing:    client.DefaultTiming(),
	}
	c := client.New(options)

	ctx, stop := sys.interruptible(ctx, func() bool { return talk.cancel(c) }, func() { talk.say(texts.Say(text.StoppingTurn{})) })
	defer stop()
	runCtx, hangUp := context.WithCancel(ctx)
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		// Whoever waits for an answer is told, too.
		if err := c.Run(runCtx); runCtx.Err() == nil && talk.broke != nil {
			talk.broke(err)
		}
	}()
	err = talk.hold(ctx, c, inside.Load)
	hangUp()
	<-ran
	if err := watched.close(); err != nil {
		_, _ = fmt.Fprintln(sys.Stderr, texts.Say(text.SeenNotKept{Detail: err.Error()}))
	}
	return errors.Join(err, finder.Close())
}

// newConversation chooses the way to talk. list lists the chat's dialogs.
func newConversation(sys System, o app.Options, f agentFlags, oneMessage bool, list listDialogs) (conversation, error) {
	words := text.For(o.Config.Locale)
	if !oneMessage && !f.json && sys.Terminal && sys.getenv("TERM") != "dumb" {
		return onTerminal(sys, o, words, list)
	}
	aside := terminal.NewAside(sys.Stderr, words)
	out := terminal.Output{Stdout: sys.Stdout, Stderr: sys.Stderr, JSON: f.json, Words: words}
	talk := conversation{
		frame:    aside.Frame,
		say:      aside.Say,
		lost:     func(error) { aside.Say(words.Say(text.GatewayLost{})) },
		earlier:  aside.Earlier,
		newsOnly: true,
		cancel:   (*client.Client).Cancel,
	}
	if oneMessage {
		talk.hold = func(ctx context.Context, c *client.Client, _ func() bool) error {
			return terminal.One(ctx, c, f.message, out)
		}
		return talk, nil
	}
	talk.hold = func(ctx context.Context, c *client.Client, _ func() bool) error {
		return terminal.Lines(ctx, c, sys.Stdin, o.Config.Gateway.MaxMessageBytes, out)
	}
	return talk, nil
}

// token is what a client of this home presents.
func token(f agentFlags, o app.Options) (string, error) {
	if f.token != "" {
		return f.token, nil
	}
	if t := o.Config.Gateway.Token.Reveal(); t != "" {
		return t, nil
	}
	return o.Home.Token()
}

// startGateway returns how a gateway is run inside this command. It logs to a file:
// the terminal belongs to the conversation.
func startGateway(sys System, g *globals, o app.Options) func(context.Context, func(string)) error {
	return func(ctx context.Context, ready func(url string)) error {
		if err := o.Config.Absent(); err != nil {
			return err
		}
		log, closeLog, err := g.logger(sys, o, filepath.Join(o.Home.LogsDir(), "gateway.log"))
		if err != nil {
			return err
		}
		defer func() { _ = closeLog() }()
		o.Log = log
		err = sys.Runtime.Gateway(ctx, o, func(a app.Addresses) { ready(a.Gateway) })
		if errors.Is(err, app.ErrYielded) {
			return connect.ErrYielded
		}
		return err
	}
}

// interruptible is untilSignal for a conversation: the first Ctrl-C of a turn only
// stops that turn.
func (s System) interruptible(ctx context.Context, cancelTurn func() bool, stopping func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	released := make(chan struct{})
	go func() {
		for asked := false; ; {
			select {
			case <-released:
				return
			case sig := <-s.Signals:
				switch {
				case asked:
					s.Exit(exitKilled)
				case sig == syscall.SIGINT && cancelTurn():
					stopping()
				default:
					asked = true
					cancel()
				}
			}
		}
	}()
	return ctx, func() { close(released); cancel() }
}
