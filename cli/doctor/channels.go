package doctor

import (
	"context"
	"maps"
	"slices"

	"picobot/cli/app"
	"picobot/gateway/feishu"
	"picobot/internal/chat"
	"picobot/internal/text"
)

// channels tells how the gateway's channels are; without a gateway, which are on. What
// a channel needs of its service, the service is asked.
func (e *examination) channels(ctx context.Context) {
	if e.gateway == nil {
		e.ok("channel cli", e.say(text.DoctorOn{}))
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
			e.ok("channel "+name, e.say(text.DoctorOn{}))
		case "disabled":
			e.ok("channel "+name, e.say(text.DoctorOff{}))
		case "connecting":
			e.warn("channel "+name, text.DoctorAskAgain{}, e.say(text.DoctorConnecting{}))
		default:
			e.fail("channel "+name, text.DoctorSeeLog{}, state)
		}
	}
}

// feishu asks Feishu about the app.
func (e *examination) feishu(ctx context.Context) {
	o := app.FeishuOptions(e.Options.Options)
	o.Texts = e.Words
	for _, f := range feishu.New(o).Check(ctx) {
		check, detail := chat.ChannelFeishu+" "+f.What, e.Scrub.Text(f.Detail)
		switch f.Level {
		case feishu.Well:
			e.ok(check, detail)
		case feishu.Warn:
			e.report(Finding{check, Warn, detail, f.Advice})
		default:
			e.report(Finding{check, Fail, detail, f.Advice})
		}
	}
}
