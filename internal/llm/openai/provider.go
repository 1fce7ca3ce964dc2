package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	goopenai "github.com/sashabaranov/go-openai"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// DefaultBaseURL is used when a Config names none.
const DefaultBaseURL = "https://api.openai.com/v1"

const maxPingBytes = 4 << 20

// Config describes one endpoint. Its BaseURL ends in /v1, as a rule.
type Config = endpoint.Config

// Provider is an OpenAI-compatible endpoint. It is safe for concurrent use.
type Provider struct {
	endpoint *endpoint.Endpoint
	client   *goopenai.Client
	forms    sync.Map // model id to the form that its endpoint was found to take
}

var _ llm.Provider = (*Provider)(nil)

// New returns a provider for the endpoint. It does not connect.
func New(config Config) *Provider {
	e := endpoint.New(config, DefaultBaseURL, baseURLHint)
	client := goopenai.DefaultConfig(e.APIKey())
	client.BaseURL = e.BaseURL()
	client.HTTPClient = wire{e}
	return &Provider{endpoint: e, client: goopenai.NewClientWithConfig(client)}
}

// version is how the addresses of compatible endpoints end.
var version = regexp.MustCompile(`/v[0-9][0-9a-z.]*$`)

// baseURLHint says that a base URL looks as if its version were missing: the most
// frequent mistake, and servers answer it with a bare 404 or with a web page.
func baseURLHint(baseURL string) string {
	if version.MatchString(baseURL) {
		return ""
	}
	return "OpenAI-style base URLs end in /v1, and base_url does not"
}

// Close lets go of idle connections.
func (p *Provider) Close() { p.endpoint.Close() }

// Complete runs one model call.
func (p *Provider) Complete(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	if err := llm.ContextError(ctx, p.endpoint.Name(), req.Model.Name); err != nil {
		return llm.Response{}, err
	}
	attempt := p.endpoint.Attempt(ctx)
	defer attempt.Stop()
	f := p.firstForm(req)
	var spent chat.Usage
	for {
		resp, err := p.ask(attempt, req, f, onDelta)
		spent = spent.Add(resp.Usage)
		if resp.Usage = spent; err == nil {
			return f.output.read(req.Schema, resp), nil
		}
		next, other := f.without(req, err)
		if !other {
			return resp, p.endpoint.Error(ctx, attempt, req.Model.Name, err)
		}
		p.forms.Store(req.Model.ID, next)
		f = next
	}
}

// ask sends a request in one form.
func (p *Provider) ask(attempt *endpoint.Attempt, req llm.Request, f form, onDelta func(llm.Delta)) (llm.Response, error) {
	c := &call{attempt: attempt, patch: patchFor(p.endpoint.BaseURL(), req, f.output), echo: f.echo, stream: req.Model.Stream}
	ctx := withCall(attempt.Context(), c)
	body := requestBody(req, f)
	if req.Model.Stream {
		return p.stream(ctx, body, attempt, onDelta)
	}
	return p.whole(ctx, body)
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

func (p *Provider) stream(ctx context.Context, body goopenai.ChatCompletionRequest, attempt *endpoint.Attempt, onDelta func(llm.Delta)) (llm.Response, error) {
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
			if acc.finished() && attempt.Context().Err() == nil && endpoint.IsTransport(err) {
				return acc.finish(true)
			}
			return acc.failed(err)
		}
		chunk, err := decodeChunk(raw)
		if err != nil {
			return acc.failed(err)
		}
		if err := acc.add(chunk, onDelta); err != nil {
			return acc.failed(err)
		}
	}
}

// Ping asks for the list of models. Endpoints without one are asked for an empty
// completion, which costs nothing and is refused by whoever understands it.
func (p *Provider) Ping(ctx context.Context) error {
	attempt := p.endpoint.PingAttempt(ctx)
	defer attempt.Stop()
	err := p.probe(attempt.Context(), http.MethodGet, "/models", "")
	if missing(err) {
		err = p.probe(attempt.Context(), http.MethodPost, "/chat/completions", "{}")
		if err != nil && understood(err) {
			return nil
		}
	}
	if err != nil {
		return p.endpoint.Error(ctx, attempt, "", err)
	}
	return nil
}

func (p *Provider) probe(ctx context.Context, method, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, p.endpoint.BaseURL()+path, strings.NewReader(body))
	if err != nil {
		return &endpoint.Failure{Kind: llm.KindBadRequest, Message: "base_url is not a valid address"}
	}
	if body == "" {
		req.Body, req.ContentLength = nil, 0
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.endpoint.APIKey() != "" {
		req.Header.Set("Authorization", "Bearer "+p.endpoint.APIKey())
	}
	resp, err := p.endpoint.Send(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // nothing more is wanted of it
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPingBytes))
	if err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		return p.endpoint.WebPage(resp.StatusCode)
	}
	if f := endpoint.InlineFailure(text, false); f != nil {
		return f
	}
	return nil
}

// missing reports that the endpoint has nothing at the path it was asked for.
func missing(err error) bool {
	f, ok := errors.AsType[*endpoint.Failure](err)
	return ok && (f.Status == http.StatusNotFound || f.Status == http.StatusMethodNotAllowed || f.Status == http.StatusNotImplemented)
}

// understood reports that an endpoint refused an empty completion because it was
// empty: it speaks the protocol. A 404 does only when it misses the model; any
// other one is a wrong base_url.
func understood(err error) bool {
	f, ok := errors.AsType[*endpoint.Failure](err)
	if !ok {
		return false
	}
	switch f.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType:
		return true
	case http.StatusNotFound:
		return f.MissingModel
	}
	return false
}
