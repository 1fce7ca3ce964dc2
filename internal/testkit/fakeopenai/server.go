package fakeopenai

import (
	"crypto/subtle"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"picobot/internal/testkit/scripted"
)

// DefaultKey is the bearer key a Server wants when its Config names none.
const DefaultKey = "fake-openai-key"

// maxRequestBytes bounds what the server reads of one request.
const maxRequestBytes = 64 << 20

// Config says how a Server behaves. The zero value is a well-behaved server.
type Config struct {
	Key       string   // bearer key it wants, DefaultKey when empty
	Models    []string // ids GET /v1/models lists; does not restrict what may be asked
	NoSchema  bool     // refuse response_format json_schema, as DeepSeek does
	NoFormat  bool     // refuse any response_format, as old servers do
	Thinks    bool     // want reasoning_content back with calls, as DeepSeek and Kimi do
	NoThought bool     // refuse reasoning_content, as DeepSeek did once
	NoModels  bool     // answer GET /v1/models with 404, as small servers do
	TextPiece int      // runes in one streamed piece of text, 4 when zero
	ArgsPiece int      // runes in one streamed piece of arguments, 5 when zero
	Quirks    Quirks   // how replies are written, unless the Reply says otherwise
}

func (c Config) withDefaults() Config {
	if c.Key == "" {
		c.Key = DefaultKey
	}
	if c.Models == nil {
		c.Models = []string{"fake-model"}
	}
	if c.TextPiece == 0 {
		c.TextPiece = 4
	}
	if c.ArgsPiece == 0 {
		c.ArgsPiece = 5
	}
	return c
}

// Server is a running fake. It is safe for concurrent use.
type Server struct {
	*scripted.Script[Request, Step]
	config Config
	http   *httptest.Server
	once   sync.Once
}

func newScript() *scripted.Script[Request, Step] {
	return scripted.New[Request, Step](func(r Request) string { return r.Refused })
}

// New starts a server on a free loopback port. The caller closes it.
func New(config Config) *Server {
	s := &Server{Script: newScript(), config: config.withDefaults()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "invalid_request_error", "unknown_url",
			"Unknown request URL: "+r.Method+" "+r.URL.Path+".")
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

// URL is the base URL to put into a config: it ends in /v1.
func (s *Server) URL() string { return s.http.URL + "/v1" }

// Key is the bearer key the server wants.
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
	want := "Bearer " + s.config.Key
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(want)) == 1 {
		return true
	}
	writeError(w, http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "Incorrect API key provided.")
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
	list := []object{}
	for _, id := range s.config.Models {
		list = append(list, object{"id": id, "object": "model", "created": 1700000000, "owned_by": "fake"})
	}
	writeJSON(w, http.StatusOK, object{"object": "list", "data": list})
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		writeError(w, http.StatusRequestEntityTooLarge, "invalid_request_error", "request_too_large", err.Error())
		return
	}
	req, refusal := decode(body)
	if refusal == nil {
		refusal = s.checkFormat(req.Fields["response_format"])
	}
	if refusal == nil {
		refusal = s.checkReasoning(req.Messages)
	}
	req.Header = r.Header.Clone()
	if refusal != nil {
		req.Refused = refusal.message
	}
	if !s.authorized(w, r) {
		req.Refused = "wrong key"
		s.Record(req)
		return
	}
	if refusal != nil {
		s.Record(req)
		writeError(w, refusal.status, "invalid_request_error", refusal.code, refusal.message)
		return
	}
	x := &exchange{server: s, w: w, r: r, req: req, quirks: s.config.Quirks}
	s.Next(req, Reply{Text: "echo: " + req.LastUser()}).serve(x)
}
