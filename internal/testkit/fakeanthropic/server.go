package fakeanthropic

import (
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"picobot/internal/testkit/scripted"
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
	*scripted.Script[Request, Step]
	config Config
	http   *httptest.Server
	once   sync.Once

	mu     sync.Mutex
	cached map[string]bool
	served map[string][]Block // by the id of a call: the answer it was in
}

func newScript() *scripted.Script[Request, Step] {
	return scripted.New[Request, Step](func(r Request) string { return r.Refused })
}

// New starts a server on a free loopback port. The caller closes it.
func New(config Config) *Server {
	if config.Key == "" {
		config.Key = DefaultKey
	}
	if config.TextPiece == 0 {
		config.TextPiece = 4
	}
	s := &Server{Script: newScript(), config: config, cached: map[string]bool{}, served: map[string][]Block{}}
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
		s.Release()
		s.http.CloseClientConnections()
		s.http.Close()
	})
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
	s.Pinged()
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
		s.Record(req)
		return
	}
	if refusal != "" {
		s.Record(req)
		writeError(w, http.StatusBadRequest, "invalid_request_error", refusal)
		return
	}
	x := &exchange{server: s, w: w, r: r}
	x.req = req
	step := s.next(&x.req)
	step.serve(x)
}

// next takes the step of a request, after the cache has been looked at.
func (s *Server) next(req *Request) Step {
	s.mu.Lock()
	req.CacheRead, req.CacheWritten = s.cache(req)
	s.mu.Unlock()
	return s.Next(*req, Reply{Text: "echo: " + req.LastUser()})
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
