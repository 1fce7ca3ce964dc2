package config

import (
	"fmt"
	"maps"
	"time"
)

// Offline reports whether the default agent answers with the built-in offline model,
// which every start and first reply has to say.
func (c Config) Offline() bool {
	return c.Providers[c.Models[c.Agents[DefaultAgent].Model].Provider].Type == ProviderOffline
}

// WithGatewayAddr returns the configuration with another gateway.addr, as --addr sets
// it, checked as if the file named it.
func (c Config) WithGatewayAddr(addr string) (Config, error) {
	c.Gateway.Addr = addr
	found := newProblems()
	validator{cfg: &c, problems: found}.gateway()
	if err := found.err(c.origin.file); err != nil {
		return Config{}, fmt.Errorf("use %s as the gateway's address: %w", quote(addr), err)
	}
	c.origin.named = maps.Clone(c.origin.named)
	if c.origin.named == nil {
		c.origin.named = map[string]bool{}
	}
	c.origin.named["gateway.addr"] = true
	return c, nil
}

// Timeout bounds one model call.
func (p Provider) Timeout() time.Duration { return seconds(p.TimeoutSeconds) }

// Retention is how long Temporal keeps closed workflows.
func (t Temporal) Retention() time.Duration { return days(t.RetentionDays) }

// TTL is the silence after which a dialog has expired, 0 = never.
func (s Session) TTL() time.Duration { return time.Duration(s.TTLHours) * time.Hour }

// ExpireAfter is the silence after which a chat begins a new dialog, 0 = it never does.
func (s Session) ExpireAfter() time.Duration {
	if s.OnExpiry != ExpiryNewDialog {
		return 0
	}
	return s.TTL()
}

// Retention is how long soft-deleted sessions are kept, 0 = for ever.
func (s Session) Retention() time.Duration { return days(s.RetentionDays) }

// CleanupInterval is the time between two cleanups.
func (s Session) CleanupInterval() time.Duration {
	return time.Duration(s.CleanupIntervalMinutes) * time.Minute
}

// StorageRetryDelays are the waits between the attempts of a write to the store.
func (s Session) StorageRetryDelays() []time.Duration {
	delays := make([]time.Duration, len(s.StorageRetryDelaysMS))
	for i, ms := range s.StorageRetryDelaysMS {
		delays[i] = time.Duration(ms) * time.Millisecond
	}
	return delays
}

// Timeout bounds a command when the model asks for no limit.
func (b Bash) Timeout() time.Duration { return seconds(b.TimeoutSeconds) }

// MaxTimeout bounds what the model may ask for.
func (b Bash) MaxTimeout() time.Duration { return seconds(b.MaxTimeoutSeconds) }

// Timeout bounds one request of a tool.
func (h HTTPTools) Timeout() time.Duration { return seconds(h.TimeoutSeconds) }

// MisfireGrace is how late a slot may start; 0 = half the period, at most 300 s.
func (s Scheduler) MisfireGrace() time.Duration { return seconds(s.MisfireGraceSeconds) }

// RunTimeout bounds one run of a job that sets no limit itself.
func (s Scheduler) RunTimeout() time.Duration { return seconds(s.RunTimeoutSeconds) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }
