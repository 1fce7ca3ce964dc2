package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"maps"
	"slices"
	"strings"
	"sync"

	"picobot/internal/chat"
	"picobot/internal/config"
	"picobot/internal/llm"
	"picobot/internal/text"
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
			e.fail("provider "+p.Name, adviceFor(err), e.Scrub.Text(err.Error()))
			continue
		}
		e.ok("provider "+p.Name, e.say(text.DoctorProvider{}))
	}
}

func (e *examination) model(ctx context.Context, name string) Finding {
	check := "model " + name
	cfg := e.Config.Models[name]
	if e.Config.Providers[cfg.Provider].Type == config.ProviderOffline {
		return Finding{check, Warn, e.say(text.DoctorModelOffline{}), e.say(text.DoctorConfigureModel{})}
	}
	provider, model, window, err := e.Models.Model(name)
	if err != nil {
		return Finding{check, Fail, err.Error(), e.say(text.DoctorCorrectConfig{})}
	}
	model.MaxOutputTokens = aWord
	p := probe{words: e.Words, provider: provider, model: model}
	if err := p.ask(ctx, llm.Request{Model: model}); err != nil {
		return Finding{check, Fail, e.Scrub.Text(err.Error()), e.say(adviceFor(err))}
	}
	detail := e.say(text.DoctorModel{Model: model.ID, Provider: cfg.Provider, Abilities: strings.Join(p.abilities(ctx), ", "), Window: window})
	if p.missing != nil {
		return Finding{check, Warn, detail, e.say(p.missing)}
	}
	return Finding{Check: check, Status: OK, Detail: detail}
}

// aWord is how long an answer may be. Some endpoints refuse less than 16.
const aWord = 16

// adviceFor says what a person can do about a refusal.
func adviceFor(err error) text.Message {
	switch llm.KindOf(err) {
	case llm.KindAuth:
		return text.DoctorAuth{}
	case llm.KindQuota:
		return text.DoctorQuota{}
	case llm.KindNotFound:
		return text.DoctorModelUnknown{}
	case llm.KindTransport, llm.KindTimeout:
		return text.DoctorUnreachable{}
	case llm.KindRateLimited, llm.KindOverloaded, llm.KindServer, llm.KindIncomplete:
		return text.DoctorLater{}
	default:
		return text.DoctorSeeEndpoint{}
	}
}

// probe finds out what an endpoint can do.
type probe struct {
	words    *text.Catalogue
	provider llm.Provider
	model    llm.Model
	missing  text.Message // what to do about what is configured and not there; nil = nothing is
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
	tools := p.try(ctx, text.AbleTools{}, text.DoctorNeedsTools{}, llm.Request{Model: p.model, Tools: []llm.Tool{{
		Name: "nothing", Description: "Does nothing.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}}})
	streaming := p.words.Say(text.StreamingOff{})
	if p.model.Stream {
		streaming = p.words.Say(text.AbleStreaming{}) // the first question was streamed
	}
	vision := p.words.Say(text.NotAble{What: p.words.Say(text.AbleVision{})})
	if p.model.Vision {
		vision = p.try(ctx, text.AbleVision{}, text.DoctorNeedsNoVision{}, llm.Request{Model: p.model, Messages: []llm.Message{{
			Message: chat.Message{Role: chat.RoleUser, Content: "Say ok."}, Images: []llm.Image{{MIME: "image/png", Data: dot()}}}}})
	}
	return []string{tools, streaming, vision}
}

func (p *probe) try(ctx context.Context, able, missing text.Message, req llm.Request) string {
	what, err := p.words.Say(able), p.ask(ctx, req)
	refused, ok := errors.AsType[*llm.Error](err)
	switch {
	case err == nil:
		return what
	case ok && refused.Kind == llm.KindBadRequest:
		p.missing = missing
		return p.words.Say(text.NotAble{What: what})
	default:
		return p.words.Say(text.MaybeAble{What: what})
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
