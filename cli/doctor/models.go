package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"maps"
	"slices"
	"strings"
	"sync"

	"picobot/internal/chat"
	"picobot/internal/config"
	"picobot/internal/llm"
)

// models asks each configured model for a word. All at once: one that hangs must not
// use up the patience for the others.
func (e *examination) models(ctx context.Context) {
	names := slices.Sorted(maps.Keys(e.Config.Models))
	findings := make([]Finding, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { findings[i] = e.model(ctx, name) })
	}
	all.Wait()
	for _, f := range findings {
		e.report(f)
	}
	e.unused(ctx)
}

// unused checks the providers that no model is at.
func (e *examination) unused(ctx context.Context) {
	for _, p := range e.Models.Providers() {
		used := p.Type == config.ProviderOffline
		for _, m := range e.Config.Models {
			used = used || m.Provider == p.Name
		}
		if used {
			continue
		}
		if err := p.Ping(ctx); err != nil {
			e.fail("provider "+p.Name, adviceFor(err), "%s", e.Scrub.Text(err.Error()))
			continue
		}
		e.ok("provider "+p.Name, "answers; no model is configured for it")
	}
}

func (e *examination) model(ctx context.Context, name string) Finding {
	check := "model " + name
	cfg := e.Config.Models[name]
	if e.Config.Providers[cfg.Provider].Type == config.ProviderOffline {
		return Finding{check, Warn, "the offline model knows a few fixed commands only",
			"set OPENAI_API_KEY or ANTHROPIC_API_KEY, or configure a provider"}
	}
	provider, model, window, err := e.Models.Model(name)
	if err != nil {
		return Finding{check, Fail, err.Error(), "correct the configuration"}
	}
	model.MaxOutputTokens = aWord
	p := probe{provider: provider, model: model}
	if err := p.ask(ctx, llm.Request{Model: model}); err != nil {
		return Finding{check, Fail, e.Scrub.Text(err.Error()), adviceFor(err)}
	}
	detail := fmt.Sprintf("%s at %s answers; %s; window %d tokens (as configured)", model.ID, cfg.Provider, strings.Join(p.abilities(ctx), ", "), window)
	if p.missing != "" {
		return Finding{check, Warn, detail, p.missing}
	}
	return Finding{Check: check, Status: OK, Detail: detail}
}

// aWord is how long an answer may be. Some endpoints refuse less than 16.
const aWord = 16

// adviceFor says what a person can do about a refusal.
func adviceFor(err error) string {
	switch llm.KindOf(err) {
	case llm.KindAuth:
		return "set the provider's api_key to one that the endpoint takes"
	case llm.KindQuota:
		return "top up the account, or configure another provider"
	case llm.KindNotFound:
		return "check the model's name and the provider's base_url"
	case llm.KindTransport, llm.KindTimeout:
		return "check the provider's base_url and the network"
	case llm.KindRateLimited, llm.KindOverloaded, llm.KindServer, llm.KindIncomplete:
		return "try again in a while"
	default:
		return "see what the endpoint says"
	}
}

// probe finds out what an endpoint can do.
type probe struct {
	provider llm.Provider
	model    llm.Model
	missing  string // what to do about what is configured and not there
}

func (p *probe) ask(ctx context.Context, req llm.Request) error {
	if req.Messages == nil {
		req.Messages = []llm.Message{{Message: chat.Message{Role: chat.RoleUser, Content: "Say ok."}}}
	}
	_, err := p.provider.Complete(ctx, req, nil)
	return err
}

// abilities lists what works. Only a clear refusal counts as "no": an endpoint that
// is busy says nothing about what it can do.
func (p *probe) abilities(ctx context.Context) []string {
	tools := p.try(ctx, "tools", "this model cannot call tools: use another one for agents", llm.Request{Model: p.model, Tools: []llm.Tool{{
		Name: "nothing", Description: "Does nothing.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}}})
	streaming := "streaming off"
	if p.model.Stream {
		streaming = "streaming" // the first question was streamed
	}
	vision := "no vision"
	if p.model.Vision {
		vision = p.try(ctx, "vision", `set "vision": false for this model`, llm.Request{Model: p.model, Messages: []llm.Message{{
			Message: chat.Message{Role: chat.RoleUser, Content: "Say ok."}, Images: []llm.Image{{MIME: "image/png", Data: dot()}}}}})
	}
	return []string{tools, streaming, vision}
}

func (p *probe) try(ctx context.Context, what, missing string, req llm.Request) string {
	err := p.ask(ctx, req)
	refused, ok := errors.AsType[*llm.Error](err)
	switch {
	case err == nil:
		return what
	case ok && refused.Kind == llm.KindBadRequest:
		p.missing = missing
		return "no " + what
	default:
		return what + " unknown"
	}
}

// dot is a white picture. Endpoints refuse very small ones.
func dot() []byte {
	white := image.NewGray(image.Rect(0, 0, 32, 32))
	for i := range white.Pix {
		white.Pix[i] = 0xff
	}
	var b bytes.Buffer
	_ = png.Encode(&b, white) // a buffer takes everything
	return b.Bytes()
}
