package fakefeishu

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// What the app is called and how it is known.
const (
	AppID     = "cli_fake0000000001"
	AppSecret = "fake-app-secret-0123456789abcdef"
	BotOpenID = "ou_bot"
	TenantKey = "tenant0001"
)

// Config says how a Server behaves. The zero value is a well-behaved server.
type Config struct {
	AppID       string        // "" = AppID
	TokenTTL    time.Duration // 0 = 2 h
	PingSeconds int           // what it tells clients; 0 = 120
	AckWithin   time.Duration // before an event comes again; 0 = 3 s
	Again       time.Duration // after a refused or late event; 0 = 100 ms
	ChatRate    int           // messages a second to one chat; 0 = 5, < 0 = no limit
	MaxTables   int           // in one card; 0 = 5
	UUIDFor     time.Duration // how long a uuid is remembered; 0 = 1 h
	// UUIDApart: what is sent to a chat is not compared with replies, and a reply to what
	// was taken back is refused before its uuid is looked at. The documents leave it open.
	UUIDApart bool
	NoBot     bool     // the app has no bot ability
	Scopes    []string // granted to the app; nil = all a bot needs
	Events    []string // subscribed to; nil = im.message.receive_v1
	NoAppInfo bool     // the app may not read about itself
	Now       func() time.Time
}

func (c Config) withDefaults() Config {
	for d, def := range map[*time.Duration]time.Duration{
		&c.TokenTTL: 2 * time.Hour, &c.AckWithin: 3 * time.Second, &c.Again: 100 * time.Millisecond, &c.UUIDFor: time.Hour,
	} {
		if *d == 0 {
			*d = def
		}
	}
	if c.AppID == "" {
		c.AppID = AppID
	}
	if c.PingSeconds == 0 {
		c.PingSeconds = 120
	}
	if c.ChatRate == 0 {
		c.ChatRate = 5
	}
	if c.MaxTables == 0 {
		c.MaxTables = 5
	}
	if c.Scopes == nil {
		c.Scopes = []string{"im:message", "im:message:send_as_bot", "im:message:readonly", "im:message.p2p_msg:readonly", "im:message.group_at_msg:readonly", "im:message.group_msg", "im:resource", "im:message.reactions:write_only"}
	}
	if c.Events == nil {
		c.Events = []string{"im.message.receive_v1"}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Server is a running fake. It is safe for concurrent use.
type Server struct {
	config Config
	http   *httptest.Server
	done   chan struct{}
	once   sync.Once

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced whenever something happened
	tokens    map[string]time.Time
	made      int // of everything that has a number: ids, tokens
	chats     map[string]*chat
	messages  map[string]*Message
	uuids     map[string]remembered
	resources map[string]Resource
	faults    []*Fault
	calls     []Call
	sockets   []*socket
	events    map[string]*event
	opened    int
}

// New starts a server on a free loopback port. The caller closes it.
func New(config Config) *Server {
	s := &Server{
		config: config.withDefaults(), done: make(chan struct{}), changed: make(chan struct{}), tokens: map[string]time.Time{}, chats: map[string]*chat{},
		messages: map[string]*Message{}, uuids: map[string]remembered{}, resources: map[string]Resource{}, events: map[string]*event{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /open-apis/auth/v3/tenant_access_token/internal", s.faulty(s.token))
	mux.HandleFunc("POST /callback/ws/endpoint", s.faulty(s.endpoint))
	mux.HandleFunc("GET /ws", s.faulty(func(w http.ResponseWriter, r *http.Request, _ []byte) { s.connect(w, r) }))
	for pattern, h := range map[string]func(*http.Request, []byte) (any, *apiError){
		"GET /open-apis/bot/v3/info":                                    s.botInfo,
		"POST /open-apis/im/v1/messages":                                s.create,
		"GET /open-apis/im/v1/messages":                                 s.list,
		"POST /open-apis/im/v1/messages/{id}/reply":                     s.reply,
		"PATCH /open-apis/im/v1/messages/{id}":                          s.patch,
		"GET /open-apis/im/v1/messages/{id}":                            s.get,
		"DELETE /open-apis/im/v1/messages/{id}":                         s.remove,
		"POST /open-apis/im/v1/messages/{id}/reactions":                 s.react,
		"DELETE /open-apis/im/v1/messages/{id}/reactions/{reaction}":    s.unreact,
		"GET /open-apis/application/v6/scopes":                          s.scopes,
		"GET /open-apis/application/v6/applications/{app}/app_versions": s.versions,
	} {
		mux.HandleFunc(pattern, s.faulty(s.api(h)))
	}
	mux.HandleFunc("GET /open-apis/im/v1/messages/{id}/resources/{key}", s.faulty(s.download))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "404 page not found", http.StatusNotFound) // not JSON, as the real one
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

// URL is what channels.feishu.domain is set to.
func (s *Server) URL() string { return s.http.URL }

// Close ends connections and stops the server.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.done)
		s.Drop()
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// Changed returns a channel that is closed when something happens next.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// happened wakes who waits. s.mu is held.
func (s *Server) happened() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// number makes ids. s.mu is held.
func (s *Server) number(prefix string) string {
	s.made++
	return fmt.Sprintf("%s%06d", prefix, s.made)
}

// apiError is an error as Feishu answers it.
type apiError struct {
	status int // 0 = 400
	code   int
	msg    string
	header http.Header
}

func (s *Server) write(w http.ResponseWriter, status int, header http.Header, body any) {
	for k, v := range header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Tt-Logid", "20261130fake")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *Server) fail(w http.ResponseWriter, e *apiError) {
	status := e.status
	if status == 0 {
		status = http.StatusBadRequest
	}
	s.write(w, status, e.header, map[string]any{"code": e.code, "msg": e.msg})
}

const maxBody = 1 << 20

// api is an endpoint that wants a token and answers JSON.
func (s *Server) api(h func(*http.Request, []byte) (any, *apiError)) func(http.ResponseWriter, *http.Request, []byte) {
	return func(w http.ResponseWriter, r *http.Request, body []byte) {
		if e := s.authorized(r); e != nil {
			s.fail(w, e)
			return
		}
		data, e := h(r, body)
		if e != nil {
			s.fail(w, e)
			return
		}
		s.write(w, http.StatusOK, nil, data)
	}
}

func ok(data any) map[string]any {
	return map[string]any{"code": 0, "msg": "success", "data": data}
}

func read(r *http.Request) []byte {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil
	}
	return body
}
