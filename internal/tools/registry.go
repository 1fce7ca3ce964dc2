package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"picobot/internal/brief"
)

const (
	defaultResultChars = 16000
	defaultSummary     = 120
)

// Options of a registry. The zero value has working defaults.
type Options struct {
	// Disabled names tools that the model is not shown. Names of tools that are
	// not registered are left alone here: the configuration knows all names.
	Disabled []string
	// MaxResultChars is how many characters of a result the model gets; 0 = 16000.
	MaxResultChars int
	// Spill keeps a result that is longer, and returns the path the model can
	// read it at; nil = what is left out is lost. See Workspace.Spill.
	Spill func(call Call, tool, content string) (path string, err error)
	// Logger is told of tools that panicked; nil = nobody.
	Logger *slog.Logger
}

// Definition is what a model is told of a tool.
type Definition struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema of an object
}

// Registry runs tools by name. It is immutable and safe for concurrent use.
type Registry struct {
	opts  Options
	tools map[string]Tool
	names []string // sorted
}

// NewRegistry returns a registry of the tools that opts does not disable. Two
// tools of one name are an error.
func NewRegistry(opts Options, tools ...Tool) (*Registry, error) {
	if opts.MaxResultChars <= 0 {
		opts.MaxResultChars = defaultResultChars
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Registry{opts: opts, tools: make(map[string]Tool, len(tools))}
	for _, t := range tools {
		if t.run == nil {
			return nil, errors.New("register tools: a tool was not made with New")
		}
		if _, twice := r.tools[t.name]; twice {
			return nil, fmt.Errorf("register tools: two tools are called %s", t.name)
		}
		r.tools[t.name] = t
	}
	for _, name := range opts.Disabled {
		delete(r.tools, name)
	}
	r.names = sortedKeys(r.tools)
	return r, nil
}

// Definitions returns the tools in the order of their names: always the same
// order, since providers cache a prompt by its unchanged beginning.
func (r *Registry) Definitions() []Definition {
	definitions := make([]Definition, len(r.names))
	for i, name := range r.names {
		t := r.tools[name]
		definitions[i] = Definition{Name: name, Description: t.description, Parameters: slices.Clone(t.parameters)}
	}
	return definitions
}

// Lookup returns a tool that the model may call.
func (r *Registry) Lookup(name string) (Tool, bool) {
	t, ok := r.tools[name]
	return t, ok
}

// Effect returns the class of one call. A call that will be refused (unknown
// tool, bad arguments) changes nothing, so it is read-only.
func (r *Registry) Effect(name, arguments string) Effect {
	t, ok := r.tools[name]
	if !ok {
		return ReadOnly
	}
	object, err := t.arguments.parse(arguments)
	if err != nil {
		return ReadOnly
	}
	effect, err := t.effectOf(object)
	if err != nil {
		return ReadOnly
	}
	return effect
}

// Summary returns a call as one line for people, such as "bash: go test ./...",
// cut to max characters (0 = 120). Secrets in arguments are not masked.
func (r *Registry) Summary(name, arguments string, max int) string {
	if max <= 0 {
		max = defaultSummary
	}
	// A prefix is enough for the line, and cheap even for a megabyte of text.
	detail := arguments[:min(len(arguments), 8*max)]
	if t, ok := r.tools[name]; ok {
		if object, err := t.arguments.parse(arguments); err == nil {
			if s, err := t.summary(object); err == nil {
				detail = s
			}
		}
	}
	line := brief.Cut(brief.OneLine(name), maxQuoted)
	detail = brief.OneLine(strings.ToValidUTF8(detail, ""))
	if detail != "" && detail != "{}" {
		line += ": " + detail
	}
	return brief.Cut(line, max)
}

// Run executes one call. It never panics, and returns a Result whatever happens:
// failures are for the model to read. The cause of ctx may be ErrCancelled or
// ErrShutdown.
func (r *Registry) Run(ctx context.Context, call Call, name, arguments string) Result {
	if ctx.Err() != nil {
		return r.finish(call, name, "", fmt.Errorf("%w before it began", context.Cause(ctx)))
	}
	t, ok := r.tools[name]
	if !ok {
		return r.finish(call, name, "", r.unknown(name))
	}
	object, err := t.arguments.parse(arguments)
	if err != nil {
		return r.finish(call, name, "", err)
	}
	content, err := r.guarded(ctx, call, t, object)
	return r.finish(call, name, content, err)
}

// guarded turns a panic of the tool into an error: one broken tool must not take
// all sessions down.
func (r *Registry) guarded(ctx context.Context, call Call, t Tool, object map[string]json.RawMessage) (content string, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.opts.Logger.Error("tool panicked", "tool", t.name, "turn_id", call.TurnID,
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			content, err = "", fmt.Errorf("%s broke off because of a fault in PicoBot; the log says more", t.name)
		}
	}()
	return t.run(ctx, call, object)
}

func (r *Registry) unknown(name string) error {
	if len(r.names) == 0 {
		return fmt.Errorf("unknown tool %s: there are no tools", quote(name))
	}
	return fmt.Errorf("unknown tool %s. Known tools: %s", quote(name), strings.Join(byLikeness(name, r.names), ", "))
}

func (r *Registry) finish(call Call, name, content string, err error) Result {
	if err != nil {
		text := "Error: " + err.Error()
		if content != "" {
			text += "\n" + content
		}
		content = text
	}
	return Result{Content: r.limit(call, name, presentable(content)), Failed: err != nil, Err: err}
}
