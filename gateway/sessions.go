package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"picobot/gateway/openapi"
	"picobot/internal/protocol"
	"picobot/store"
)

func (s *Server) sessionRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/api/v1/sessions", handler: s.listSessions, doc: &openapi.Operation{
			Tag: "sessions", Summary: "Sessions, the most recently active first",
			Query:   []openapi.Param{textParam("channel", "only of this channel"), textParam("chat_id", "only of this chat"), limitParam, cursorParam},
			Answers: []openapi.Answer{ok(openapi.List{Item: Session{}}, "A page of them")},
		}},
		{method: http.MethodGet, path: "/api/v1/sessions/{id}", handler: s.getSession, doc: &openapi.Operation{
			Tag: "sessions", Summary: "A session",
			Answers: []openapi.Answer{ok(Session{}, "It")},
		}},
		{method: http.MethodGet, path: "/api/v1/sessions/{id}/messages", handler: s.listMessages, doc: &openapi.Operation{
			Tag: "sessions", Summary: "What was said in a session, in order",
			Description: "Original rows only, each once; fewer than limit where they are large. The next is the next from_seq.",
			Query: []openapi.Param{
				{Name: "from_seq", Description: "only rows with a greater seq", Number: true}, limitParam,
			},
			Answers: []openapi.Answer{ok(openapi.List{Item: protocol.Message{}}, "A page of them")},
		}},
	}
}

// Session is a session as the API tells it.
type Session struct {
	ID                string          `json:"id"`
	Channel           string          `json:"channel"`
	ChatID            string          `json:"chat_id"`
	DialogID          string          `json:"dialog_id"`
	Title             string          `json:"title"`
	Agent             string          `json:"agent"`
	Active            bool            `json:"active"`
	CreatedAt         int64           `json:"created_at"`
	LastActiveAt      int64           `json:"last_active_at"`
	MessageCount      int64           `json:"message_count"`
	TotalMessageCount int64           `json:"total_message_count"`
	LastSeq           int64           `json:"last_seq"`
	ResetCutoffSeq    int64           `json:"reset_cutoff_seq"`
	RoutingInfo       json.RawMessage `json:"routing_info,omitempty"`
	DeletedAt         int64           `json:"deleted_at,omitempty"`
}

// SessionOf tells a session.
func SessionOf(x store.Session) Session {
	return Session{
		ID: x.ID, Channel: x.Channel, ChatID: x.ChatID, DialogID: x.DialogID, Title: x.Title, Agent: x.Agent, Active: x.Active,
		CreatedAt: x.CreatedAt, LastActiveAt: x.LastActiveAt, MessageCount: x.MessageCount, TotalMessageCount: x.TotalMessageCount,
		LastSeq: x.LastSeq, ResetCutoffSeq: x.ResetCutoffSeq, RoutingInfo: x.RoutingInfo, DeletedAt: x.DeletedAt,
	}
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) error {
	limit, after, err := pageOf(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	found, err := s.deps.Record.Sessions(r.Context(), store.SessionFilter{Channel: q.Get("channel"), ChatID: q.Get("chat_id"), After: after, Limit: limit + 1})
	if err != nil {
		return err
	}
	found, next := cutPage(found, limit, func(x store.Session) store.After { return store.After{At: x.LastActiveAt, ID: x.ID} })
	return writeList(w, each(found, SessionOf), next)
}

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	x, err := s.deps.Record.Session(r.Context(), r.PathValue("id"))
	if err != nil {
		return missing("session", r, err)
	}
	return writeJSON(w, http.StatusOK, SessionOf(x))
}

func (s *Server) listMessages(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	from, err := numberOf(r, "from_seq", 0)
	if err != nil {
		return err
	}
	session, err := s.deps.Record.Session(r.Context(), r.PathValue("id"))
	if err != nil {
		return missing("session", r, err)
	}
	rows, err := s.deps.Record.Messages(r.Context(), r.PathValue("id"), from, limit)
	if err != nil {
		return err
	}
	next := ""
	if n := len(rows); n == limit || n > 0 && rows[n-1].Seq < session.LastSeq { // large rows come in smaller lists
		next = strconv.FormatInt(rows[len(rows)-1].Seq, 10)
	}
	return writeList(w, each(rows, func(x store.Row) protocol.Message { return RowFrame(x) }), next)
}

// pageOf reads ?limit= and ?cursor=, the "next" of the page before.
func pageOf(r *http.Request) (limit int, after store.After, err error) {
	if limit, err = limitOf(r); err != nil {
		return 0, after, err
	}
	if after, err = store.ParseAfter(r.URL.Query().Get("cursor")); err != nil {
		return 0, after, badRequest("cursor: %s", err)
	}
	return limit, after, nil
}

// cutPage cuts a list that was read with one item more than the page has, and returns
// where the next page begins, "" = nowhere.
func cutPage[T any, Place fmt.Stringer](items []T, limit int, at func(T) Place) (page []T, next string) {
	if len(items) <= limit {
		return items, ""
	}
	return items[:limit], at(items[limit-1]).String()
}

const (
	defaultLimit = 100
	maxLimit     = 1000
)

// limitOf reads ?limit=.
func limitOf(r *http.Request) (int, error) {
	n, err := numberOf(r, "limit", defaultLimit)
	if err != nil || n < 1 || n > maxLimit {
		return 0, badRequest("limit must be a whole number between 1 and %d", maxLimit)
	}
	return int(n), nil
}

func numberOf(r *http.Request, key string, missing int64) (int64, error) {
	v := r.URL.Query().Get(key)
	if v == "" {
		return missing, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, badRequest("%s must be a whole number, 0 or greater", key)
	}
	return n, nil
}

func each[A, B any](in []A, f func(A) B) []B {
	out := make([]B, 0, len(in))
	for _, x := range in {
		out = append(out, f(x))
	}
	return out
}
