package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

//go:embed session_send.md
var sessionSendDescription string

// maxSent bounds one message, in characters. It is far more than people read, and
// what a channel cannot take at once it sends in parts.
const maxSent = 30_000

type sessionSendArgs struct {
	Content string `json:"content" jsonschema:"the message, as Markdown"`
	Channel string `json:"channel,omitempty" jsonschema:"the channel of chat_id, such as cli or feishu; default: the one you are in"`
	ChatID  string `json:"chat_id,omitempty" jsonschema:"the chat; default: the one you are in"`
}

// Outbox is what session_send writes to: a transaction of the record. Send returns
// where the message goes, and an error that says so when the turn's person may not
// write there.
type Outbox interface {
	Send(channel, chatID, content string) (toChannel, toChat string, err error)
}

// SessionSend is the tool session_send. Its call's Tx is an Outbox.
func SessionSend() Tool {
	return NewRecord(Spec[sessionSendArgs]{
		Name:        "session_send",
		Description: sessionSendDescription,
		Summary: func(a sessionSendArgs) string {
			if a.ChatID == "" {
				return a.Content
			}
			return "to " + a.ChatID + ": " + a.Content
		},
		Refine: func(s *jsonschema.Schema) {
			s.Properties["content"].MaxLength = jsonschema.Ptr(maxSent)
		},
	}, func(_ context.Context, out Outbox, _ Call, a sessionSendArgs) (string, error) {
		if strings.TrimSpace(a.Content) == "" {
			return "", errors.New("content is empty: there is nothing to send")
		}
		channel, chat, err := out.Send(a.Channel, a.ChatID, a.Content)
		if err != nil {
			return "", fmt.Errorf("cannot send to %s: %w", quote(a.ChatID), err)
		}
		return fmt.Sprintf("The message is on its way to chat %s of channel %s.", quote(chat), quote(channel)), nil
	})
}
