package feishu

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
)

// message is what somebody said, as far as Feishu tells at once.
type message struct {
	id, chatID, chatType string
	parentID, threadID   string
	sender               []string // ids of one person, the open_id first
	senderType           string
	tenant               string
	kind, content        string // of Feishu's: text, post …; JSON
	at                   int64  // ms; 0 = Feishu did not say
	named                []mention
}

// mention is somebody who is named in a message.
type mention struct {
	key    string // stands for the name in the content
	openID string
	name   string
}

func (m message) mentions(openID string) bool {
	return openID != "" && slices.ContainsFunc(m.named, func(n mention) bool { return n.openID == openID })
}

var errNoMessage = errors.New("the event names no message, chat or sender")

// fromEvent reads an event. Everything in it may be missing.
func fromEvent(e *larkim.P2MessageReceiveV1) (m message, err error) {
	if e == nil || e.Event == nil || e.Event.Message == nil || e.Event.Sender == nil || e.Event.Sender.SenderId == nil {
		return m, errNoMessage
	}
	msg, from := e.Event.Message, e.Event.Sender
	m = message{
		id: value(msg.MessageId), chatID: value(msg.ChatId), chatType: value(msg.ChatType), parentID: value(msg.ParentId), threadID: value(msg.ThreadId),
		senderType: value(from.SenderType), tenant: value(from.TenantKey), kind: value(msg.MessageType), content: value(msg.Content),
	}
	for _, id := range []*string{from.SenderId.OpenId, from.SenderId.UnionId, from.SenderId.UserId} {
		if v := value(id); v != "" {
			m.sender = append(m.sender, v)
		}
	}
	if m.id == "" || m.chatID == "" || len(m.sender) == 0 || len(m.id)+len(m.chatID) > 500 {
		return m, errNoMessage
	}
	m.at, _ = strconv.ParseInt(value(msg.CreateTime), 10, 64) // 0 where it is no number
	for _, who := range msg.Mentions {
		if who == nil {
			continue
		}
		n := mention{key: value(who.Key), name: value(who.Name)}
		if who.Id != nil {
			n.openID = value(who.Id.OpenId)
		}
		if n.key != "" && n.key != "@_all" {
			m.named = append(m.named, n)
		}
	}
	// The longer key first: @_user_1 begins @_user_10.
	slices.SortFunc(m.named, func(a, b mention) int { return len(b.key) - len(a.key) })
	return m, nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// names puts names where their keys stand. The bot's own is left out: everybody
// knows who is talked to.
func (m message) names(text, bot string) string {
	var pairs []string // replaced at once: a name may look like a key
	for _, n := range m.named {
		with := "@" + n.name
		if n.openID == bot {
			with = ""
		}
		pairs = append(pairs, n.key, with)
	}
	return strings.NewReplacer(append(pairs, "@_all", "@all")...).Replace(text)
}
