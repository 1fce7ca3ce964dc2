package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// total is what all tests of this process measured together.
var total = &tally{hits: map[string][2]int{}}

type tally struct {
	mu     sync.Mutex
	killed int
	hits   map[string][2]int // by point: how often it was hit, of how many kills
	starts []time.Duration
	// From well to answered: on one machine, and beside a Temporal that lives, where
	// heartbeats have to time out first.
	recovery, external []time.Duration
}

func (t *tally) add(r *rig) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.killed += r.killed
	for name, n := range r.hits {
		t.hits[name] = [2]int{t.hits[name][0] + n[0], t.hits[name][1] + n[1]}
	}
	t.starts = append(t.starts, r.starts...)
	if len(r.beside) > 0 {
		t.external = append(t.external, r.recovery...)
	} else {
		t.recovery = append(t.recovery, r.recovery...)
	}
}

// String reports everything, one line each.
func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d processes were killed with SIGKILL\n", t.killed)
	for _, name := range slices.Sorted(maps.Keys(t.hits)) {
		fmt.Fprintf(&b, "  %-40s hit %d of %d\n", name, t.hits[name][0], t.hits[name][1])
	}
	fmt.Fprintf(&b, "start until well:    %s\n", spread(t.starts))
	fmt.Fprintf(&b, "well until answered: %s; the goal is a median of 2s and a p95 of 8s\n", spread(t.recovery))
	fmt.Fprintf(&b, "beside an external Temporal, whose heartbeats time out after 30s: %s\n", spread(t.external))
	return b.String()
}
