package terminal

import (
	"context"
	"errors"
	"strings"

	"picobot/cli/client"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

// Conversation sends messages and waits for their answers (client.Client).
type Conversation interface {
	Do(ctx context.Context, text string) (client.Outcome, error)
	// Cancel stops the newest message's turn; false when there is none, or when it
	// has been asked to stop already.
	Cancel() bool
}

// FailedError says that a message was answered by the failure of its turn.
type FailedError struct {
	Outcome client.Outcome
	Words   *text.Catalogue // nil = English
}

// Error says why.
func (e *FailedError) Error() string { return said(e.Words, e.message()) }

func (e *FailedError) message() text.Message {
	o := e.Outcome
	switch {
	case o.Command != nil:
		return text.CommandHasFailed{Detail: Clean(o.Reply)}
	case o.Elsewhere:
		return text.AnswerElsewhere{SessionID: Clean(o.SessionID)}
	case o.Status == protocol.TurnCancelled:
		return text.TurnWasCancelled{}
	case o.Problem != nil && o.Problem.Message != "":
		return text.TurnHasFailed{Detail: Clean(o.Problem.Message)}
	case o.Reply != "":
		return text.TurnHasFailed{Detail: Clean(o.Reply)}
	default:
		return text.TurnFailedUnexplained{}
	}
}

// said is a text in the person's language.
func said(words *text.Catalogue, m text.Message) string {
	if words == nil {
		words = text.For(text.English)
	}
	return words.Say(m)
}

func (o Output) failure(out client.Outcome) error {
	if out.Status == protocol.TurnCompleted {
		return nil
	}
	return &FailedError{Outcome: out, Words: o.Words}
}

// told makes what a person is told of a wait that ended without an answer.
func (o Output) told(err error) error {
	var refused *client.RefusedError
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New(said(o.Words, text.WaitInterrupted{}))
	case errors.As(err, &refused):
		return &notTaken{refused, said(o.Words, text.MessageRefused{Message: Clean(refused.Message), Code: refused.Code})}
	default:
		return err
	}
}

// notTaken is a RefusedError in the person's language.
type notTaken struct {
	*client.RefusedError
	text string
}

func (e *notTaken) Error() string { return e.text }
func (e *notTaken) Unwrap() error { return e.RefusedError }

// Clean takes out what could drive a terminal: whatever the model or a tool wrote
// must not move the cursor, change colours, set the title or show in another order.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unwanted(r) {
			return -1
		}
		return r
	}, s)
}

// unwanted reports whether a character is a control other than tab and newline, or one
// that shows those around it in another order than they have (Unicode's embeddings,
// overrides and isolates). The marks that texts from right to left need stay.
func unwanted(r rune) bool {
	control := r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f
	reorders := r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	return control || reorders
}

// line returns s ending in exactly one newline more than it has, unless it ends in one.
func line(s string) string {
	if strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// NoticeText is how a notice reads in a terminal.
func NoticeText(n protocol.Notice, words *text.Catalogue) string {
	notice := strings.TrimRight(Clean(n.Text), "\n")
	switch n.Level {
	case "warn":
		return said(words, text.NoticeWarning{Notice: notice})
	case "error":
		return said(words, text.NoticeError{Notice: notice})
	default:
		return notice
	}
}
