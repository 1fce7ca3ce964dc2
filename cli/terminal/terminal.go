package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"picobot/cli/client"
	"picobot/internal/protocol"
)

// Conversation sends messages and waits for their answers (client.Client).
type Conversation interface {
	Do(ctx context.Context, text string) (client.Outcome, error)
	// Cancel stops the newest message's turn; false when there is none, or when it
	// has been asked to stop already.
	Cancel() bool
}

// FailedError says that a message was answered by the failure of its turn.
type FailedError struct{ Outcome client.Outcome }

// Error says why.
func (e *FailedError) Error() string {
	o := e.Outcome
	switch {
	case o.Command != nil:
		return "the command failed: " + Clean(o.Reply)
	case o.Elsewhere:
		return "the conversation turned to another dialog: the answer is in " + Clean(o.SessionID)
	case o.Status == protocol.TurnCancelled:
		return "the turn was cancelled"
	case o.Problem != nil && o.Problem.Message != "":
		return "the turn failed: " + Clean(o.Problem.Message)
	case o.Reply != "":
		return "the turn failed: " + Clean(o.Reply)
	default:
		return "the turn failed without a reason: see the gateway's log"
	}
}

func failure(o client.Outcome) error {
	if o.Status == protocol.TurnCompleted {
		return nil
	}
	return &FailedError{o}
}

// interrupted makes what a person is told of a wait that was broken off.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted before the answer came: a message that was accepted is still answered, look with `picobot agent`")
	}
	return err
}

// Clean takes out what could drive a terminal: whatever the model or a tool wrote
// must not move the cursor, change colours or set the title.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unwanted(r) {
			return -1
		}
		return r
	}, s)
}

// unwanted reports whether a character is a control other than tab and newline.
func unwanted(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f
}

// line returns s ending in exactly one newline more than it has, unless it ends in one.
func line(s string) string {
	if strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// NoticeText is how a notice reads in a terminal.
func NoticeText(n protocol.Notice) string {
	text := strings.TrimRight(Clean(n.Text), "\n")
	switch n.Level {
	case "warn", "error":
		return fmt.Sprintf("%s: %s", n.Level, text)
	default:
		return text
	}
}
