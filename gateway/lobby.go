package gateway

import (
	queue "container/list"
	"net"
	"net/http"
	"sync"
)

// lobby holds the connections that may go when room is needed: those that have not
// shown the token yet, and those that ask for nothing at the moment. Whoever can reach
// the port can fill it, so it has room for a few only, and one more takes the place of
// the one that has waited longest: somebody with a token is through before it is that.
type lobby struct {
	room int

	mu      sync.Mutex
	waiting *queue.List // of net.Conn, the one that came first in front
	places  map[net.Conn]*queue.Element
}

func newLobby(room int) *lobby {
	return &lobby{room: room, waiting: queue.New(), places: map[net.Conn]*queue.Element{}}
}

// changed follows a connection from its beginning to its end (see http.Server.ConnState).
func (l *lobby) changed(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew, http.StateIdle:
		l.enter(c)
	case http.StateHijacked, http.StateClosed:
		l.leave(c)
	case http.StateActive: // a stranger still, until it shows the token
	}
}

// enter puts a connection behind all others.
func (l *lobby) enter(c net.Conn) {
	if oldest := l.put(c); oldest != nil {
		_ = oldest.Close() // whoever serves it notices
	}
}

func (l *lobby) put(c net.Conn) (oldest net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.places[c]; at != nil {
		l.waiting.MoveToBack(at)
		return nil
	}
	l.places[c] = l.waiting.PushBack(c)
	if l.waiting.Len() <= l.room {
		return nil
	}
	oldest, _ = l.waiting.Remove(l.waiting.Front()).(net.Conn)
	delete(l.places, oldest)
	return oldest
}

// leave takes a connection out: it has shown the token, or is gone.
func (l *lobby) leave(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.places[c]; at != nil {
		l.waiting.Remove(at)
		delete(l.places, c)
	}
}
