package anthropic

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// DefaultBaseURL is used when a Config names none.
const DefaultBaseURL = "https://api.anthropic.com"

// maxPauses bounds how often a model may pause in one answer.
const maxPauses = 8

// Config describes one endpoint. Its BaseURL does not end in /v1.
type Config = endpoint.Config

// Provider is an endpoint with Anthropic's Messages API. It is safe for concurrent
// use.
type Provider struct {
	endpoint *endpoint.Endpoint
	client   sdk.Client
	outputs  sync.Map // model id to the output that its endpoint was found to take
}

var _ llm.Provider = (*Provider)(nil)

// New returns a provider for the endpoint. It does not connect.
func New(config Config) *Provider {
	e := endpoint.New(config, DefaultBaseURL, baseURLHint)
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(), // its switches are in the environment, too
		option.WithMaxRetries(0),
		option.WithBaseURL(e.BaseURL()),
		option.WithHTTPClient(wire{e}),
	}
	if e.APIKey() != "" {
		options = append(options, option.WithAPIKey(e.APIKey()))
	}
	return &Provider{endpoint: e, client: sdk.NewClient(options...)}
}

// baseURLHint says that a base URL looks like an OpenAI-style one.
func baseURLHint(baseURL string) string {
	if strings.HasSuffix(baseURL, "/v1") {
		return "Anthropic-style base URLs do not end in /v1, and base_url does"
	}
	return ""
}

// Close lets go of idle connections.
func (p *Provider) Close() { p.endpoint.Close() }

// Complete runs one model call.
func (p *Provider) Complete(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	if err := llm.ContextError(ctx, p.endpoint.Name(), req.Model.Name); err != nil {
		return llm.Response{}, err
	}
	if onDelta == nil || !req.Model.Stream {
		onDelta = func(llm.Delta) {}
	}
	attempt := p.endpoint.Attempt(ctx)
	defer attempt.Stop()
	f := p.firstForm(req)
	var spent chat.Usage
	for {
		resp, err := p.converse(attempt, newRequest(req, f), onDelta)
		spent = spent.Add(resp.Usage)
		if resp.Usage = spent; err == nil {
			return resp, nil
		}
		next, other := f.without(req, err)
		if !other {
			return resp, p.endpoint.Error(ctx, attempt, req.Model.Name, err)
		}
		if next.output != f.output {
			p.outputs.Store(req.Model.ID, next.output)
		}
		f = next
	}
}

// converse sends a request and, when the model pauses, sends back what it has so
// far, until the answer is whole.
func (p *Provider) converse(attempt *endpoint.Attempt, r request, onDelta func(llm.Delta)) (llm.Response, error) {
	ctx := withCall(attempt.Context(), &call{attempt: attempt, patch: r.patch})
	acc := accumulator{by: r.by}
	params := r.params
	for range maxPauses {
		if err := p.stream(ctx, attempt, params, &acc, onDelta); err != nil {
			return acc.failed(err)
		}
		if acc.reason != string(sdk.StopReasonPauseTurn) {
			resp, err := acc.finish()
			if err != nil {
				return resp, err
			}
			return r.form.read(r.schema, resp), nil
		}
		if len(acc.blocks) == 0 {
			return acc.failed(&endpoint.Failure{Kind: llm.KindIncomplete, Message: "the model paused without having said anything"})
		}
		params.Messages = append(r.params.Messages[:len(r.params.Messages):len(r.params.Messages)], acc.paused())
	}
	return acc.failed(&endpoint.Failure{Kind: llm.KindIncomplete, Message: "the model paused again and again instead of finishing its answer"})
}

// stream reads one message into the accumulator.
func (p *Provider) stream(ctx context.Context, attempt *endpoint.Attempt, params sdk.MessageNewParams, acc *accumulator, onDelta func(llm.Delta)) error {
	acc.begin()
	stream := p.client.Messages.NewStreaming(ctx, params)
	// A failed close of a body that was read tells nothing new.
	defer func() { _ = stream.Close() }()
	for stream.Next() {
		if err := acc.add([]byte(stream.Current().RawJSON()), onDelta); err != nil {
			return err
		}
	}
	// What comes after the stop reason is only the end: an answer that is complete
	// is not thrown away for it.
	if err := stream.Err(); err != nil && (!acc.finished() || attempt.Context().Err() != nil || !endpoint.IsTransport(err)) {
		return err
	}
	if !acc.finished() {
		return &endpoint.Failure{Kind: llm.KindIncomplete, Message: "the stream ended before the answer did"}
	}
	return nil
}

// Ping asks for the list of models. Compatible servers without one are asked for an
// empty message, which costs nothing and is refused by whoever understands it.
func (p *Provider) Ping(ctx context.Context) error {
	attempt := p.endpoint.PingAttempt(ctx)
	defer attempt.Stop()
	ctxPing := withCall(attempt.Context(), &call{attempt: attempt, plain: true})
	var reply []byte
	err := p.client.Get(ctxPing, "v1/models?limit=1", nil, &reply)
	if status(err) == http.StatusNotFound || status(err) == http.StatusMethodNotAllowed || status(err) == http.StatusNotImplemented {
		err = p.client.Post(ctxPing, "v1/messages", struct{}{}, &reply)
		switch status(err) {
		case http.StatusBadRequest, http.StatusUnprocessableEntity:
			return nil
		}
	}
	if err != nil {
		return p.endpoint.Error(ctx, attempt, "", err)
	}
	return nil
}

// status is the HTTP status of a failure, 0 when there is none.
func status(err error) int {
	if f, ok := errors.AsType[*endpoint.Failure](err); ok {
		return f.Status
	}
	return 0
}
