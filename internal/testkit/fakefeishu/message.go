package fakefeishu

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Message is a message of a chat, as people see it.
type Message struct {
	ID, ChatID     string
	Sender         string // open_id of a person, or BotOpenID
	Type           string // text, post, interactive …
	Content        string // JSON
	ParentID       string
	RootID         string
	ThreadID       string
	UUID           string
	CreatedAt      time.Time
	Recalled       bool
	Patches        []string // contents it was changed to
	Reactions      map[string]string
	Children       []Message // of a merged message
	hasUpdateMulti bool
}

// chat is a chat with its messages, in order.
type chat struct {
	id, kind string
	list     []*Message
	sent     []time.Time // of the bot, for the rate
	gone     bool
}

type remembered struct {
	message string
	until   time.Time
}

func (s *Server) chatOf(id, kind string) *chat {
	c := s.chats[id]
	if c == nil {
		c = &chat{id: id, kind: kind}
		s.chats[id] = c
	}
	return c
}

// Shown lists what people see in a chat that the bot has sent, in order.
func (s *Server) Shown(chatID string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	if c := s.chats[chatID]; c != nil {
		for _, m := range c.list {
			if m.Sender == BotOpenID && !m.Recalled {
				out = append(out, *m)
			}
		}
	}
	return out
}

// Message returns a message, the zero one when there is none.
func (s *Server) Message(id string) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.messages[id]; m != nil {
		copied := *m
		copied.Reactions = map[string]string{}
		for k, v := range m.Reactions {
			copied.Reactions[k] = v
		}
		return copied
	}
	return Message{}
}

// Recall takes a message back.
func (s *Server) Recall(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.messages[id]; m != nil {
		m.Recalled = true
	}
}

// Dissolve ends a chat.
func (s *Server) Dissolve(chatID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chatOf(chatID, "group").gone = true
}

// post is a message to be sent, as requests have it.
type post struct {
	ReceiveID     string `json:"receive_id"`
	Type          string `json:"msg_type"`
	Content       string `json:"content"`
	UUID          string `json:"uuid"`
	ReplyInThread bool   `json:"reply_in_thread"`
}

func uuidOf(body []byte) string {
	var p post
	_ = json.Unmarshal(body, &p)
	return p.UUID
}

func (s *Server) create(r *http.Request, body []byte) (any, *apiError) {
	var p post
	if json.Unmarshal(body, &p) != nil || p.ReceiveID == "" {
		return nil, &apiError{code: 230001, msg: "Your request contains an invalid request parameter, ext=receive_id is required."}
	}
	prefix := map[string]string{"chat_id": "oc_", "open_id": "ou_", "union_id": "on_"}[r.URL.Query().Get("receive_id_type")]
	if prefix == "" || !strings.HasPrefix(p.ReceiveID, prefix) {
		return nil, &apiError{code: 230001, msg: "Your request contains an invalid request parameter, ext=invalid receive_id."}
	}
	if prefix != "oc_" {
		s.mu.Lock()
		p.ReceiveID = s.chatOf("oc_with_"+p.ReceiveID, "p2p").id
		s.mu.Unlock()
	}
	return s.send(p, p.ReceiveID, nil)
}

func (s *Server) reply(r *http.Request, body []byte) (any, *apiError) {
	var p post
	if json.Unmarshal(body, &p) != nil {
		return nil, &apiError{code: 230001, msg: "Your request contains an invalid request parameter."}
	}
	s.mu.Lock()
	to := s.messages[r.PathValue("id")]
	s.mu.Unlock()
	if to == nil {
		return nil, &apiError{code: 230001, msg: "Your request contains an invalid request parameter, ext=invalid message_id."}
	}
	return s.send(p, to.ChatID, to)
}

