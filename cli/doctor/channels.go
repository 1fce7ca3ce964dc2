package doctor

import (
	"context"
	"maps"
	"slices"
)

// channels tells how the gateway's channels are; without a gateway, which are on.
func (e *examination) channels(context.Context) {
	if e.gateway == nil {
		e.ok("channel cli", "on")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(e.gateway.Channels)) {
		switch state := e.gateway.Channels[name]; state {
		case "ok":
			e.ok("channel "+name, "on")
		case "disabled":
			e.ok("channel "+name, "off")
		case "connecting":
			e.warn("channel "+name, "wait a moment and ask again", "it is connecting")
		default:
			e.fail("channel "+name, "see the gateway's log", "%s", state)
		}
	}
}
