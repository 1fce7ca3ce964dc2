package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	healthTimeout = 3 * time.Second
	maxHealth     = 1 << 20
)

// answers returns nil when a gateway answers at url. One that is degraded does: it
// still takes messages.
func (f *Finder) answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(url, "/")+"/health", nil)
	if err != nil {
		return fmt.Errorf("ask for its health: %w", err)
	}
	resp, err := f.o.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var health struct {
		Status   string `json:"status"`
		Temporal string `json:"temporal"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, maxHealth)).Decode(&health)
	if err != nil || health.Status == "" {
		return errors.New("what answers there is not PicoBot")
	}
	if health.Temporal != "" && health.Temporal != "ok" && !f.waiting {
		f.waiting = true
		f.o.TemporalAway()
	}
	return nil
}
