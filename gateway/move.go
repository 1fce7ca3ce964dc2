package gateway

import (
	"picobot/internal/protocol"
	"picobot/internal/text"
	"picobot/store"
)

// move is that somebody has taken a chat to another dialog. Whoever else is connected
// to the chat stays where they are, and is told.
type move struct {
	commandID string
	to        store.Session
}

// moved tells every connection of a chat but the one that moved it.
func (d *CLI) moved(by *conn, m move) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.chats[by.hello.ChatID] {
		if c == by {
			continue
		}
		select {
		case c.moves <- m:
		default: // so far behind that it is as good as gone
		}
	}
}

// tellMove tells the peer, unless it is in that dialog already.
func (c *conn) tellMove(m move) {
	if c.attached.ID == m.to.ID {
		return
	}
	title, here := m.to.Title, c.attached.Title
	if text.Untitled(title) && m.to.MessageCount == 0 {
		title = c.words.Say(text.DefaultTitle{})
	} else if text.Untitled(title) {
		title = c.words.Say(text.UntitledDialog{})
	}
	if text.Untitled(here) {
		here = c.words.Say(text.UntitledDialog{})
	}
	c.write(protocol.Notice{ID: "moved/" + m.commandID, Level: "info", Text: c.words.Say(text.ChatMoved{Title: title, Here: here, DialogID: m.to.DialogID})})
}
