package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"picobot/cli/client"
)

// Editor reads lines from a person and writes above what they are typing.
type Editor interface {
	io.Writer
	// ReadLine returns io.EOF for Ctrl-D and ErrInterrupt for Ctrl-C.
	ReadLine() (string, error)
}

// ErrInterrupt is what an Editor returns for Ctrl-C.
var ErrInterrupt = errors.New("interrupted")

// Interactive reads messages until Ctrl-D and waits for the answer to each; screen
// shows what comes. Ctrl-C during a turn is a signal, which is for the caller to
// turn into a Cancel.
func Interactive(ctx context.Context, c Conversation, in Editor, screen *Screen) error {
	for ctx.Err() == nil {
		text, err := in.ReadLine()
		switch {
		case errors.Is(err, ErrInterrupt):
			screen.Say("press Ctrl-D to leave")
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read from the terminal: %w", err)
		}
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		screen.Asked(text)
		o, err := c.Do(ctx, text)
		var refused *client.RefusedError
		switch {
		case err == nil:
			screen.Answered(o)
		case errors.As(err, &refused):
			screen.Say(err.Error())
		default:
			return interrupted(err)
		}
	}
	return nil
}
