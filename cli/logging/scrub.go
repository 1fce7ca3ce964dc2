package logging

import (
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const mask = "****"

// minSecret is the shortest text that is treated as a secret: blanking out
// shorter ones would blank out half of every line.
const minSecret = 4

// Scrubber replaces the secrets it knows by ****. It can learn more at any time;
// safe for concurrent use.
type Scrubber struct {
	mu       sync.RWMutex
	known    []string
	replacer *strings.Replacer
}

// NewScrubber returns a scrubber that knows these secrets.
func NewScrubber(secrets ...string) *Scrubber {
	s := &Scrubber{replacer: strings.NewReplacer()}
	s.Add(secrets...)
	return s
}

// Add makes more secrets known.
func (s *Scrubber) Add(secrets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		if len(secret) < minSecret {
			continue
		}
		for _, form := range forms(secret) {
			if !slices.Contains(s.known, form) {
				s.known = append(s.known, form)
			}
		}
	}
	// The longest first, so that a secret that begins with another goes whole.
	slices.SortFunc(s.known, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(s.known))
	for _, k := range s.known {
		pairs = append(pairs, k, mask)
	}
	s.replacer = strings.NewReplacer(pairs...)
}

// forms lists how a secret can look inside a log line: as it is, quoted by a
// handler, or in an address.
func forms(secret string) []string {
	quoted := strconv.Quote(secret)
	all := []string{secret, quoted[1 : len(quoted)-1], url.QueryEscape(secret), url.PathEscape(secret)}
	if j, err := json.Marshal(secret); err == nil {
		all = append(all, string(j[1:len(j)-1]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Text returns text without the secrets.
func (s *Scrubber) Text(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.replacer.Replace(text)
}

// Writer returns a writer that scrubs each write before w gets it. A secret that
// is split between two writes is not seen: write whole lines.
func (s *Scrubber) Writer(w io.Writer) io.Writer { return &scrubbed{w: w, s: s} }

type scrubbed struct {
	w io.Writer
	s *Scrubber
}

func (c *scrubbed) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.w, c.s.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil // the caller's bytes are dealt with, whatever their new length
}
