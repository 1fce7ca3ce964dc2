package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"picobot/internal/chat"
	"picobot/store"
)

// ErrNobodyConnected says that no client of the message's chat is connected. The
// message stays pending: the next one to connect gets it.
var ErrNobodyConnected = errors.New("no client of this chat is connected")

// CLI hands outbound messages of the CLI channel to connected clients.
type CLI struct {
	mu    sync.Mutex
	chats map[string]map[*conn]struct{}
}

func newCLI() *CLI { return &CLI{chats: map[string]map[*conn]struct{}{}} }

// Send hands a message to every connected client of its chat and returns once one
// of them has it. It fails with ErrNobodyConnected when none can take it.
func (d *CLI) Send(ctx context.Context, o store.Outbound) (externalID string, err error) {
	if o.Channel != chat.ChannelCLI {
		return "", fmt.Errorf("send message %s: channel %s is not the terminal's", o.ID, o.Channel)
	}
	asked, answers := d.offer(o)
	for range asked {
		select {
		case taken := <-answers:
			if taken {
				return o.ID, nil
			}
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return "", ErrNobodyConnected
}

// offer is a message on its way to a socket, which answers once.
type offer struct {
	store.Outbound
	taken chan<- bool
}

func (d *CLI) offer(o store.Outbound) (asked int, answers <-chan bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	conns := d.chats[o.ChatID]
	taken := make(chan bool, len(conns))
	for c := range conns {
		select {
		case c.offers <- offer{o, taken}:
			asked++
		default: // so far behind that it is as good as gone
		}
	}
	return asked, taken
}

// connected reports whether a client of the chat is connected.
func (d *CLI) connected(chatID string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.chats[chatID]) > 0
}

func (d *CLI) join(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.chats[c.hello.ChatID] == nil {
		d.chats[c.hello.ChatID] = map[*conn]struct{}{}
	}
	d.chats[c.hello.ChatID][c] = struct{}{}
}

// leave takes a connection out; what it was offered and did not take goes back.
func (d *CLI) leave(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.chats[c.hello.ChatID], c)
	if len(d.chats[c.hello.ChatID]) == 0 {
		delete(d.chats, c.hello.ChatID)
	}
	for {
		select {
		case o := <-c.offers:
			o.taken <- false
		default:
			return
		}
	}
}
