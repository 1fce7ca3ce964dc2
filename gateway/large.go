package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

// Frames up to small are read whenever they come. Of larger ones only as many are in
// memory at once as Options.LargeBytes has room for, from their first bytes until they
// have been dealt with; the others wait on the wire, where they cost nothing.
const small = 64 << 10

// mostLarge bounds how many large frames are dealt with at once where they are not very large.
const mostLarge = 64

// largeSlots returns how many frames of up to frame bytes have room in budget; never
// fewer than two, so that one peer alone cannot hold up another.
func largeSlots(budget, frame int64) int { return int(min(max(budget/frame, 2), mostLarge)) }

// readFrame reads a frame of at most limit bytes, and one byte more of a longer one.
// Done gives back the room that a large frame takes, and must be called.
func (c *conn) readFrame(ctx context.Context, r io.Reader, limit int64) (data []byte, done func(), err error) {
	done = func() {}
	var b bytes.Buffer
	_, err = io.CopyN(&b, r, min(small, limit+1))
	if errors.Is(err, io.EOF) || err == nil && int64(b.Len()) > limit {
		return b.Bytes(), done, nil
	}
	if err != nil {
		return nil, done, err
	}
	c.held.Store(true)
	defer c.held.Store(false)
	select {
	case c.server.large <- struct{}{}:
		done = func() { <-c.server.large }
	case <-ctx.Done():
		return nil, done, ctx.Err()
	}
	c.held.Store(false)
	// Whoever takes room that others wait for must make use of it.
	late := time.AfterFunc(c.server.opts.Timing.Write+atLeast(limit), func() {
		c.log.Info("a client was dropped", "why", "it began a large frame and did not end it in time")
		_ = c.raw.Close()
	})
	defer late.Stop()
	if _, err := io.CopyN(&b, r, limit+1-int64(b.Len())); err != nil && !errors.Is(err, io.EOF) {
		return nil, done, err
	}
	return b.Bytes(), done, nil
}

// leastRate is what a peer must give or take of a frame, in bytes a second, beyond
// Timing.Write: a large one over a thin line takes its time, that is not what slow means.
const leastRate = 256 << 10

// atLeast returns how long n bytes may take.
func atLeast(n int64) time.Duration { return time.Duration(n) * time.Second / leastRate }
