package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"picobot/internal/flow"
)

// Deliver sends one outbox row. A row that is not pending any more is done.
func (a *Activities) Deliver(ctx context.Context, outboundID string) error {
	o, err := a.Record.Outbound(ctx, outboundID)
	if err != nil {
		return err
	}
	if o.Status != "pending" {
		return nil
	}
	sender, ok := a.Senders[o.Channel]
	if !ok {
		return a.refuse(ctx, outboundID, fmt.Errorf("channel %s is not running here: enable it in the config", o.Channel))
	}
	externalID, err := sender.Send(ctx, o)
	ctx = context.WithoutCancel(ctx) // what became of it must be written down
	switch {
	case err == nil:
		return a.Record.MarkOutbound(ctx, outboundID, "sent", externalID, "")
	case errors.Is(err, ErrNobodyThere):
		return nil // stays pending: it is handed over when somebody connects
	case errors.Is(err, ErrRefused):
		return a.refuse(ctx, outboundID, err)
	}
	text := a.Mask(err.Error())
	if err := a.Record.MarkOutbound(ctx, outboundID, "pending", "", text); err != nil {
		return err
	}
	if later, ok := errors.AsType[*LaterError](err); ok {
		return temporal.NewApplicationErrorWithOptions(text, flow.ErrTypeDelivery, temporal.ApplicationErrorOptions{NextRetryDelay: later.After})
	}
	return errors.New(text)
}

func (a *Activities) refuse(ctx context.Context, outboundID string, why error) error {
	text := a.Mask(why.Error())
	if err := a.Record.MarkOutbound(ctx, outboundID, "failed", "", text); err != nil {
		return err
	}
	return temporal.NewNonRetryableApplicationError(text, flow.ErrTypeDelivery, nil)
}
