package offline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"picobot/internal/chat"
	"picobot/internal/llm"
)

// Options say what the model cannot know by itself. The zero value is usable.
type Options struct {
	Name string // name of the provider in the config, "offline" when empty
	// Sleep waits, or returns ctx's error when that ends first; nil = real time.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Provider is the offline model.
type Provider struct {
	name  string
	sleep func(ctx context.Context, d time.Duration) error
}

var _ llm.Provider = (*Provider)(nil)

// New returns the offline model.
func New(o Options) *Provider {
	if o.Name == "" {
		o.Name = "offline"
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	return &Provider{name: o.Name, sleep: o.Sleep}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ping always answers.
func (p *Provider) Ping(ctx context.Context) error {
	if err := llm.ContextError(ctx, p.name, ""); err != nil {
		return err
	}
	return nil
}

// Complete answers the last user message of the request.
func (p *Provider) Complete(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	if err := llm.ContextError(ctx, p.name, req.Model.Name); err != nil {
		return llm.Response{}, err
	}
	t := readTurn(req.Messages)
	cmd := parse(t.text)
	if cmd.fail != 0 {
		return llm.Response{}, &llm.Error{
			Kind: llm.KindOfStatus(cmd.fail), Status: cmd.fail, Provider: p.name, Model: req.Model.Name,
			Message: "the offline model was asked to fail",
		}
	}
	if s := req.Schema; s != nil {
		return answer(req, llm.Response{Content: instance(s.JSON), Stop: llm.StopEnd}), nil
	}
	if calls := next(cmd, t, req); len(calls) > 0 {
		return answer(req, llm.Response{ToolCalls: calls, Stop: llm.StopToolCalls}), nil
	}
	resp := llm.Response{Content: t.echo(), Stop: llm.StopEnd}
	var takes time.Duration
	switch {
	case len(t.results) > 0:
		resp.Content = strings.Join(t.results, "\n")
	case cmd.slow != nil:
		takes = *cmd.slow
		resp.Content = fmt.Sprintf("slow: this answer took %s", takes)
	}
	if err := p.deliver(ctx, resp.Content, takes, onDelta); err != nil {
		if ended := llm.ContextError(ctx, p.name, req.Model.Name); ended != nil {
			return llm.Response{}, ended
		}
		return llm.Response{}, &llm.Error{Kind: llm.KindServer, Provider: p.name, Model: req.Model.Name, Message: err.Error(), Err: err}
	}
	return answer(req, resp), nil
}

// next returns the calls of the next step, none when it is time to answer.
func next(cmd command, t turn, req llm.Request) []chat.ToolCall {
	calls := cmd.calls
	switch {
	case req.ForbidTools:
		return nil
	case cmd.loop > len(t.results):
		calls = []call{newCall("get_time", object{})}
	case len(t.results) > 0:
		return nil
	}
	for _, c := range calls {
		if !offered(req.Tools, c.name) {
			return nil
		}
	}
	return toolCalls(calls, len(t.results))
}

func offered(tools []llm.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == name })
}

// maxPieces is how many deltas an answer comes in, at most.
const maxPieces = 24

// deliver streams an answer over the time that it takes. Who does not listen waits
// all the same.
func (p *Provider) deliver(ctx context.Context, text string, takes time.Duration, onDelta func(llm.Delta)) error {
	parts := pieces(text, maxPieces)
	for i, part := range parts {
		// Differences of running totals: rounding must not add up.
		wait := takes*time.Duration(i+1)/time.Duration(len(parts)) - takes*time.Duration(i)/time.Duration(len(parts))
		if wait > 0 {
			if err := p.sleep(ctx, wait); err != nil {
				return err
			}
		}
		if onDelta != nil {
			onDelta(llm.Delta{Kind: llm.DeltaText, Text: part})
		}
	}
	return nil
}

// pieces cuts a text into at most n parts of about the same number of runes.
func pieces(text string, n int) []string {
	runes := []rune(text)
	size := max(1, (len(runes)+n-1)/n)
	var parts []string
	for chunk := range slices.Chunk(runes, size) {
		parts = append(parts, string(chunk))
	}
	return parts
}
