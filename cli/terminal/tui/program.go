package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"picobot/cli/client"
	"picobot/cli/terminal/history"
	"picobot/cli/terminal/paint"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

// Talk sends messages without waiting for those before them (client.Client).
type Talk interface {
	Send(text string, media ...protocol.Media) (wait func(context.Context) (client.Outcome, error))
	// CancelRunning stops the running turn; false when there is none, or when it has
	// been asked to stop already.
	CancelRunning() bool
	// Outstanding counts messages that the gateway has not taken, and open turns.
	Outstanding() (unsent, open int)
}

// Options are what a Program needs.
type Options struct {
	Settings
	In    io.Reader
	Out   io.Writer
	Env   func(name string) (string, bool)
	Typed *history.History
	Now   func() time.Time
	// Sessions lists the dialogs of this chat.
	Sessions func(context.Context) ([]Session, error)
}

// Program is a conversation on a terminal. Frame, Earlier, Lost and Say may be called
// from anywhere, and wait until Run takes what they bring.
type Program struct {
	o     Options
	tea   *tea.Program
	tty   *tty
	shell *shell
}

// NewProgram returns a Program that has not touched the terminal yet.
func NewProgram(o Options) *Program {
	o.History = o.Typed.Texts()
	p := &Program{o: o, tty: newTTY(o.In, o.Out)}
	p.shell = &shell{o: o, model: New(o.Settings, o.Now())}
	term, _ := o.Env("TERM")
	p.tea = tea.NewProgram(p.shell,
		tea.WithoutRenderer(), // package paint asks nothing of the terminal
		tea.WithInput(o.In),
		tea.WithOutput(io.Discard),
		tea.WithoutSignalHandler(),
		tea.WithEnvironment([]string{"TERM=" + term}),
	)
	return p
}

// Frame takes a frame. It is a client.Options.OnFrame.
func (p *Program) Frame(f protocol.ServerFrame) { p.tea.Send(frame{f}) }

// Earlier takes rows from before. It is a client.Options.OnEarlier.
func (p *Program) Earlier(rows []protocol.Message) { p.tea.Send(earlier{rows}) }

// Lost is told that the connection is lost. It is a client.Options.OnLost.
func (p *Program) Lost(error) { p.tea.Send(lost{}) }

// Say shows one line.
func (p *Program) Say(line string) { p.tea.Send(say{line}) }

// End ends the conversation because of err.
func (p *Program) End(err error) { p.tea.Send(answered{err: err}) }

// Run takes the terminal until the person leaves, ctx ends or the conversation breaks
// off, which is an error. inside tells whether the gateway ends with this process.
func (p *Program) Run(ctx context.Context, c Talk, inside func() bool) error {
	talking, hangUp := context.WithCancel(ctx)
	defer hangUp() // after the farewell: messages are forgotten when nobody waits for them
	if err := p.tty.take(); err != nil {
		return err
	}
	width, height := p.tty.size()
	s := p.shell
	s.ctx, s.talk, s.tty, s.painter = talking, c, p.tty, paint.New(p.o.Out, height)
	s.begin = s.apply(sized{width, height})
	s.epoch = s.model.epoch // nothing was drawn in another size
	stopWatching := p.tty.watchSize(func(width, height int) { p.tea.Send(sized{width, height}) })
	ended := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			p.tea.Quit()
		case <-ended:
		}
	}()
	_, err := p.tea.Run()
	close(ended)
	stopWatching()
	err = errors.Join(err, s.close(), p.tty.giveBack())
	if err != nil {
		return fmt.Errorf("talk on the terminal: %w", err)
	}
	if s.model.Err() != nil && ctx.Err() == nil {
		return s.model.Err()
	}
	farewell(ctx, c, inside(), func(m text.Message) { _, _ = fmt.Fprintln(p.o.Out, p.o.Words.Say(m)) })
	return nil
}

// shell does what the Model wants done.
type shell struct {
	o       Options
	model   Model
	ctx     context.Context // the program's life, which bubbletea does not hand on
	talk    Talk
	tty     *tty
	painter *paint.Painter
	printed int // blocks
	epoch   int
	paged   int     // the epoch of the reader's page
	begin   tea.Cmd // what the first message wanted, before anything ran
}

func (s *shell) Init() tea.Cmd { return s.begin }

// View is nothing: package paint draws.
func (s *shell) View() tea.View { return tea.View{} }

func (s *shell) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := s.apply(msg)
	if err := s.paint(); err != nil {
		s.model.err = fmt.Errorf("write to the terminal: %w", err)
		return s, tea.Quit
	}
	return s, cmd
}

func (s *shell) apply(msg any) tea.Cmd {
	var todo []effect
	s.model, todo = s.model.Update(msg, s.o.Now())
	var cmds []tea.Cmd
	for _, e := range todo {
		cmds = append(cmds, s.do(e))
	}
	return tea.Batch(cmds...)
}

// do does one thing. What takes time is done by the command that it returns.
func (s *shell) do(e effect) tea.Cmd {
	switch e := e.(type) {
	case send:
		wait := s.talk.Send(e.text, e.media...)
		return func() tea.Msg {
			o, err := wait(s.ctx)
			return answered{number: e.number, outcome: o, err: err}
		}
	case cancelTurn:
		return s.apply(cancelled{stopped: s.talk.CancelRunning()})
	case remember:
		if err := s.o.Typed.Add(e.text); err != nil {
			return s.apply(say{err.Error()})
		}
	case loadSessions:
		return func() tea.Msg {
			list, err := s.o.Sessions(s.ctx)
			return sessionsLoaded{sessions: list, err: err}
		}
	case readImages:
		return func() tea.Msg { return findImages(e) }
	case tick:
		return tea.Tick(100*time.Millisecond, func(time.Time) tea.Msg { return ticked{} })
	case suspend:
		return s.suspend
	case leave:
		return tea.Quit
	}
	return nil
}

func (s *shell) paint() error {
	m := s.model
	if page := m.Page(); page != nil {
		again := m.epoch != s.paged
		s.paged = m.epoch
		return s.painter.Page(page, again) // what is over meanwhile is printed later
	}
	if err := s.painter.Back(); err != nil {
		return err
	}
	defer func() { s.printed, s.epoch = m.Blocks(), m.epoch }()
	if m.epoch != s.epoch {
		return s.painter.Redraw(m.height, m.Final(0), m.Frame())
	}
	var final []string
	if m.Blocks() > s.printed {
		final = m.Final(s.printed)
	}
	return s.painter.Paint(final, m.Frame())
}

// close leaves what is over on the screen, and what has been written of an answer.
func (s *shell) close() error {
	m := s.model
	m.endAnswer()
	if err := s.painter.Back(); err != nil {
		return err
	}
	return s.painter.Close(m.Final(s.printed))
}

// suspend puts the process into the background, and comes back.
func (s *shell) suspend() tea.Msg {
	if err := s.tty.suspend(); err != nil {
		return say{err.Error()}
	}
	return redraw{}
}
