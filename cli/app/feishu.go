package app

import (
	"context"

	"picobot/gateway"
	"picobot/gateway/feishu"
	"picobot/internal/chat"
	"picobot/internal/config"
	"picobot/internal/live"
	"picobot/internal/tools"
	"picobot/store"
)

// maxReceived bounds an image that a channel receives, in bytes.
const maxReceived = 20 << 20

// newFeishu makes the Feishu app as the configuration has it; nil = it is off.
func newFeishu(o Options, record *store.Store, hub *live.Hub, w *tools.Workspace, summarize func(name, arguments string) string) *feishu.App {
	if !o.Config.Channels.Feishu.Enabled {
		return nil
	}
	f := FeishuOptions(o)
	f.Record, f.Hub, f.Summarize = record, hub, summarize
	f.KeepImage = gateway.KeepImage(o.Home.MediaDir(), maxReceived, o.Now)
	f.KeepFile = w.Receive
	return feishu.New(f)
}

// FeishuOptions are those of the Feishu app that the configuration names.
func FeishuOptions(o Options) feishu.Options {
	cfg := o.Config.Channels.Feishu
	agent := cfg.Agent
	if agent == config.DefaultAgent {
		agent = "" // so that a new dialog goes on with the agent that people chose in the chat
	}
	return feishu.Options{
		AppID: cfg.AppID, AppSecret: cfg.AppSecret.Reveal(), Domain: cfg.Domain, AllowFrom: cfg.AllowFrom,
		RequireMention: cfg.RequireMention, Agent: agent, ReplyInThread: cfg.ReplyInThread,
		Texts: o.words(), Now: o.Now, Logger: o.Log.With("channel", chat.ChannelFeishu),
	}
}

// channel runs the Feishu channel, if there is one, and says how it is.
func (p *parts) channel(server *gateway.Server) (run part, states func() map[string]string) {
	if p.feishu == nil {
		return func(ctx context.Context) error { <-ctx.Done(); return nil }, func() map[string]string { return nil }
	}
	c := p.feishu.Channel(server.Ingest)
	return c.Run, func() map[string]string { return map[string]string{chat.ChannelFeishu: c.Status()} }
}
