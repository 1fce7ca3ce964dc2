package e2e

import (
	"strings"
	"testing"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

// handed returns the outbound messages a client was handed.
func handed(c *harness.Conn) (out []string) {
	for _, f := range c.Frames() {
		if n, ok := f.(protocol.Notice); ok && n.Level == "message" {
			out = append(out, n.Text)
		}
	}
	return out
}

// A message that the model sends apart from its answer arrives once, in this chat and
// in another one of the same person; the model of that chat knows of it.
func TestSessionSend_ReachesThisChatAndAnotherOfThePersons_AndNobodyElses(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	chats := map[string]*harness.Conn{}
	for id, sender := range map[string]string{"here": "me", "there": "me", "stranger": "somebody else"} {
		chats[id] = m.g.WS(t)
		chats[id].Hello(protocol.Hello{ClientID: id, ChatID: id, SenderID: sender})
		m.ask(chats[id], "hi")
	}
	m.gpt.Enqueue(
		fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{
			{Name: "session_send", Arguments: `{"content":"news for here"}`},
			{Name: "session_send", Arguments: `{"content":"news for there","chat_id":"there"}`},
			{Name: "session_send", Arguments: `{"content":"news for strangers","chat_id":"stranger"}`},
		}},
		fakeopenai.Reply{Text: "sent"},
	)
	turn := m.ask(chats["here"], "tell everybody")
	same(t, "the turn", []string{m.row(turn, "status"), m.reply(turn)}, "completed", "sent")
	for _, id := range []string{"here", "there"} {
		m.h.Eventually(id+" has its message", func() bool { return len(handed(chats[id])) > 0 })
		same(t, id, handed(chats[id]), "news for "+id)
	}
	same(t, "a stranger", handed(chats["stranger"]))
	same(t, "the calls", m.h.Record(`SELECT effect || ' ' || status FROM tool_runs ORDER BY position`), "record completed", "record completed", "record failed")
	same(t, "the outbox", m.h.Record(`SELECT chat_id || ' ' || status FROM outbound_messages ORDER BY id`), "here sent", "there sent")

	m.ask(chats["there"], "what was that?")
	requests := m.gpt.Requests()
	var told []string
	for _, msg := range requests[len(requests)-1].Messages {
		if msg.Role == string(chat.RoleAssistant) && strings.HasPrefix(msg.Content, "news") {
			told = append(told, msg.Content)
		}
	}
	same(t, "what the model there knows", told, "news for there")
	m.valid()
}
