package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"picobot/cli/client"
)

// Editor reads lines from a person and writes whole lines above what they are typing.
type Editor interface {
	io.Writer
	// ReadLine returns io.EOF for Ctrl-D on an empty line.
	ReadLine() (string, error)
	// Interrupts tells of Ctrl-C, which leaves what is typed as it is.
	Interrupts() <-chan struct{}
}

// Talk sends messages without waiting for those before them (client.Client).
type Talk interface {
	Send(text string) (wait func(context.Context) (client.Outcome, error))
	// CancelRunning stops the running turn; false when there is none, or when it has
	// been asked to stop already.
	CancelRunning() bool
	// Outstanding counts messages that the gateway has not taken, and open turns.
	Outstanding() (unsent, open int)
}

// Interactive reads messages until the person leaves and sends each at once; screen
// shows what comes. inside tells whether the gateway ends with this process.
func Interactive(ctx context.Context, c Talk, in Editor, screen *Screen, inside func() bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // after the farewell: messages are forgotten when nobody waits for them
	err := converse(ctx, c, in, screen)
	if err == nil {
		farewell(ctx, c, screen, inside())
	}
	return err
}

// converse returns nil when the person leaves.
func converse(ctx context.Context, c Talk, in Editor, screen *Screen) error {
	lines, ended, stop := make(chan inputLine), make(chan ending), stopping{c: c}
	// Reading cannot be interrupted: its goroutine ends when the editor is closed.
	go typed(ctx, in, lines)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-in.Interrupts():
			say, leave := stop.pressed(time.Now())
			if leave {
				return nil
			}
			screen.Say(say)
		case l := <-lines:
			switch text := strings.TrimSpace(Clean(l.text)); {
			case errors.Is(l.err, io.EOF):
				return nil
			case l.err != nil:
				return fmt.Errorf("read from the terminal: %w", l.err)
			case text != "":
				stop.reset()
				screen.Asked(text)
				go await(ctx, c.Send(text), ended)
			}
		case e := <-ended:
			var refused *client.RefusedError
			switch {
			case ctx.Err() != nil:
				return nil // told to end: the farewell says the rest
			case e.err == nil:
				screen.Answered(e.outcome)
			case errors.As(e.err, &refused):
				screen.Say(Clean(e.err.Error()))
			default:
				return interrupted(e.err)
			}
		}
	}
}

func typed(ctx context.Context, in Editor, lines chan<- inputLine) {
	for {
		text, err := in.ReadLine()
		select {
		case lines <- inputLine{text: text, err: err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// ending is how a message ended.
type ending struct {
	outcome client.Outcome
	err     error
}

func await(ctx context.Context, wait func(context.Context) (client.Outcome, error), ended chan<- ending) {
	o, err := wait(ctx)
	select {
	case ended <- ending{o, err}:
	case <-ctx.Done():
	}
}
