package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// shortestSecret bounds what Secrets returns, in bytes: scrubbing shorter strings
// would tear holes into innocent text.
const shortestSecret = 4

// Masked returns a copy in which every secret reads ****: keys and tokens, header
// values and free-form values (models.X.extra, scheduler.jobs) whose name says that
// they are secret, and the user part of addresses.
func (c Config) Masked() Config {
	return c.mapSecrets(func(string) string { return mask })
}

// Secrets returns every string that must not be seen in a log, each once, longer
// ones before the shorter ones they may contain.
func (c Config) Secrets() []string {
	var found []string
	c.mapSecrets(func(s string) string {
		found = append(found, s)
		if scheme, rest, _ := strings.Cut(s, " "); containsAny(scheme, "bearer", "basic", "token", "key") {
			found = append(found, rest) // of "Bearer ..."
		}
		return s
	})
	found = slices.DeleteFunc(found, func(s string) bool { return len(s) < shortestSecret })
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(found)
}

// Show returns the whole configuration as indented JSON, secrets masked.
func (c Config) Show() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(c.Masked()); err != nil {
		return nil, fmt.Errorf("write config as JSON: %w", err)
	}
	return b.Bytes(), nil
}

// String is Show, so that a printed Config never shows a secret.
func (c Config) String() string {
	shown, err := c.Show()
	if err != nil {
		return err.Error()
	}
	return string(shown)
}

// LogValue keeps log/slog from writing secrets.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String keeps a printed Provider from showing its headers.
func (p Provider) String() string {
	return fmt.Sprintf("%s provider at %s", p.Type, mapURL(p.BaseURL, func(string) string { return mask }))
}

// LogValue keeps log/slog from writing secrets.
func (p Provider) LogValue() slog.Value { return slog.StringValue(p.String()) }

// mapSecrets returns a copy with every non-empty secret replaced by what f makes of it.
func (c Config) mapSecrets(f func(string) string) Config {
	secret := func(s Secret) Secret {
		if s == "" {
			return s
		}
		return Secret(f(string(s)))
	}
	c.Providers, c.Models = maps.Clone(c.Providers), maps.Clone(c.Models)
	for name, p := range sorted(c.Providers) {
		p.APIKey = secret(p.APIKey)
		p.BaseURL = mapURL(p.BaseURL, f)
		p.Headers = maps.Clone(p.Headers)
		for header, value := range sorted(p.Headers) {
			if value != "" && (secretHeader(header) || secretName(header) || credential(value)) {
				p.Headers[header] = f(value)
			}
		}
		c.Providers[name] = p
	}
	for name, m := range sorted(c.Models) {
		m.Extra = maps.Clone(m.Extra)
		for key, value := range sorted(m.Extra) {
			m.Extra[key] = mapRaw(key, value, f)
		}
		c.Models[name] = m
	}
	c.Gateway.Token = secret(c.Gateway.Token)
	c.Temporal.APIKey = secret(c.Temporal.APIKey)
	c.Channels.Feishu.AppSecret = secret(c.Channels.Feishu.AppSecret)
	c.Channels.Feishu.Domain = mapURL(c.Channels.Feishu.Domain, f)
	c.Scheduler.Jobs = slices.Clone(c.Scheduler.Jobs)
	for i, job := range c.Scheduler.Jobs {
		c.Scheduler.Jobs[i] = mapRaw("", job, f)
	}
	return c
}

// mapURL replaces the user part of an address.
func mapURL(s string, f func(string) string) string {
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return s
	}
	scheme, rest, _ := strings.Cut(s, "//")
	user, after, _ := strings.Cut(rest, "@")
	name, password, hasPassword := strings.Cut(user, ":")
	if !hasPassword { // a lone name is a token
		return scheme + "//" + f(name) + "@" + after
	}
	if password == "" {
		return s
	}
	if plain, err := url.PathUnescape(password); err == nil && plain != password {
		f(plain)
	}
	return scheme + "//" + name + ":" + f(password) + "@" + after
}

// mapRaw replaces strings inside free-form JSON that belong to a key whose name says
// that they are secret. What needs no replacement is returned as it was written.
func mapRaw(key string, raw json.RawMessage, f func(string) string) json.RawMessage {
	var value any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return raw
	}
	replaced, changed := mapValue(key, value, f)
	if !changed {
		return raw
	}
	out, err := json.Marshal(replaced)
	if err != nil {
		return raw
	}
	return out
}

func mapValue(key string, value any, f func(string) string) (_ any, changed bool) {
	switch v := value.(type) {
	case string:
		if v != "" && (secretName(key) || credential(v)) {
			return f(v), true
		}
	case []any:
		for i := range v {
			item, itemChanged := mapValue(key, v[i], f)
			v[i], changed = item, changed || itemChanged
		}
	case map[string]any:
		for k, old := range sorted(v) {
			item, itemChanged := mapValue(k, old, f)
			v[k], changed = item, changed || itemChanged
		}
	}
	return value, changed
}

// secretName reports whether a key of this name holds a secret.
func secretName(key string) bool {
	return containsAny(key, "api_key", "api-key", "apikey", "access_key", "private_key", "token", "secret", "password", "passwd", "authorization", "credential", "cookie")
}

// secretHeader reports whether an HTTP header of this name holds a secret. Headers
// are read more widely than keys: a header is rarely worth showing.
func secretHeader(name string) bool { return containsAny(name, "auth", "key", "session", "signature") }

func containsAny(s string, words ...string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// credential reports whether a value shows by its form that it is a secret: one word
// of some length after a well-known beginning.
func credential(value string) bool {
	for _, prefix := range []string{"bearer ", "basic ", "sk-"} {
		if len(value) >= len(prefix)+8 && strings.EqualFold(value[:len(prefix)], prefix) {
			return !strings.ContainsAny(value[len(prefix):], " \t\r\n")
		}
	}
	return false
}
