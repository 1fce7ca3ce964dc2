package doctor

import (
	"context"
	"maps"
	"slices"

	"picobot/cli/app"
	"picobot/gateway/feishu"
	"picobot/internal/chat"
)

// channels tells how the gateway's channels are; without a gateway, which are on. What
// a channel needs of its service, the service is asked.
func (e *examination) channels(ctx context.Context) {
	if e.gateway == nil {
		e.ok("channel cli", "on")
	} else {
		e.running()
	}
	if e.Config.Channels.Feishu.Enabled {
		e.feishu(ctx)
	}
}

func (e *examination) running() {
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

// feishu asks Feishu about the app.
func (e *examination) feishu(ctx context.Context) {
	for _, f := range feishu.New(app.FeishuOptions(e.Options.Options)).Check(ctx) {
		check, detail := chat.ChannelFeishu+" "+f.What, e.Scrub.Text(f.Detail)
		switch f.Level {
		case feishu.Well:
			e.ok(check, "%s", detail)
		case feishu.Warn:
			e.warn(check, f.Advice, "%s", detail)
		default:
			e.fail(check, f.Advice, "%s", detail)
		}
	}
}
