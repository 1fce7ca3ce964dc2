package endpoint

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"picobot/internal/llm"
)

const (
	defaultTimeout     = 300 * time.Second
	defaultIdleTimeout = 120 * time.Second
	pingTimeout        = 15 * time.Second
	dialTimeout        = 15 * time.Second
)

// Config describes one endpoint.
type Config struct {
	Name    string            // its name in the config, for errors
	BaseURL string            // "" = the vendor's own
	APIKey  string            // "" = none is sent
	Headers map[string]string // set on every request, over the adapter's own
	// Timeout bounds one whole attempt, 300 s when zero.
	Timeout time.Duration
	// IdleTimeout bounds the silence between two chunks of a stream, keepalives
	// included; 120 s when zero. It starts with the first chunk: how long a model
	// thinks before it is Timeout's business.
	IdleTimeout time.Duration
	HTTPClient  *http.Client     // nil = one of its own
	Now         func() time.Time // nil = time.Now; reads Retry-After dates
}

// Endpoint sends requests to one address. It is safe for concurrent use.
type Endpoint struct {
	config Config
	hint   func(baseURL string) string
}

// New returns the endpoint. It does not connect. hint says what may be wrong with
// a base_url that leads to nothing, "" when it looks right.
func New(config Config, defaultURL string, hint func(baseURL string) string) *Endpoint {
	if config.BaseURL == "" {
		config.BaseURL = defaultURL
	}
	config.BaseURL = strings.TrimRight(config.BaseURL, "/")
	if config.Timeout <= 0 {
		config.Timeout = defaultTimeout
	}
	if config.IdleTimeout <= 0 {
		config.IdleTimeout = defaultIdleTimeout
	}
	if config.HTTPClient == nil {
		config.HTTPClient = newHTTPClient()
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Endpoint{config: config, hint: hint}
}

// Name is the endpoint's name in the config.
func (e *Endpoint) Name() string { return e.config.Name }

// BaseURL is its address, without a slash at the end.
func (e *Endpoint) BaseURL() string { return e.config.BaseURL }

// APIKey is its key.
func (e *Endpoint) APIKey() string { return e.config.APIKey }

// Attempt begins one call.
func (e *Endpoint) Attempt(ctx context.Context) *Attempt {
	return newAttempt(ctx, e.config.Timeout, e.config.IdleTimeout)
}

// PingAttempt begins one ping.
func (e *Endpoint) PingAttempt(ctx context.Context) *Attempt {
	return newAttempt(ctx, min(e.config.Timeout, pingTimeout), e.config.IdleTimeout)
}

// Close lets go of idle connections.
func (e *Endpoint) Close() { e.config.HTTPClient.CloseIdleConnections() }

// Send sends a request and returns its reply if that is a success and does not
// call itself a web page. Everything else is a *Failure, or the transport's error.
func (e *Endpoint) Send(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "picobot")
	for name, value := range e.config.Headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := e.config.HTTPClient.Do(req)
	if err != nil {
		// The outer error repeats the address, which may hold a secret.
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		return nil, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		if isHTML(resp.Header.Get("Content-Type"), nil) {
			_ = resp.Body.Close()
			return nil, e.WebPage(resp.StatusCode)
		}
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	// What could be read is judged; that the rest could not adds nothing.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	f := FailureOf(resp.StatusCode, resp.Header.Get("Content-Type"), text)
	f.RetryAfter = retryAfter(resp.Header, e.config.Now())
	f.requestID = requestID(resp.Header)
	if hint := e.hint(e.config.BaseURL); hint != "" && f.Kind == llm.KindNotFound && !f.MissingModel {
		f.Message += ": " + hint
	}
	return nil, f
}

// WebPage is the failure for a web page that came with a success: an address that
// is no API.
func (e *Endpoint) WebPage(status int) *Failure {
	f := &Failure{Kind: llm.KindBadRequest, Status: status, Message: "the endpoint sent a web page instead of an answer: check base_url"}
	if hint := e.hint(e.config.BaseURL); hint != "" {
		f.Message += ": " + hint
	}
	return f
}

// requestID is what a vendor's support asks for.
func requestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id"} {
		if id := strings.TrimSpace(h.Get(name)); id != "" && len(id) <= 128 {
			return id
		}
	}
	return ""
}

func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           256,
			MaxIdleConnsPerHost:    64,
			IdleConnTimeout:        90 * time.Second,
			TLSHandshakeTimeout:    dialTimeout,
			MaxResponseHeaderBytes: 1 << 20,
		},
		// A redirected POST loses its body or its key: say so instead.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
