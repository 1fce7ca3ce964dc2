package terminal

import (
	"context"
	"errors"
)

// One sends one message and prints its answer. When the turn failed it returns a
// *FailedError.
func One(ctx context.Context, c Conversation, text string, out Output) error {
	o, err := c.Do(ctx, text)
	if err != nil {
		return out.told(err)
	}
	return errors.Join(out.print(o), out.failure(o))
}
