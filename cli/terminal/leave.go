package terminal

import (
	"context"
	"fmt"
	"time"
)

// stopping is what Ctrl-C means: the first stops the running turn, the second leaves.
type stopping struct {
	c    Talk
	last time.Time // of the Ctrl-C before, if nothing was sent since
}

// twice is how soon a second Ctrl-C means the person and not the next turn.
const twice = 2 * time.Second

func (s *stopping) pressed(now time.Time) (say string, leave bool) {
	before := s.last
	s.last = now
	switch {
	case !before.IsZero() && now.Sub(before) <= twice:
		return "", true
	case s.c.CancelRunning():
		return "stopping the turn; Ctrl-C again leaves", false
	case !before.IsZero():
		return "", true
	default:
		return "press Ctrl-C again or Ctrl-D to leave", false
	}
}

func (s *stopping) reset() { s.last = time.Time{} }

// farewell tells a person who leaves what becomes of what they asked. A message that
// is on its way to the gateway gets a moment to arrive: then it is not lost.
func farewell(ctx context.Context, c Talk, screen *Screen, inside bool) {
	ctx, cancel := context.WithTimeout(ctx, twice)
	defer cancel()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	unsent, open := c.Outstanding()
	for unsent > 0 && ctx.Err() == nil {
		select {
		case <-look.C:
		case <-ctx.Done():
		}
		unsent, open = c.Outstanding()
	}
	screen.Flush()
	if unsent > 0 {
		screen.Say(fmt.Sprintf("%d messages did not reach the gateway and will not be answered", unsent))
	}
	switch {
	case open == 0:
	case inside:
		screen.Say("the running turn goes on when PicoBot is started again, and is answered then")
	default:
		screen.Say("the running turn goes on in the gateway: its answer is here when you come back")
	}
}
