package fakefeishu

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Mention is somebody who is named in a message.
type Mention struct {
	Key    string // @_user_1
	OpenID string
	Name   string
}

// Said is a message of a person.
type Said struct {
	ChatID   string
	ChatType string // "" = p2p
	From     string // open_id; "" = ou_alice
	Bot      bool   // another bot says it
	Type     string // "" = text
	Text     string // of a text
	Content  string // of another type, JSON
	Mentions []Mention
	ReplyTo  string // a message
	ThreadID string
	At       time.Time // when it was said; zero = now
	Children []Said    // of a merged message
}

// MentionBot names the bot as the first mention of a text.
var MentionBot = Mention{Key: "@_user_1", OpenID: BotOpenID, Name: "PicoBot"}

// event is something that is told to the app until it is acknowledged.
type event struct {
	id      string
	payload []byte
	tries   int
	acked   bool
	refused int // acknowledgements that were not 200
	inTime  int // tries that were answered before they would be made again
	deliver int // how often it must be delivered although acknowledged
}

// Say has a person say something, tells the app, and returns the message's id.
func (s *Server) Say(m Said) string {
	id, payload := s.said(m)
	s.Push(payload)
	return id
}

// SayTwice is Say, told twice although the app acknowledges.
func (s *Server) SayTwice(m Said) string {
	id, payload := s.said(m)
	s.push(payload, 1)
	return id
}

// Store has a person say something that the app is not told.
func (s *Server) Store(m Said) string {
	id, _ := s.said(m)
	return id
}

func (s *Server) said(m Said) (id string, payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.From == "" {
		m.From = "ou_alice"
	}
	if m.ChatType == "" {
		m.ChatType = "p2p"
	}
	if m.Type == "" {
		m.Type = "text"
		m.Content = mustJSON(map[string]string{"text": m.Text})
	}
	if m.At.IsZero() {
		m.At = s.config.Now()
	}
	msg := &Message{ID: s.number("om_"), ChatID: m.ChatID, Sender: m.From, Type: m.Type, Content: m.Content, ParentID: m.ReplyTo, RootID: m.ReplyTo, ThreadID: m.ThreadID, CreatedAt: m.At, Reactions: map[string]string{}}
	for i, child := range m.Children {
		if child.Type == "" {
			child.Type, child.Content = "text", mustJSON(map[string]string{"text": child.Text})
		}
		msg.Children = append(msg.Children, Message{ID: fmt.Sprintf("%s_%d", msg.ID, i), Sender: child.From, Type: child.Type, Content: child.Content, CreatedAt: m.At})
	}
	s.messages[msg.ID] = msg
	c := s.chatOf(m.ChatID, m.ChatType)
	c.list = append(c.list, msg)
	kind := "user"
	if m.Bot {
		kind = "app"
	}
	mentions := []map[string]any{}
	for _, who := range m.Mentions {
		mentions = append(mentions, map[string]any{"key": who.Key, "id": map[string]any{"open_id": who.OpenID, "union_id": "on_" + who.OpenID, "user_id": nil}, "name": who.Name, "tenant_key": TenantKey})
	}
	message := map[string]any{
		"message_id": msg.ID, "create_time": strconv.FormatInt(m.At.UnixMilli(), 10), "update_time": strconv.FormatInt(m.At.UnixMilli(), 10),
		"chat_id": m.ChatID, "chat_type": m.ChatType, "message_type": m.Type, "content": m.Content, "mentions": mentions,
	}
	for k, v := range map[string]string{"root_id": msg.RootID, "parent_id": msg.ParentID, "thread_id": msg.ThreadID} {
		if v != "" {
			message[k] = v
		}
	}
	return msg.ID, s.envelope("im.message.receive_v1", m.At, map[string]any{
		"sender":  map[string]any{"sender_id": map[string]any{"open_id": m.From, "union_id": "on_" + m.From, "user_id": nil}, "sender_type": kind, "tenant_key": TenantKey},
		"message": message,
	})
}

// Event tells the app of something else.
func (s *Server) Event(kind string, body map[string]any) {
	s.mu.Lock()
	payload := s.envelope(kind, s.config.Now(), body)
	s.mu.Unlock()
	s.Push(payload)
}

func (s *Server) envelope(kind string, at time.Time, body map[string]any) []byte {
	return []byte(mustJSON(map[string]any{
		"schema": "2.0",
		"header": map[string]any{"event_id": s.number("ev_"), "event_type": kind, "create_time": strconv.FormatInt(at.UnixMilli(), 10), "token": "", "app_id": s.config.AppID, "tenant_key": TenantKey},
		"event":  body,
	}))
}

// Push tells the app an event until it acknowledges.
func (s *Server) Push(payload []byte) { s.push(payload, 0) }

func (s *Server) push(payload []byte, again int) {
	s.mu.Lock()
	e := &event{id: s.number("fr_"), payload: payload, deliver: again}
	s.events[e.id] = e
	s.mu.Unlock()
	go s.tell(e)
}

// tell delivers an event until it is acknowledged, over one connection each time.
func (s *Server) tell(e *event) {
	for {
		sock := s.pick()
		if sock != nil {
			s.mu.Lock()
			e.tries++
			before := e.refused
			s.mu.Unlock()
			sock.event(e)
			answered := s.await(func() bool { return e.acked || e.refused > before }, s.config.AckWithin)
			s.mu.Lock()
			if answered {
				e.inTime++
			}
			s.happened()
			s.mu.Unlock()
		}
		s.mu.Lock()
		done := e.acked && e.deliver == 0
		if e.acked && e.deliver > 0 {
			e.deliver--
			e.acked = false
		}
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-s.done:
			return
		case <-time.After(s.config.Again):
		}
	}
}

// await waits until done says so, for at most that long, and reports whether it did.
func (s *Server) await(done func() bool, most time.Duration) bool {
	end := time.After(most)
	for {
		s.mu.Lock()
		is, changed := done(), s.changed
		s.mu.Unlock()
		if is {
			return true
		}
		select {
		case <-changed:
		case <-end:
			return false
		case <-s.done:
			return false
		}
	}
}

// Told says how events went.
type Told struct {
	Events  int
	Tries   int
	InTime  int // tries that were answered, either way, before Feishu would have tried again
	Refused int
	Waiting int // not acknowledged yet
}

// Told sums up what the app was told.
func (s *Server) Told() Told {
	s.mu.Lock()
	defer s.mu.Unlock()
	var t Told
	for _, e := range slices.Collect(maps.Values(s.events)) {
		t.Events++
		t.Tries += e.tries
		t.InTime += e.inTime
		t.Refused += e.refused
		if !e.acked {
			t.Waiting++
		}
	}
	return t
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
