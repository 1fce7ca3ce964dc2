package feishu

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"

	"picobot/internal/chat"
	"picobot/store"
)

// codeTooOld is the error code of a turn whose message came too late to be answered.
const codeTooOld = "too_old"

// details are what the record keeps of a message besides what was said.
type details struct {
	Feishu detail `json:"feishu"`
}

type detail struct {
	ChatType    string       `json:"chat_type,omitempty"`
	ThreadID    string       `json:"thread_id,omitempty"`
	ParentID    string       `json:"parent_id,omitempty"` // what it answers or quotes
	Attachments []attachment `json:"attachments,omitempty"`
	Merged      bool         `json:"merged,omitempty"`
}

func detailOf(metadata json.RawMessage) detail {
	var d details
	if len(metadata) == 0 || json.Unmarshal(metadata, &d) != nil {
		return detail{} // a message that no person sent through Feishu
	}
	return d.Feishu
}

// received takes one event. An error makes Feishu send it again, so it must mean that
// the record cannot be written, and nothing else.
func (c *Channel) received(ctx context.Context, e *larkim.P2MessageReceiveV1) error {
	c.heard()
	m, err := fromEvent(e)
	if err != nil {
		c.log.Warn("an event of feishu's cannot be used", "error", err)
		return nil
	}
	log := c.log.With("message", m.id, "chat", m.chatID)
	p := policy{bot: c.botID(), allow: c.app.opts.AllowFrom, requireMention: c.app.opts.RequireMention}
	if ok, why := p.decide(m); !ok {
		log.Info("a message is not answered", "why", why, "sender", m.sender[0])
		return nil
	}
	in := c.inbound(m)
	got, err := c.take(ctx, m, in)
	switch {
	case err != nil:
		log.Warn("a message could not be written down: feishu will send it again", "error", err)
		return err
	case got.Duplicate:
		log.Debug("a message came again")
	}
	if got.Turn.ID != "" && c.shows != nil {
		c.shows.follow(got.Turn)
	}
	return nil
}

// inbound is the message as the record keeps it.
func (c *Channel) inbound(m message) store.Inbound {
	s := readContent(m.kind, m.content)
	d := detail{ChatType: m.chatType, ThreadID: m.threadID, ParentID: m.parentID, Attachments: s.attachments, Merged: s.merged}
	text := strings.TrimSpace(m.names(s.text, c.botID()))
	if text == "" {
		text = "[empty message]" // the bot was only mentioned
	}
	command := strings.HasPrefix(text, "/")
	return store.Inbound{
		Channel: chat.ChannelFeishu, ChatID: m.chatID, ExternalID: m.id, SenderID: m.sender[0], Content: text, SentAt: m.at,
		Metadata:   marshal(details{d}),
		Unprepared: !command && (len(s.attachments) > 0 || s.merged || m.parentID != ""),
		New: store.NewSession{Agent: c.app.opts.Agent, RoutingInfo: marshal(map[string]string{
			"type": chat.ChannelFeishu, "open_conversation_id": m.chatID, "tenant_key": m.tenant})},
	}
}

// take writes the message down within the time there is to answer Feishu. What takes
// longer goes on, and is found when the message comes again.
func (c *Channel) take(ctx context.Context, m message, in store.Inbound) (store.Accepted, error) {
	type result struct {
		got store.Accepted
		err error
	}
	done := make(chan result, 1)
	whole := context.WithoutCancel(ctx)
	c.taking.Go(func() {
		var r result
		if age := c.app.opts.Now().Sub(time.UnixMilli(m.at)); m.at > 0 && age > c.app.opts.Timing.TooOld {
			c.log.Warn("a message came too late to be answered", "message", m.id, "chat", m.chatID, "age", age.Round(time.Second).String())
			r.got, r.err = c.app.opts.Record.AcceptLate(whole, in, codeTooOld,
				fmt.Sprintf("the message was %s old when it arrived, so it was not answered", age.Round(time.Minute)))
		} else {
			r.got, r.err = c.ingest(whole, in)
		}
		done <- r
	})
	timer := time.NewTimer(c.app.opts.Timing.Ack)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.got, r.err
	case <-timer.C:
		return store.Accepted{}, fmt.Errorf("it is not written down after %s", c.app.opts.Timing.Ack)
	case <-ctx.Done():
		return store.Accepted{}, ctx.Err()
	}
}

// marshal encodes what always can be.
func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
