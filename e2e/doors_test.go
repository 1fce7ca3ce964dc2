package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// doors is a web server that keeps each page back until its door is opened.
type doors struct {
	server *httptest.Server
	mu     sync.Mutex
	rooms  map[string]*room
}

type room struct {
	waiting int // requests
	opened  chan struct{}
}

func newDoors(t testing.TB) *doors {
	d := &doors{rooms: map[string]*room{}}
	d.server = httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(func() {
		d.server.CloseClientConnections()
		d.server.Close()
	})
	return d
}

func (d *doors) url(pos int) string { return fmt.Sprintf("%s/%d", d.server.URL, pos) }

func (d *doors) room(name string) *room {
	if d.rooms[name] == nil {
		d.rooms[name] = &room{opened: make(chan struct{})}
	}
	return d.rooms[name]
}

func (d *doors) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	d.mu.Lock()
	room := d.room(name)
	room.waiting++
	d.mu.Unlock()
	select {
	case <-room.opened:
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprintln(w, name)
	case <-r.Context().Done():
	}
	d.mu.Lock()
	room.waiting--
	d.mu.Unlock()
}

// open waits until somebody asks for a page, and gives it to them.
func (d *doors) open(s *stack, pos int) {
	s.Helper()
	s.eventually(30*time.Second, "the page is asked for", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.room(fmt.Sprint(pos)).waiting > 0
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.room(fmt.Sprint(pos)).opened)
}
