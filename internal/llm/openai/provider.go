package openai

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"picobot/internal/llm"
)

// DefaultBaseURL is used when a Config names none.
const DefaultBaseURL = "https://api.openai.com/v1"

const (
	defaultTimeout     = 300 * time.Second
	defaultIdleTimeout = 120 * time.Second
	pingTimeout        = 15 * time.Second
	dialTimeout        = 15 * time.Second
	maxPingBytes       = 4 << 20
)

// Config describes one endpoint.
type Config struct {
	Name    string            // its name in the config, for errors
	BaseURL string            // ends in /v1, as a rule
	APIKey  string            // "" = no Authorization header
	Headers map[string]string // set on every request; may replace Authorization
	// Timeout bounds one whole attempt, 300 s when zero.
	Timeout time.Duration
	// IdleTimeout bounds the silence between two chunks of a stream, keepalives
	// included; 120 s when zero. It starts with the first chunk: how long a model
	// thinks before it is Timeout's business.
	IdleTimeout time.Duration
	HTTPClient  *http.Client     // nil = one of its own
	Now         func() time.Time // nil = time.Now; reads Retry-After dates
}

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.IdleTimeout <= 0 {
		c.IdleTimeout = defaultIdleTimeout
	}
	if c.HTTPClient == nil {
		c.HTTPClient = newHTTPClient()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Provider is an OpenAI-compatible endpoint. It is safe for concurrent use.
type Provider struct {
	config Config
	client *goopenai.Client
	wire   *wire
}

var _ llm.Provider = (*Provider)(nil)

// New returns a provider for the endpoint. It does not connect.
func New(config Config) *Provider {
	config = config.withDefaults()
	w := newWire(config)
	client := goopenai.DefaultConfig(config.APIKey)
	client.BaseURL = config.BaseURL
	client.HTTPClient = w
	return &Provider{config: config, client: goopenai.NewClientWithConfig(client), wire: w}
}

// Close lets go of idle connections.
func (p *Provider) Close() { p.config.HTTPClient.CloseIdleConnections() }

// Complete runs one model call.
func (p *Provider) Complete(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	if err := llm.ContextError(ctx, p.config.Name, req.Model.Name); err != nil {
		return llm.Response{}, err
	}
	attempt := newAttempt(ctx, p.config.Timeout, p.config.IdleTimeout)
	defer attempt.stop()
	callCtx := withCall(attempt.ctx, &call{attempt: attempt, patch: patchFor(p.config.BaseURL, req), stream: req.Model.Stream})
	body := requestBody(req)

	var resp llm.Response
	var err error
	if req.Model.Stream {
		resp, err = p.stream(callCtx, body, attempt, onDelta)
	} else {
		resp, err = p.whole(callCtx, body)
	}
	if err != nil {
		return llm.Response{}, p.failure(ctx, attempt, req.Model.Name, err)
	}
	return resp, nil
}

func (p *Provider) whole(ctx context.Context, body goopenai.ChatCompletionRequest) (llm.Response, error) {
	reply, err := p.client.CreateChatCompletion(ctx, body)
	if err != nil {
		return llm.Response{}, err
	}
	var acc accumulator
	acc.addCompletion(reply)
	return acc.finish(false)
}

func (p *Provider) stream(ctx context.Context, body goopenai.ChatCompletionRequest, attempt *attempt, onDelta func(llm.Delta)) (llm.Response, error) {
	stream, err := p.client.CreateChatCompletionStream(ctx, body)
	if err != nil {
		return llm.Response{}, err
	}
	// A failed close of a body that was read tells nothing new.
	defer func() { _ = stream.Close() }()
	if onDelta == nil {
		onDelta = func(llm.Delta) {}
	}
	var acc accumulator
	for {
		raw, err := stream.RecvRaw()
		if errors.Is(err, io.EOF) {
			return acc.finish(true)
		}
		if err != nil {
			// What comes after the finish reason is only usage: an answer that is
			// complete is not thrown away for it.
			if acc.finished() && attempt.ctx.Err() == nil && isTransport(err) {
				return acc.finish(true)
			}
			return llm.Response{}, err
		}
		chunk, err := decodeChunk(raw)
		if err != nil {
			return llm.Response{}, err
		}
		if err := acc.add(chunk, onDelta); err != nil {
			return llm.Response{}, err
		}
	}
}

// Ping asks for the list of models. Endpoints without one are asked for an empty
// completion, which costs nothing and is refused by whoever understands it.
func (p *Provider) Ping(ctx context.Context) error {
	attempt := newAttempt(ctx, min(p.config.Timeout, pingTimeout), p.config.IdleTimeout)
	defer attempt.stop()
	err := p.probe(attempt.ctx, http.MethodGet, "/models", "")
	if missing(err) {
		err = p.probe(attempt.ctx, http.MethodPost, "/chat/completions", "{}")
		if err != nil && understood(err) {
			return nil
		}
	}
	if err != nil {
		return p.failure(ctx, attempt, "", err)
	}
	return nil
}

func (p *Provider) probe(ctx context.Context, method, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, p.config.BaseURL+path, strings.NewReader(body))
	if err != nil {
		return &failure{kind: llm.KindBadRequest, message: "base_url is not a valid address"}
	}
	if body == "" {
		req.Body, req.ContentLength = nil, 0
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.config.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+p.config.APIKey)
	}
	resp, err := p.wire.send(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // nothing more is wanted of it
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPingBytes))
	if err != nil {
		return err
	}
	if isHTML("", text) {
		return htmlFailure(resp.StatusCode)
	}
	if f := inlineFailure(text, false); f != nil {
		return f
	}
	return nil
}

// missing reports that the endpoint has nothing at the path it was asked for.
func missing(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && (f.status == http.StatusNotFound || f.status == http.StatusMethodNotAllowed || f.status == http.StatusNotImplemented)
}

// understood reports that an endpoint refused an empty completion because it was
// empty: it speaks the protocol. Only a 404 with a JSON error does (some answer a
// missing model so); any other one is a wrong base_url.
func understood(err error) bool {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return false
	}
	switch f.status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType:
		return true
	case http.StatusNotFound:
		return f.structured
	}
	return false
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