func (s *Server) send(p post, chatID string, to *Message) (any, *apiError) {
	if len(p.UUID) > 50 {
		return nil, &apiError{code: 230001, msg: "Your request contains an invalid request parameter, ext=uuid is too long."}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Now()
	c := s.chats[chatID]
	if c == nil {
		return nil, &apiError{code: 230002, msg: "The bot can not be outside the group."}
	}
	key := chatID + " " + p.UUID
	if s.config.UUIDApart && to != nil {
		key += " reply"
		if to.Recalled {
			return nil, &apiError{code: 230011, msg: "The message was withdrawn."}
		}
	}
	if known, is := s.uuids[key]; is && p.UUID != "" && now.Before(known.until) {
		return ok(s.messages[known.message].data()), nil
	}
	if e := s.pace(c, now); e != nil {
		return nil, e
	}
	if c.gone {
		return nil, &apiError{code: 232009, msg: "Your request specifies a chat which has already been dissolved."}
	}
	if to != nil && to.Recalled {
		return nil, &apiError{code: 230011, msg: "The message was withdrawn."}
	}
	if to != nil && p.ReplyInThread && c.kind == "p2p" {
		return nil, &apiError{code: 230071, msg: "The aggregated chat does not support reply in thread."}
	}
	if e := s.check(p.Type, p.Content); e != nil {
		return nil, e
	}
	m := &Message{ID: s.number("om_"), ChatID: chatID, Sender: BotOpenID, Type: p.Type, Content: p.Content, UUID: p.UUID, CreatedAt: now,
		Reactions: map[string]string{}, hasUpdateMulti: true}
	if to != nil {
		m.ParentID, m.RootID, m.ThreadID = to.ID, to.RootID, to.ThreadID
		if m.RootID == "" {
			m.RootID = to.ID
		}
		if p.ReplyInThread && m.ThreadID == "" {
			m.ThreadID = s.number("omt_")
			to.ThreadID = m.ThreadID
		}
	}
	s.messages[m.ID] = m
	c.list = append(c.list, m)
	if p.UUID != "" {
		s.uuids[key] = remembered{message: m.ID, until: now.Add(s.config.UUIDFor)}
	}
	s.happened()
	return ok(m.data()), nil
}

// pace refuses more than the chat's rate. s.mu is held.
func (s *Server) pace(c *chat, now time.Time) *apiError {
	if s.config.ChatRate < 0 {
		return nil
	}
	c.sent = slices.DeleteFunc(c.sent, func(t time.Time) bool { return now.Sub(t) >= time.Second })
	if len(c.sent) >= s.config.ChatRate {
		return &apiError{code: 230020, msg: "This operation triggers the frequency limit."}
	}
	c.sent = append(c.sent, now)
	return nil
}

func (m *Message) data() map[string]any {
	at := strconv.FormatInt(m.CreatedAt.UnixMilli(), 10)
	kind, id := "user", m.Sender
	idType := "open_id"
	if m.Sender == BotOpenID {
		kind, id, idType = "app", AppID, "app_id"
	}
	out := map[string]any{
		"message_id": m.ID, "chat_id": m.ChatID, "msg_type": m.Type, "create_time": at, "update_time": at, "deleted": m.Recalled, "updated": len(m.Patches) > 0,
		"sender": map[string]any{"id": id, "id_type": idType, "sender_type": kind, "tenant_key": TenantKey}, "body": map[string]any{"content": m.Content},
	}
	for k, v := range map[string]string{"root_id": m.RootID, "parent_id": m.ParentID, "thread_id": m.ThreadID} {
		if v != "" {
			out[k] = v
		}
	}
	return out
}

// fetched is a message as it is read back: of a card of JSON 2.0 nothing is left but
// what old clients are shown.
func (m *Message) fetched() map[string]any {
	out := m.data()
	var card struct{ Schema string }
	if m.Type == "interactive" && json.Unmarshal([]byte(m.Content), &card) == nil && card.Schema == "2.0" {
		out["body"] = map[string]any{"content": `{"title":null,"elements":[[{"tag":"text","text":"请升级至最新版本客户端，以查看内容"}]]}`}
	}
	return out
}

func (s *Server) find(r *http.Request) (*Message, *apiError) {
	m := s.messages[r.PathValue("id")]
	if m == nil {
		return nil, &apiError{code: 230001, msg: "Your request contains an invalid request parameter, ext=invalid message_id."}
	}
	if m.Recalled {
		return nil, &apiError{code: 230011, msg: "The message was withdrawn."}
	}
	return m, nil
}

func (s *Server) patch(r *http.Request, body []byte) (any, *apiError) {
	var p post
	if json.Unmarshal(body, &p) != nil {
		return nil, &apiError{code: 230001, msg: "Your request contains an invalid request parameter."}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, e := s.find(r)
	if e != nil {
		return nil, e
	}
	if m.Sender != BotOpenID || m.Type != "interactive" {
		return nil, &apiError{code: 230001, msg: "Your request contains an invalid request parameter, ext=This message is not a card."}
	}
	if e := s.check("interactive", p.Content); e != nil {
		return nil, e
	}
	m.Content = p.Content
	m.Patches = append(m.Patches, p.Content)
	s.happened()
	return ok(map[string]any{}), nil
}

func (s *Server) get(r *http.Request, _ []byte) (any, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, e := s.find(r)
	if e != nil {
		return nil, e
	}
	items := []any{m.fetched()}
	for _, child := range m.Children {
		one := child.fetched()
		one["upper_message_id"] = m.ID
		items = append(items, one)
	}
	return ok(map[string]any{"items": items}), nil
}

// list answers with a chat's messages in a time (seconds), or a thread's, oldest first.
func (s *Server) list(r *http.Request, _ []byte) (any, *apiError) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*Message
	if id := q.Get("container_id"); q.Get("container_id_type") == "thread" {
		for _, c := range s.chats {
			for _, m := range c.list {
				if m.ThreadID == id {
					list = append(list, m)
				}
			}
		}
		if q.Has("start_time") || q.Has("end_time") {
			return nil, &apiError{code: 230001, msg: "Your request contains an invalid request parameter, ext=a thread is listed without times."}
		}
	} else if c := s.chats[id]; c != nil {
		for _, m := range c.list {
			if m.ThreadID == "" || m.ParentID == "" { // of a thread it has only what began it
				list = append(list, m)
			}
		}
	} else {
		return nil, &apiError{code: 230002, msg: "The bot can not be outside the group."}
	}
	from, _ := strconv.ParseInt(q.Get("start_time"), 10, 64)
	to, _ := strconv.ParseInt(q.Get("end_time"), 10, 64)
	size, _ := strconv.Atoi(q.Get("page_size"))
	if size == 0 {
		size = 20
	}
	skip, _ := strconv.Atoi(q.Get("page_token"))
	var all []any
	for _, m := range list {
		if at := m.CreatedAt.Unix(); at >= from && (to == 0 || at <= to) {
			all = append(all, m.data())
		}
	}
	items := all[min(skip, len(all)):min(skip+size, len(all))]
	data := map[string]any{"items": items, "has_more": skip+size < len(all)}
	if skip+size < len(all) {
		data["page_token"] = strconv.Itoa(skip + size)
	}
	return ok(data), nil
}

func (s *Server) remove(r *http.Request, _ []byte) (any, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, e := s.find(r)
	if e != nil {
		return nil, e
	}
	m.Recalled = true
	s.happened()
	return ok(map[string]any{}), nil
}

func (s *Server) react(r *http.Request, body []byte) (any, *apiError) {
	var in struct {
		Type struct {
			Emoji string `json:"emoji_type"`
		} `json:"reaction_type"`
	}
	if json.Unmarshal(body, &in) != nil || in.Type.Emoji == "" {
		return nil, &apiError{code: 231001, msg: "reaction type is invalid."}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, e := s.find(r)
	if e != nil {
		return nil, &apiError{code: 231003, msg: "The message is withdrawn or deleted."}
	}
	id := ""
	for known, emoji := range m.Reactions {
		if emoji == in.Type.Emoji {
			id = known // one of each by one app
		}
	}
	if id == "" {
		id = s.number("rc_")
		m.Reactions[id] = in.Type.Emoji
	}
	s.happened()
	return ok(map[string]any{"reaction_id": id, "reaction_type": map[string]any{"emoji_type": in.Type.Emoji}}), nil
}

func (s *Server) unreact(r *http.Request, _ []byte) (any, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, e := s.find(r)
	if e != nil {
		return nil, e
	}
	if _, is := m.Reactions[r.PathValue("reaction")]; !is {
		return nil, &apiError{code: 231010, msg: "The reaction does not exist."}
	}
	delete(m.Reactions, r.PathValue("reaction"))
	s.happened()
	return ok(map[string]any{}), nil
}
