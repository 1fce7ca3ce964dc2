package fakeanthropic

import (
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// DefaultKey is the key a Server wants when its Config names none.
const DefaultKey = "fake-anthropic-key"

// maxRequestBytes is the real service's limit.
const maxRequestBytes = 32 << 20

// Config says how a Server behaves. The zero value is the real service.
type Config struct {
	Key          string // key it wants, DefaultKey when empty
	NoModels     bool   // answer GET /v1/models with 404, as compatible servers do
	NoStructured bool   // refuse output_config.format, as older models do
	NoForcedTool bool   // refuse a tool_choice that names a tool
	TextPiece    int    // runes in one streamed piece, 4 when zero
	Bare         bool   // events without their names (compatible servers)
	Whole        bool   // a whole message although a stream was asked for (compatible servers)
	NoEnd        bool   // no message_stop (compatible servers)
}

// Server is a running fake. It is safe for concurrent use.
type Server struct {
	config Config
	http   *httptest.Server
	done   chan struct{} // closed by Close: releases whatever hangs
	once   sync.Once

	mu       sync.Mutex
	queue    []Step
	handler  func(Request) Step
	requests []Request
	pings    int
	changed  chan struct{} // closed and replaced whenever a request was recorded
	cached   map[string]bool
	served   map[string][]Block // by the id of a call: the answer it was in
}

// New starts a server on a free loopback port. The caller closes it.
func New(config Config) *Server {
	if config.Key == "" {
		config.Key = DefaultKey
	}
	if config.TextPiece == 0 {
		config.TextPiece = 4
	}
	s := &Server{config: config, done: make(chan struct{}), changed: make(chan struct{}), cached: map[string]bool{}, served: map[string][]Block{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusNotFound, "not_found_error", "Not Found")
	})
	s.http = httptest.NewServer(mux)
	return s
}

// Start is New for tests: the server is closed when the test ends.
func Start(tb testing.TB, config Config) *Server {
	tb.Helper()
	s := New(config)
	tb.Cleanup(s.Close)
	return s
}

// URL is the base URL to put into a config: it does not end in /v1.
func (s *Server) URL() string { return s.http.URL }

// Key is the key the server wants.
func (s *Server) Key() string { return s.config.Key }

// Close releases everything that hangs and stops the server.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.done)
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// Enqueue adds steps: each valid request takes the next one.
func (s *Server) Enqueue(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, steps...)
}

// Handle sets the rule that answers while the queue is empty. A nil step, or no
// rule at all, echoes the last user message. The rule runs on the request's own
// goroutine, several at once when several requests come at once.
func (s *Server) Handle(rule func(Request) Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = rule
}

// Requests returns the requests so far, refused ones included, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count says how many requests came, refused ones included.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// Pings says how often the list of models was asked for.
func (s *Server) Pings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pings
}

// Refused returns why requests were refused: empty in a test whose client only
// sends valid requests.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var reasons []string
	for _, r := range s.requests {
		if r.Refused != "" {
			reasons = append(reasons, r.Refused)
		}
	}
	return reasons
}

// Wait returns once n requests have come, or with ctx's error.
func (s *Server) Wait(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		enough, changed := len(s.requests) >= n, s.changed
		s.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Server) authorized(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case r.Header.Get("Anthropic-Version") == "":
		writeError(w, http.StatusBadRequest, "invalid_request_error", "anthropic-version: header is required")
	case subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Api-Key")), []byte(s.config.Key)) != 1:
		writeError(w, http.StatusUnauthorized, "authentication_error", "invalid x-api-key")
	default:
		return true
	}
	return false
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.pings++
	s.mu.Unlock()
	if s.config.NoModels {
		http.NotFound(w, r)
		return
	}
	if !s.authorized(w, r) {
		return
	}
	model := object{"type": "model", "id": "fake-model", "display_name": "Fake", "created_at": "2026-01-01T00:00:00Z"}
	writeJSON(w, http.StatusOK, object{"data": []object{model}, "has_more": false, "first_id": "fake-model", "last_id": "fake-model"})
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		writeError(w, http.StatusRequestEntityTooLarge, "request_too_large", "Request exceeds the maximum size")
		return
	}
	req, refusal := s.decode(body)
	req.Header = r.Header.Clone()
	if refusal != "" {
		req.Refused = refusal
	}
	if !s.authorized(w, r) {
		req.Refused = "wrong key or version"
		s.record(req)
		return
	}
	if refusal != "" {
		s.record(req)
		writeError(w, http.StatusBadRequest, "invalid_request_error", refusal)
		return
	}
	x := &exchange{server: s, w: w, r: r}
	x.req = req
	step := s.next(&x.req)
	step.serve(x)
}

func (s *Server) record(req Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(req)
}

func (s *Server) keep(req Request) {
	s.requests = append(s.requests, req)
	close(s.changed)
	s.changed = make(chan struct{})
}

// next records the request and takes its step in one critical section, so that
// the n-th recorded request is the one that got the n-th step.
func (s *Server) next(req *Request) Step {
	s.mu.Lock()
	req.CacheRead, req.CacheWritten = s.cache(req)
	s.keep(*req)
	if len(s.queue) > 0 {
		step := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		return step
	}
	rule := s.handler
	s.mu.Unlock()
	if rule != nil {
		if step := rule(*req); step != nil {
			return step
		}
	}
	return Reply{Text: "echo: " + req.LastUser()}
}

// remember keeps what an answer consisted of, to compare it with what comes back.
func (s *Server) remember(blocks []Block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range blocks {
		if b.Type == "tool_use" {
			s.served[b.ID] = blocks
		}
	}
}

func writeError(w http.ResponseWriter, status int, kind, message string) {
	writeJSON(w, status, object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": requestID})
}

const requestID = "req_fake"

func errorEvent(kind, message string) object {
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

func refuse(format string, args ...any) string { return fmt.Sprintf(format, args...) }
