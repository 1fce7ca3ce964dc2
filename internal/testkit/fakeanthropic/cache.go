package fakeanthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// lookback is how many blocks before a breakpoint the real service looks for what
// it has cached.
const lookback = 20

// chain adds a block to the request's prefix.
func (r *Request) chain(where string, block string, cached bool) {
	before := ""
	if len(r.prefix) > 0 {
		before = r.prefix[len(r.prefix)-1]
	}
	sum := sha256.Sum256([]byte(before + "\x00" + block))
	r.prefix = append(r.prefix, hex.EncodeToString(sum[:]))
	if cached {
		r.Breakpoints = append(r.Breakpoints, where)
		r.points = append(r.points, len(r.prefix)-1)
	}
}

// cache reads from the cache as much of the prompt as is there and writes what is
// not, in blocks.
func (s *Server) cache(r *Request) (read, written int) {
	for _, p := range slices.Backward(r.points) {
		for at := p; at >= 0 && at > p-lookback && read == 0; at-- {
			if s.cached[r.Model+r.prefix[at]] {
				read = at + 1
			}
		}
	}
	for _, p := range r.points {
		s.cached[r.Model+r.prefix[p]] = true
		written = p + 1 - read
	}
	return read, max(written, 0)
}
