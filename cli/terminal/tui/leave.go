package tui

import (
	"context"
	"time"

	"picobot/internal/text"
)

// farewell tells a person who leaves what becomes of what they asked. A message that
// is on its way to the gateway gets a moment to arrive: then it is not lost.
func farewell(ctx context.Context, c Talk, inside bool, say func(text.Message)) {
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
	if unsent > 0 {
		say(text.MessagesUnsent{Count: unsent})
	}
	switch {
	case open == 0:
	case inside:
		say(text.TurnGoesOnLater{})
	default:
		say(text.TurnGoesOn{})
	}
}
