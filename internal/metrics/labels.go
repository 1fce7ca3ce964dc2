package metrics

import (
	"strings"
	"sync"
)

// Other is the value of a label in place of those that are too many to be one.
const Other = "other"

// maxValues bounds the values of a label. Names come from the configuration, and
// a record may hold those of many configurations.
const maxValues = 64

// bounded lets the first values of a label through.
type bounded struct {
	mu   sync.Mutex
	max  int
	seen map[string]bool
}

func newBounded(n int) *bounded { return &bounded{max: n, seen: map[string]bool{}} }

func (b *bounded) value(v string) string {
	v = strings.ToValidUTF8(v, "?") // Prometheus takes no other
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.seen[v] {
		if len(b.seen) >= b.max {
			return Other
		}
		b.seen[v] = true
	}
	return v
}

func (m *Metrics) label(name, value string) string { return m.labels[name].value(value) }
