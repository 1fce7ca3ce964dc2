package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"picobot/internal/llm"
	"picobot/internal/llm/anthropic"
	"picobot/internal/llm/endpoint"
	"picobot/internal/llm/offline"
	"picobot/internal/llm/openai"
)

// Types of provider.
const (
	TypeOpenAI    = "openai"
	TypeAnthropic = "anthropic"
	TypeOffline   = "offline"
)

// DefaultContextWindow is what a model has that names no window.
const DefaultContextWindow = 128_000

// Provider describes an endpoint.
type Provider struct {
	Type    string
	BaseURL string
	APIKey  string
	Headers map[string]string
	Timeout time.Duration // 0 = the adapter's default
}

// Model describes a model and names its provider. Its Name is its key in the map
// that it is in.
type Model struct {
	llm.Model
	Provider            string
	ContextWindowTokens int // 0 = DefaultContextWindow
}

// Catalog holds every configured provider and model. It does not change.
type Catalog struct {
	providers map[string]Named
	models    map[string]Model
}

// Named is a provider with its name and type.
type Named struct {
	llm.Provider
	Name string
	Type string
}

// New builds a catalog. Its error names every problem, one a line.
func New(providers map[string]Provider, models map[string]Model) (*Catalog, error) {
	c := &Catalog{providers: map[string]Named{}, models: map[string]Model{}}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		p, err := build(name, providers[name])
		if err != nil {
			problems = append(problems, fmt.Errorf("providers.%s: %w", name, err))
			continue
		}
		c.providers[name] = Named{Provider: p, Name: name, Type: providers[name].Type}
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		m := models[name]
		m.Name = name
		p, known := providers[m.Provider]
		if !known {
			problems = append(problems, fmt.Errorf("models.%s.provider: there is no provider %q%s", name, m.Provider, choices(providers)))
			continue
		}
		if m.ID == "" && p.Type == TypeOffline {
			m.ID = TypeOffline
		}
		if m.ID == "" {
			problems = append(problems, fmt.Errorf("models.%s.model: the name of the model at the provider is missing", name))
		}
		for _, field := range reserved(p.Type) {
			if _, set := m.Extra[field]; set {
				problems = append(problems, fmt.Errorf("models.%s.extra.%s: cannot be set here", name, field))
			}
		}
		if m.ContextWindowTokens <= 0 {
			m.ContextWindowTokens = DefaultContextWindow
		}
		c.models[name] = m
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return c, nil
}

func build(name string, p Provider) (llm.Provider, error) {
	switch p.Type {
	case TypeOpenAI:
		return openai.New(p.config(name)), nil
	case TypeAnthropic:
		return anthropic.New(p.config(name)), nil
	case TypeOffline:
		return offline.New(offline.Options{Name: name}), nil
	}
	return nil, fmt.Errorf("unknown type %q (known: %s, %s, %s)", p.Type, TypeOpenAI, TypeAnthropic, TypeOffline)
}

func (p Provider) config(name string) endpoint.Config {
	return endpoint.Config{Name: name, BaseURL: p.BaseURL, APIKey: p.APIKey, Headers: p.Headers, Timeout: p.Timeout}
}

// reserved are the fields that a model's extra fields cannot set.
func reserved(kind string) []string {
	if kind == TypeAnthropic {
		return anthropic.ReservedFields()
	}
	return openai.ReservedFields()
}

// Model returns the named model, the provider that it lives at, and the size of its
// context window in tokens.
func (c *Catalog) Model(name string) (llm.Provider, llm.Model, int, error) {
	m, ok := c.models[name]
	if !ok {
		return nil, llm.Model{}, 0, fmt.Errorf("there is no model %q%s", name, choices(c.models))
	}
	m.Model.Provider = m.Provider
	return c.providers[m.Provider].Provider, m.Model, m.ContextWindowTokens, nil
}

// IsOffline reports whether the named model is the offline one.
func (c *Catalog) IsOffline(name string) bool {
	m, ok := c.models[name]
	return ok && c.providers[m.Provider].Type == TypeOffline
}

// Providers returns all providers by name, to be pinged.
func (c *Catalog) Providers() []Named {
	return slices.SortedFunc(maps.Values(c.providers), func(a, b Named) int { return strings.Compare(a.Name, b.Name) })
}

// Close lets go of what the providers hold, idle connections above all.
func (c *Catalog) Close() {
	for _, p := range c.providers {
		if closer, ok := p.Provider.(interface{ Close() }); ok {
			closer.Close()
		}
	}
}

// choices lists what there is, for an error about what there is not.
func choices[V any](m map[string]V) string {
	if len(m) == 0 {
		return ""
	}
	return " (known: " + strings.Join(slices.Sorted(maps.Keys(m)), ", ") + ")"
}
