package scripted

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
	"unicode/utf8"
)

// Script says what a fake does with its requests (R), step by step (S), and keeps
// what was asked. It is safe for concurrent use.
type Script[R, S any] struct {
	refusal func(R) string
	done    chan struct{} // closed by Release
	once    sync.Once

	mu       sync.Mutex
	queue    []S
	rule     func(R) S
	requests []R
	pings    int
	changed  chan struct{} // closed and replaced whenever a request was recorded
}

// New returns an empty script. refusal says why a request was refused, "" = it was not.
func New[R, S any](refusal func(R) string) *Script[R, S] {
	return &Script[R, S]{refusal: refusal, done: make(chan struct{}), changed: make(chan struct{})}
}

// Release lets go of whatever waits, for good.
func (s *Script[R, S]) Release() { s.once.Do(func() { close(s.done) }) }

// Enqueue adds steps: each valid request takes the next one.
func (s *Script[R, S]) Enqueue(steps ...S) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, steps...)
}

// Handle sets the rule that answers while the queue is empty. A nil step, or no
// rule at all, echoes the last user message. The rule runs on the request's own
// goroutine, several at once when several requests come at once.
func (s *Script[R, S]) Handle(rule func(R) S) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rule = rule
}

// Requests returns the requests so far, refused ones included, in order of arrival.
func (s *Script[R, S]) Requests() []R {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count says how many requests came, refused ones included.
func (s *Script[R, S]) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// Pings says how often the list of models was asked for.
func (s *Script[R, S]) Pings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pings
}

// Pending says how many queued steps nobody has taken yet.
func (s *Script[R, S]) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// Refused returns why requests were refused: empty in a test whose client only
// sends valid requests.
func (s *Script[R, S]) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var reasons []string
	for _, r := range s.requests {
		if reason := s.refusal(r); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// Wait returns once n requests have come, or with ctx's error.
func (s *Script[R, S]) Wait(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		enough, changed := len(s.requests) >= n, s.changed
		s.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Pinged counts a look at the list of models.
func (s *Script[R, S]) Pinged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pings++
}

// Record keeps a request that takes no step.
func (s *Script[R, S]) Record(req R) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(req)
}

func (s *Script[R, S]) keep(req R) {
	s.requests = append(s.requests, req)
	close(s.changed)
	s.changed = make(chan struct{})
}

// Next records the request and takes its step in one critical section, so that the
// n-th recorded request is the one that got the n-th step. It returns otherwise when
// neither the queue nor the rule has one.
func (s *Script[R, S]) Next(req R, otherwise S) S {
	s.mu.Lock()
	s.keep(req)
	if len(s.queue) > 0 {
		step := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		return step
	}
	rule := s.rule
	s.mu.Unlock()
	if rule != nil {
		if step := rule(req); any(step) != nil {
			return step
		}
	}
	return otherwise
}

// Hold waits for release. It reports false when the client left or the script was
// released first.
func (s *Script[R, S]) Hold(r *http.Request, release <-chan struct{}) bool {
	select {
	case <-release:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}

// Sleep is Hold for a while.
func (s *Script[R, S]) Sleep(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	released := make(chan struct{})
	timer := time.AfterFunc(d, func() { close(released) })
	defer timer.Stop()
	return s.Hold(r, released)
}

// Pieces cuts text into pieces of n runes, to be streamed one by one.
func Pieces(text string, n int) []string {
	var out []string
	for len(text) > 0 {
		end := 0
		for count := 0; end < len(text) && count < n; count++ {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		out = append(out, text[:end])
		text = text[end:]
	}
	return out
}
