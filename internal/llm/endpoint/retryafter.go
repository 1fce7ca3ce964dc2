package endpoint

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what is believed of a header.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads how long the endpoint asks to wait: milliseconds, seconds or a
// date. It is 0 when the endpoint does not say, or says something past.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := parseWait(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := h.Get("Retry-After")
	if d, ok := parseWait(value, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

func parseWait(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || n != n {
		return 0, false
	}
	// Bounded before the multiplication, which could overflow.
	n = min(max(n, 0), float64(maxRetryAfter/unit))
	return time.Duration(n * float64(unit)), true
}
