package fakefeishu

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// Deafness is how a long connection fails without ending.
type Deafness int

// A connection that hears, one that answers nothing any more, and one that answers
// pings but is given no events.
const (
	Hears Deafness = iota
	Silent
	Forgotten
)

// socket is one long connection.
type socket struct {
	server *Server
	conn   *websocket.Conn
	id     string
	deaf   Deafness
	out    chan frame
	gone   chan struct{}
}

func (s *Server) endpoint(w http.ResponseWriter, _ *http.Request, body []byte) {
	var in struct{ AppID, AppSecret string }
	_ = json.Unmarshal(body, &in)
	if in.AppID != s.config.AppID || in.AppSecret != AppSecret {
		s.write(w, http.StatusOK, nil, map[string]any{"code": 10003, "msg": "app_id or app_secret is invalid"})
		return
	}
	s.mu.Lock()
	device := s.number("dev-")
	s.mu.Unlock()
	url := fmt.Sprintf("ws%s/ws?device_id=%s&service_id=33554678&access_key=secret-access-key&ticket=secret-ticket", strings.TrimPrefix(s.http.URL, "http"), device)
	s.write(w, http.StatusOK, nil, map[string]any{"code": 0, "msg": "", "data": map[string]any{"URL": url, "ClientConfig": s.clientConfig()}})
}

func (s *Server) clientConfig() map[string]any {
	return map[string]any{"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30, "PingInterval": s.config.PingSeconds}
}

func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("ticket") != "secret-ticket" {
		w.Header().Set("Handshake-Status", "403")
		w.Header().Set("Handshake-Msg", "forbidden")
		w.WriteHeader(http.StatusForbidden)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	conn.SetReadLimit(maxBody)
	k := &socket{server: s, conn: conn, id: r.URL.Query().Get("device_id"), out: make(chan frame, 256), gone: make(chan struct{})}
	s.mu.Lock()
	s.sockets = append(s.sockets, k)
	s.opened++
	s.happened()
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go k.write(ctx)
	k.read(ctx)
	s.mu.Lock()
	s.sockets = slices.DeleteFunc(s.sockets, func(o *socket) bool { return o == k })
	close(k.gone)
	s.happened()
	s.mu.Unlock()
	_ = conn.CloseNow()
}

func (k *socket) write(ctx context.Context) {
	for {
		select {
		case f := <-k.out:
			if k.conn.Write(ctx, websocket.MessageBinary, f.encode()) != nil {
				return
			}
		case <-k.gone:
			return
		case <-k.server.done:
			return
		}
	}
}

func (k *socket) read(ctx context.Context) {
	for {
		_, data, err := k.conn.Read(ctx)
		if err != nil {
			return
		}
		f, err := decodeFrame(data)
		if err != nil {
			return
		}
		k.server.mu.Lock()
		deaf := k.deaf
		k.server.mu.Unlock()
		if deaf == Silent {
			continue
		}
		switch {
		case f.method == methodControl && f.header("type") == "ping":
			payload := mustJSON(k.server.clientConfig())
			k.send(frame{method: methodControl, service: f.service, headers: [][2]string{{"type", "pong"}}, payload: []byte(payload)})
		case f.method == methodData:
			k.server.acknowledged(f)
		}
	}
}

func (k *socket) send(f frame) {
	select {
	case k.out <- f:
	case <-k.gone:
	case <-k.server.done:
	}
}

// fragment is how much of an event goes into one frame.
const fragment = 8 << 10

// event sends an event, in as many frames as it takes.
func (k *socket) event(e *event) {
	pieces := slices.Collect(slices.Chunk(e.payload, fragment))
	for i, p := range pieces {
		k.send(frame{seqID: uint64(i + 1), logID: 1, service: 33554678, method: methodData, payload: p, headers: [][2]string{
			{"type", "event"}, {"message_id", e.id}, {"sum", strconv.Itoa(len(pieces))}, {"seq", strconv.Itoa(i)}, {"trace_id", "trace-" + e.id},
			{"timestamp", strconv.FormatInt(time.Now().UnixMilli(), 10)},
		}})
	}
}

// acknowledged takes an answer to an event.
func (s *Server) acknowledged(f frame) {
	var ack struct{ Code int }
	_ = json.Unmarshal(f.payload, &ack)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.events[f.header("message_id")]; e != nil {
		if ack.Code == http.StatusOK {
			e.acked = true
		} else {
			e.refused++
		}
		s.happened()
	}
}

// pick returns a connection that would get the next event, nil when there is none.
func (s *Server) pick() *socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*socket
	for _, k := range s.sockets {
		if k.deaf != Forgotten {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[rand.IntN(len(all))]
}

// Connections says how many long connections are open, and how many there were.
func (s *Server) Connections() (open, ever int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets), s.opened
}

// Drop ends all long connections.
func (s *Server) Drop() {
	s.mu.Lock()
	all := slices.Clone(s.sockets)
	s.mu.Unlock()
	for _, k := range all {
		_ = k.conn.CloseNow()
	}
}

// Deafen makes the connections that are open now fail without ending.
func (s *Server) Deafen(how Deafness) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.sockets {
		k.deaf = how
	}
}
