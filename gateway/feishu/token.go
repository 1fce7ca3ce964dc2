package feishu

import (
	"context"
	"regexp"
	"sync"
	"time"
)

// early is how long before its end a token is replaced.
const early = 5 * time.Minute

// tokens keeps the app's token, and gets the next one when it is needed.
type tokens struct {
	now   func() time.Time
	fetch func(context.Context) (string, time.Duration, error)
	lock  chan struct{} // held while one is fetched: who else needs it waits for it

	mu    sync.Mutex
	token string
	until time.Time
}

func newTokens(now func() time.Time, fetch func(context.Context) (string, time.Duration, error)) *tokens {
	return &tokens{now: now, fetch: fetch, lock: make(chan struct{}, 1)}
}

func (t *tokens) get(ctx context.Context) (string, error) {
	if token, ok := t.good(); ok {
		return token, nil
	}
	select {
	case t.lock <- struct{}{}:
		defer func() { <-t.lock }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if token, ok := t.good(); ok {
		return token, nil
	}
	token, ttl, err := t.fetch(ctx)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token, t.until = token, t.now().Add(max(ttl-early, ttl/2))
	return token, nil
}

func (t *tokens) good() (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.token, t.token != "" && t.now().Before(t.until)
}

// drop forgets a token that Feishu does not take; a newer one stays.
func (t *tokens) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}

// secrets are the keys of addresses of long connections, and tokens.
var secrets = regexp.MustCompile(`(?i)((?:access_key|ticket|app_?secret|token)["']?\s*[=:]\s*["']?)[^&\s"']+|\bt-[\w.-]{6,}|(Bearer\s+)\S+`)

// redact takes secrets out of what the SDK says.
func redact(s string) string { return secrets.ReplaceAllString(s, "$1$2****") }
