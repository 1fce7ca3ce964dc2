package config

import (
	"bytes"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Warnings returns what is valid but hardly meant. Nothing here keeps PicoBot from
// starting.
func (c Config) Warnings() []Problem {
	w := newProblems()
	w.list = slices.Clone(c.origin.warnings)
	for name, p := range sorted(c.Providers) {
		warnProvider(w, join("providers", name), p)
	}
	for name, m := range sorted(c.Models) {
		if m.MaxOutputTokens >= m.ContextWindowTokens {
			w.add(join("models", name)+".max_output_tokens", "leaves no room for a prompt: context_window_tokens is %d", m.ContextWindowTokens)
		}
	}
	for name, a := range sorted(c.Agents) {
		warnAgent(w, join("agents", name), a)
	}
	if token := c.Gateway.Token.Reveal(); token != "" && len(token) < 16 && !loopback(c.Gateway.Addr) {
		w.add("gateway.token", "is easily guessed; use at least 16 random characters")
	}
	if t := c.Temporal; t.Mode == TemporalExternal && t.APIKey != "" && !t.TLS.Enabled {
		w.add("temporal.tls.enabled", "temporal.api_key is sent unencrypted; set this to true")
	}
	if f := c.Channels.Feishu; f.Enabled && len(f.AllowFrom) == 0 {
		w.add("channels.feishu.allow_from", `nobody may talk to the bot; list the ids of people, or "*" for everyone`)
	}
	if s := c.Scheduler; !s.Enabled && len(s.Jobs) > 0 {
		w.add("scheduler.enabled", "is false, so the %d jobs of the file never run", len(s.Jobs))
	}
	return w.list
}

// warnProvider knows how base addresses of the two kinds of API look.
func warnProvider(w *problems, path string, p Provider) {
	u, err := url.Parse(p.BaseURL)
	if err != nil || p.Type == ProviderOffline {
		return
	}
	versioned := regexp.MustCompile(`/v[0-9][0-9a-z]*(/|$)`).MatchString(u.Path)
	switch {
	case p.Type == ProviderOpenAI && !versioned:
		w.add(path+".base_url", "has no version in its path; OpenAI-style addresses usually end in /v1")
	case p.Type == ProviderAnthropic && strings.HasSuffix(u.Path, "/v1"):
		w.add(path+".base_url", "ends in /v1; Anthropic-style addresses do not, the version is added by PicoBot")
	}
	switch keyless := p.APIKey == "" && len(p.Headers) == 0; {
	case keyless && p.BaseURL == baseURLOf(p.Type):
		w.add(path+".api_key", "is empty; this provider will refuse every request")
	case keyless && !nearby(u.Hostname()):
		w.add(path+".api_key", "is empty; hardly any endpoint on the internet answers without a key")
	}
	if p.APIKey != "" && u.Scheme == "http" && !loopback(u.Hostname()+":0") && !loopback("["+u.Hostname()+"]:0") {
		w.add(path+".base_url", "sends api_key unencrypted; use https")
	}
}

// nearby reports whether a host is on this machine or in its own network, where
// endpoints often ask for no key.
func nearby(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()
	}
	name := strings.ToLower(host)
	if !strings.Contains(name, ".") {
		return true
	}
	return slices.ContainsFunc([]string{".local", ".localhost", ".lan", ".internal", ".home.arpa"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// warnAgent finds models that an agent would ask again right after they failed.
func warnAgent(w *problems, path string, a Agent) {
	for i, m := range a.FallbackModels {
		if m == a.Model || slices.Contains(a.FallbackModels[:i], m) {
			w.add(fmt.Sprintf("%s.fallback_models[%d]", path, i), "model %s is asked before already; name another one", quote(m))
		}
	}
}

// readableByOthers warns of a file that holds a secret as it is (not as ${VAR}) and
// that other users of the machine may read.
func readableByOthers(c Config, text []byte) (Problem, bool) {
	if c.File() == "" {
		return Problem{}, false
	}
	info, err := os.Stat(c.File())
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return Problem{}, false
	}
	literal := slices.ContainsFunc(c.Secrets(), func(s string) bool { return bytes.Contains(text, []byte(s)) })
	return Problem{Message: fmt.Sprintf("%s holds a secret and other users may read it; run chmod 600 on it", c.File())}, literal
}
