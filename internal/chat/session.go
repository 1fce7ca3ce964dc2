package chat

import (
	"fmt"
	"strings"
)

// Channels that exist.
const (
	ChannelCLI    = "cli"
	ChannelFeishu = "feishu"
)

// SessionKey names one dialog of one chat of one channel.
type SessionKey struct {
	Channel  string
	ChatID   string
	DialogID string
}

// ID writes the key as a session id: channel:chat:dialog, with every ':' inside
// a part written %3A.
func (k SessionKey) ID() string {
	return escape(k.Channel) + ":" + escape(k.ChatID) + ":" + escape(k.DialogID)
}

// ParseSessionID is the inverse of SessionKey.ID.
func ParseSessionID(id string) (SessionKey, error) {
	parts := strings.Split(id, ":")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return SessionKey{}, fmt.Errorf("session id %q is not of the form channel:chat:dialog", id)
	}
	return SessionKey{Channel: unescape(parts[0]), ChatID: unescape(parts[1]), DialogID: unescape(parts[2])}, nil
}

func escape(s string) string { return strings.ReplaceAll(s, ":", "%3A") }

func unescape(s string) string { return strings.ReplaceAll(s, "%3A", ":") }
