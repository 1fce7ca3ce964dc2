package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// resolver fills in what follows from other keys and from the environment.
type resolver struct {
	cfg      *Config
	problems *problems
	env      func(string) (string, bool)

	unset      string // path of the choice of model that only the user can make, "" when there is none
	unresolved string // what to do about it
}

// envProvider is a provider that a key in the environment makes.
type envProvider struct {
	kind                       string
	keyVar, urlVar, modelVar   string
	defaultURL, defaultModelID string
}

// envProviders are tried in this order; the first whose key is set is made.
func envProviders() []envProvider {
	return []envProvider{
		{ProviderOpenAI, "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", openAIBaseURL, openAIModel},
		{ProviderAnthropic, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", anthropicBaseURL, anthropicModel},
	}
}

// models makes providers, models and the agents' choice of models complete.
func (r *resolver) models() {
	if len(r.cfg.Providers) == 0 && !r.problems.isSpoiled("providers") {
		r.providerFromEnv()
	}
	r.onlyProvider()
	r.chooseModel()
	r.addOffline()
	for name, m := range r.cfg.Models {
		if m.Model == "" {
			m.Model = name
			r.cfg.Models[name] = m
		}
	}
	for name, p := range r.cfg.Providers {
		p.BaseURL = strings.TrimRight(orDefault(p.BaseURL, baseURLOf(p.Type)), "/")
		r.cfg.Providers[name] = p
	}
}

// providerFromEnv makes a provider of a key in the environment. Without a configured
// model it makes that too; with neither key nor model, the offline model answers.
func (r *resolver) providerFromEnv() {
	noModels := len(r.cfg.Models) == 0 && !r.problems.isSpoiled("models")
	for _, e := range envProviders() {
		key, _ := r.env(e.keyVar)
		if key = strings.TrimSpace(key); key == "" {
			continue
		}
		p := defaultProvider()
		p.Type, p.APIKey = e.kind, Secret(key)
		if u, _ := r.env(e.urlVar); validURL(u) {
			p.BaseURL = u
		} else if u != "" {
			r.problems.add(e.urlVar, "the environment variable must hold an http or https address such as %s", e.defaultURL)
		}
		r.cfg.Providers[e.kind] = p
		if noModels {
			id, _ := r.env(e.modelVar)
			id = orDefault(strings.TrimSpace(id), e.defaultModelID)
			r.addModel(id, e.kind)
		}
		return
	}
	if noModels {
		r.addModel(OfflineName, OfflineName)
	}
}

func (r *resolver) addModel(name, provider string) {
	m := defaultModel()
	m.Provider, m.Model = provider, name
	r.cfg.Models[name] = m
}

// onlyProvider gives models that name no provider the only one there is, and an
// offline provider that stands alone its model.
func (r *resolver) onlyProvider() {
	if len(r.cfg.Providers) != 1 {
		return
	}
	only := sortedKeys(r.cfg.Providers)[0]
	for name, m := range r.cfg.Models {
		if m.Provider == "" {
			m.Provider = only
			r.cfg.Models[name] = m
		}
	}
	if len(r.cfg.Models) == 0 && r.cfg.Providers[only].Type == ProviderOffline {
		r.addModel(OfflineName, only)
	}
}

// chooseModel gives agents that name no model one: the default agent the only one
// there is, the others what the default agent has.
func (r *resolver) chooseModel() {
	def := r.cfg.Agents[DefaultAgent]
	if names := sortedKeys(r.cfg.Models); def.Model == "" {
		switch len(names) {
		case 0:
			r.unset = "models"
			r.unresolved = `add a model, such as {"main": {"provider": ` + r.someProvider() + `, "model": "ID OF THE MODEL"}}`
		case 1:
			def.Model = names[0]
			r.cfg.Agents[DefaultAgent] = def
		default:
			r.unset = "agents.default.model"
			r.unresolved = "name the model that answers; configured are " + quoteAll(names[:min(len(names), 30)])
		}
	}
	for name, a := range r.cfg.Agents {
		if a.Model == "" {
			a.Model = def.Model
			r.cfg.Agents[name] = a
		}
	}
}

func (r *resolver) someProvider() string {
	if len(r.cfg.Providers) == 0 {
		return `"NAME OF A PROVIDER"`
	}
	return quote(sortedKeys(r.cfg.Providers)[0])
}

// addOffline adds the built-in offline model and provider where something names
// them that is not configured.
func (r *resolver) addOffline() {
	for _, a := range r.cfg.Agents {
		if a.Model == OfflineName || slices.Contains(a.FallbackModels, OfflineName) {
			if _, configured := r.cfg.Models[OfflineName]; !configured {
				r.addModel(OfflineName, OfflineName)
			}
		}
	}
	for m := range maps.Values(r.cfg.Models) {
		if _, configured := r.cfg.Providers[OfflineName]; !configured && m.Provider == OfflineName {
			p := defaultProvider()
			p.Type = ProviderOffline
			r.cfg.Providers[OfflineName] = p
		}
	}
}

// paths makes every path absolute: ~ is the person's home directory, other relative
// paths start at the directory of the configuration file.
func (r *resolver) paths(home, dir string) {
	if r.cfg.Workspace == "" && home != "" {
		r.cfg.Workspace = r.path("workspace", filepath.Join(home, "workspace"), "")
	} else {
		r.cfg.Workspace = r.path("workspace", r.cfg.Workspace, dir)
	}
	tls := &r.cfg.Temporal.TLS
	tls.CAFile = r.path("temporal.tls.ca_file", tls.CAFile, dir)
	tls.CertFile = r.path("temporal.tls.cert_file", tls.CertFile, dir)
	tls.KeyFile = r.path("temporal.tls.key_file", tls.KeyFile, dir)
}

func (r *resolver) path(key, p, dir string) string {
	if p == "" {
		return ""
	}
	if strings.ContainsRune(p, 0) {
		r.problems.check(key, "a path cannot hold a null character")
		return p
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		home, _ := r.env("HOME")
		if home == "" {
			r.problems.check(key, "~ needs the environment variable HOME; set it or write the whole path")
			return p
		}
		p = filepath.Join(home, p[1:])
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	abs, err := filepath.Abs(p)
	if err != nil {
		r.problems.check(key, "write the whole path: the working directory is unknown")
		return p
	}
	return abs
}

func baseURLOf(kind string) string {
	switch kind {
	case ProviderOpenAI:
		return openAIBaseURL
	case ProviderAnthropic:
		return anthropicBaseURL
	default:
		return ""
	}
}

func orDefault(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
