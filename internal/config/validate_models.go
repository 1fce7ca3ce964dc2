package config

import (
	"fmt"
	"net/http"
	"strings"
)

func (v validator) providers() {
	for name, p := range sorted(v.cfg.Providers) {
		path := join("providers", name)
		v.oneOf(path+".type", p.Type, ProviderOpenAI, ProviderAnthropic, ProviderOffline)
		v.between(path+".timeout_seconds", p.TimeoutSeconds, 1, day)
		if p.BaseURL != "" && !validURL(p.BaseURL) {
			v.problems.check(path+".base_url", "must be an http or https address without query, such as %s", openAIBaseURL)
		}
		if strings.ContainsFunc(p.APIKey.Reveal(), notInHeader) {
			v.problems.check(path+".api_key", "must be printable ASCII without spaces; was something pasted along with it?")
		}
		for header, value := range sorted(p.Headers) {
			at := join(path+".headers", header)
			if !validHeaderName(header) {
				v.problems.check(at, "is no valid name of an HTTP header")
			}
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				v.problems.check(at, "the value of an HTTP header must be one line without control characters")
			}
		}
	}
}

func (v validator) models() {
	for name, m := range sorted(v.cfg.Models) {
		path := join("models", name)
		v.modelProvider(path+".provider", m.Provider)
		v.name(path+".model", m.Model)
		v.between(path+".context_window_tokens", m.ContextWindowTokens, 1, 100_000_000)
		v.between(path+".max_output_tokens", m.MaxOutputTokens, 0, 100_000_000)
		if m.Temperature != nil && !(*m.Temperature >= 0 && *m.Temperature <= 2) {
			v.problems.check(path+".temperature", "must be from 0 to 2, or null for the provider's default")
		}
		v.oneOf(path+".reasoning", m.Reasoning, ReasoningAuto, ReasoningEcho, ReasoningDrop)
	}
}

func (v validator) modelProvider(path, provider string) {
	known := sortedKeys(v.cfg.Providers)
	switch _, exists := v.cfg.Providers[provider]; {
	case exists || v.problems.isSpoiled("providers"):
	case provider == "":
		v.problems.check(path, "name the provider that serves this model; %s", suggest("", known))
	case len(known) == 0:
		v.problems.check(path, "there is no provider %s; add it to providers, or set OPENAI_API_KEY or ANTHROPIC_API_KEY", quote(provider))
	default:
		v.problems.check(path, "there is no provider %s; %s", quote(provider), suggest(provider, known))
	}
}

func (v validator) agents() {
	if v.unset != "" && !v.problems.isSpoiled("models") && !v.problems.isSpoiled("providers") {
		v.problems.check(v.unset, "%s", v.unresolved)
	}
	for name, a := range sorted(v.cfg.Agents) {
		path := join("agents", name)
		if a.Model != "" {
			v.modelName(path+".model", a.Model)
		}
		for i, m := range a.FallbackModels {
			v.modelName(fmt.Sprintf("%s.fallback_models[%d]", path, i), m)
		}
		v.between(path+".max_tool_iterations", a.MaxToolIterations, 1, 100_000)
		v.between(path+".max_parallel_tools", a.MaxParallelTools, 1, 1000)
	}
}

func (v validator) modelName(path, model string) {
	if _, exists := v.cfg.Models[model]; exists || v.problems.isSpoiled("models") {
		return
	}
	v.problems.check(path, "there is no model %s; %s", quote(model), suggest(model, sortedKeys(v.cfg.Models)))
}

// notInHeader reports what would break out of an Authorization header.
func notInHeader(r rune) bool { return r <= ' ' || r >= 0x7f }

// validHeaderName asks net/http, which would otherwise refuse each request.
func validHeaderName(name string) bool {
	const separators = "()<>@,;:\\\"/[]?={}"
	return name != "" && http.CanonicalHeaderKey(name) != "Host" &&
		!strings.ContainsFunc(name, notInHeader) && !strings.ContainsAny(name, separators)
}
