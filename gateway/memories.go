package gateway

import (
	"errors"
	"net/http"

	"picobot/gateway/openapi"
	"picobot/internal/memory"
)

func (s *Server) memoryRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/api/v1/memories", handler: s.listMemories, doc: &openapi.Operation{
			Tag: "memories", Summary: "What is remembered: a list, what a search finds, or one",
			Query: []openapi.Param{
				textParam("scope_key", "of this person, channel:sender_id; without it of everybody"), textParam("namespace", "only of this namespace"),
				textParam("q", "search for this; the best first, in one page"), textParam("key", "only the one with this key, of the scope_key and namespace"), limitParam, cursorParam,
			},
			Answers: []openapi.Answer{ok(openapi.List{Item: MemoryItem{}}, "A page of them")},
		}},
		{method: http.MethodPut, path: "/api/v1/memories", handler: s.putMemory, doc: &openapi.Operation{
			Tag: "memories", Summary: "Write down a memory, over the one that has this name",
			Query: nameParams, Body: memoryContent{},
			Answers: []openapi.Answer{ok(MemoryItem{}, "It was changed"), {Status: http.StatusCreated, Description: "It is new", Body: MemoryItem{}}},
		}},
		{method: http.MethodDelete, path: "/api/v1/memories", handler: s.deleteMemory, doc: &openapi.Operation{
			Tag: "memories", Summary: "Forget a memory",
			Query:   nameParams,
			Answers: []openapi.Answer{{Status: http.StatusNoContent, Description: "It is gone"}},
		}},
	}
}

// nameParams name a memory.
var nameParams = []openapi.Param{textParam("scope_key", "whose it is, channel:sender_id"), textParam("namespace", "of the memory"), textParam("key", "of the memory")}

// memoryContent is what is put.
type memoryContent struct {
	Content string `json:"content"`
}

// MemoryItem is a memory as JSON shows it.
type MemoryItem struct {
	ID               string `json:"id"`
	ScopeKind        string `json:"scope_kind"`
	ScopeKey         string `json:"scope_key"`
	Namespace        string `json:"namespace"`
	MemoryKey        string `json:"memory_key"`
	Content          string `json:"content"`
	Snippet          string `json:"snippet,omitempty"` // of a search: where it was found
	SourceType       string `json:"source_type,omitempty"`
	SourceSessionID  string `json:"source_session_id,omitempty"`
	SourceMessageID  string `json:"source_message_id,omitempty"`
	SourceMessageSeq int64  `json:"source_message_seq,omitempty"`
	SourceChannel    string `json:"source_channel,omitempty"`
	SourceChatID     string `json:"source_chat_id,omitempty"`
	CreatedAt        int64  `json:"created_at"`
	UpdatedAt        int64  `json:"updated_at"`
}

// MemoryItemOf returns a memory as JSON shows it.
func MemoryItemOf(m memory.Memory) MemoryItem {
	return MemoryItem{
		ID: m.ID, ScopeKind: memory.KindUser, ScopeKey: m.Scope, Namespace: m.Namespace, MemoryKey: m.Key, Content: m.Content,
		SourceType: m.Source.Type, SourceSessionID: m.Source.SessionID, SourceMessageID: m.Source.MessageID, SourceMessageSeq: m.Source.MessageSeq,
		SourceChannel: m.Source.Channel, SourceChatID: m.Source.ChatID, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
	}
}

// HitItemOf returns what a search found as JSON shows it.
func HitItemOf(h memory.Hit) MemoryItem {
	item := MemoryItemOf(h.Memory)
	item.Snippet = h.Snippet
	return item
}

// listMemories lists, searches (?q=) or shows one (?key=, with scope_key and
// namespace). Whoever has the token is an operator: without a scope_key everybody's
// memories are meant.
func (s *Server) listMemories(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if q.Has("key") {
		return s.oneMemory(w, r)
	}
	scope, namespace := q.Get("scope_key"), q.Get("namespace")
	if text := q.Get("q"); text != "" {
		if n := len([]rune(text)); n > memory.MaxQuery {
			return badRequest("q is %d characters long, at most %d are taken", n, memory.MaxQuery)
		}
		if q.Get("cursor") != "" {
			return badRequest("what a search finds is one page: leave out cursor")
		}
		hits, err := s.deps.Record.SearchMemories(r.Context(), scope, namespace, text, limit)
		if err != nil {
			return err
		}
		return writeList(w, each(hits, HitItemOf), "")
	}
	after, err := memory.ParseCursor(q.Get("cursor"))
	if err != nil {
		return badRequest("cursor: %s", err)
	}
	found, err := s.deps.Record.Memories(r.Context(), memory.Filter{Scope: scope, Namespace: namespace, After: after, Limit: limit + 1})
	if err != nil {
		return err
	}
	found, next := cutPage(found, limit, memory.Memory.Cursor)
	return writeList(w, each(found, MemoryItemOf), next)
}

// memoryOf reads whose memory of which name a request means.
func memoryOf(r *http.Request) (scope string, n memory.Name, err error) {
	q := r.URL.Query()
	if scope, err = memory.CleanScope(q.Get("scope_key")); err != nil {
		return "", n, badRequest("scope_key: %v", err)
	}
	if n, err = memory.CleanName(memory.Name{Namespace: q.Get("namespace"), Key: q.Get("key")}); err != nil {
		return "", n, badRequest("%v", err)
	}
	return scope, n, nil
}

// missingMemory says what is there instead of a memory that is not.
func missingMemory(err error) error {
	if m, ok := errors.AsType[*memory.MissingError](err); ok {
		return notFound("%v", m)
	}
	return err
}

func (s *Server) oneMemory(w http.ResponseWriter, r *http.Request) error {
	scope, name, err := memoryOf(r)
	if err != nil {
		return err
	}
	m, err := s.deps.Record.Memory(r.Context(), scope, name)
	if err != nil {
		return missingMemory(err)
	}
	return writeList(w, []MemoryItem{MemoryItemOf(m)}, "")
}

func (s *Server) putMemory(w http.ResponseWriter, r *http.Request) error {
	scope, name, err := memoryOf(r)
	if err != nil {
		return err
	}
	var body memoryContent
	if err := readBody(r, &body); err != nil {
		return err
	}
	content, err := memory.CleanContent(body.Content)
	if err != nil {
		return badRequest("%v", err)
	}
	m, created, err := s.deps.Record.PutMemory(r.Context(), scope, name, content)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return writeJSON(w, status, MemoryItemOf(m))
}

func (s *Server) deleteMemory(w http.ResponseWriter, r *http.Request) error {
	scope, name, err := memoryOf(r)
	if err != nil {
		return err
	}
	if err := s.deps.Record.DeleteMemory(r.Context(), scope, name); err != nil {
		return missingMemory(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
