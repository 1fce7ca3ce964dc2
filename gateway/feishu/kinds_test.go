package feishu

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/testkit/fakefeishu"
	"picobot/store"
)

// With the times as they are by default, on both sides: a record that does not come
// back costs Feishu a try, and nobody a message.
func TestReceive_RecordThatHangs_FeishuIsToldBeforeItTriesAgain(t *testing.T) {
	require.Less(t, Timing{}.withDefaults().Ack, 3*time.Second)
	r := newRig(t, fakefeishu.Config{}, nil)
	var hangs atomic.Bool
	hangs.Store(true)
	release := make(chan struct{})
	sound := r.ingest
	r.ingest = func(ctx context.Context, m store.Inbound) (store.Accepted, error) {
		if hangs.Load() {
			<-release
		}
		return sound(ctx, m)
	}
	r.start()
	r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "hello"})
	r.eventually("Feishu is told in time to try again", func() bool { told := r.feishu.Told(); return told.InTime >= 2 && told.Refused >= 2 })
	hangs.Store(false)
	close(release) // the earlier tries go on, too
	r.only("oc_p")
}

// A chat of topics is a group: it wants a mention, and is answered in the topic.
func TestReceive_ChatOfTopics_IsAGroupAnsweredInItsTopic(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	topic := fakefeishu.Said{ChatID: "oc_t", ChatType: "topic_group", Text: "no mention", ThreadID: "omt_1"}
	r.feishu.Say(topic)
	r.acknowledged()
	require.Empty(t, r.turns("oc_t"))
	root := r.feishu.Store(fakefeishu.Said{ChatID: "oc_t", ChatType: "topic_group", Text: "what the topic is about", ThreadID: "omt_1"})
	topic.Text, topic.Mentions, topic.ReplyTo = "@_user_1 and?", []fakefeishu.Mention{fakefeishu.MentionBot}, root
	asked, turn := r.asked(topic)
	require.Equal(t, "[in reply to a message:]\n> what the topic is about\n\nand?", r.told(turn).Content)
	_, err := r.send(r.answer(turn, "hello"))
	require.NoError(t, err)
	shown := r.feishu.Shown("oc_t")
	require.Len(t, shown, 1)
	require.Equal(t, asked, shown[0].ParentID)
	require.Equal(t, "omt_1", shown[0].ThreadID)
	for _, c := range r.feishu.Calls("POST", "/reply") {
		require.Contains(t, c.Body, `"reply_in_thread":true`)
	}
}

// What holds nothing to read is named, with what can be read of it.
func TestPrepare_KindsWithoutText_AreNamed(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	for i, c := range []struct{ kind, content, want string }{
		{"share_user", `{"user_id":"ou_bob"}`, "[shared contact: ou_bob]"},
		{"share_chat", `{"chat_id":"oc_team"}`, "[shared chat: oc_team]"},
		{"share_chat", `{"chat_id":"oc_team","chat_name":"The team"}`, "[shared chat: The team]"},
		{"location", `{"name":"Main street 1","longitude":"1","latitude":"2"}`, "[location: Main street 1]"},
		{"todo", `{"task_id":"t","summary":{"title":"x"}}`, "[todo]"},
		{"vote", `{"topic":"lunch?","options":["a","b"]}`, "[vote: lunch?]"},
		{"share_user", `not json`, "[shared contact]"},
		{"hologram", `{}`, "[hologram]"},
		{"interactive", `{"title":"Build 7","elements":[[{"tag":"text","text":"it "},{"tag":"a","href":"https://ci","text":"failed"}],[{"tag":"button","text":"again"}]]}`, "[card: Build 7]\nit \nfailed\nagain"},
	} {
		chat := fmt.Sprint("oc_", i)
		r.feishu.Say(fakefeishu.Said{ChatID: chat, Type: c.kind, Content: c.content})
		require.Equal(t, c.want, r.told(r.only(chat)).Content, c.content)
	}
}

// A card of another bot is quoted with the text that Feishu gives back of it; where it
// gives none, the model is told that there is a card.
func TestPrepare_QuotedCardOfAnotherBot_IsToldAsFarAsFeishuDoes(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	for chat, c := range map[string]struct{ content, want string }{
		"oc_1": {`{"title":"Build 7","elements":[[{"tag":"text","text":"it failed"}]]}`, "[in reply to a message:]\n> [card: Build 7]\n> it failed\n\nwhy?"},
		"oc_2": {`{"schema":"2.0","body":{"elements":[{"tag":"markdown","content":"it failed"}]}}`, "[in reply to a message:]\n> [card]\n> 请升级至最新版本客户端，以查看内容\n\nwhy?"},
	} {
		card := r.feishu.Store(fakefeishu.Said{ChatID: chat, From: "cli_other", Bot: true, Type: "interactive", Content: c.content})
		r.feishu.Say(fakefeishu.Said{ChatID: chat, Text: "why?", ReplyTo: card})
		require.Equal(t, c.want, r.told(r.only(chat)).Content)
	}
}

// A page of a proxy's is no file of a person's; a page that somebody sent is.
func TestPrepare_PageInsteadOfAFile_IsNotTakenForIt(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	page := r.feishu.Keep(fakefeishu.Resource{MIME: "text/html; charset=utf-8", Data: []byte("<html>blocked</html>")})
	sent := r.feishu.Keep(fakefeishu.Resource{Name: "a.html", MIME: "text/html", Data: []byte("<html>mine</html>")})
	message := func(key string) store.InboundMessage {
		id := r.feishu.Store(fakefeishu.Said{ChatID: "oc_p", Type: "file", Content: `{}`})
		return store.InboundMessage{Channel: "feishu", ChatID: "oc_p", ExternalID: id, Content: "[file a.html]", Metadata: marshal(details{detail{Attachments: []attachment{{Kind: "file", Key: key, Name: "a.html"}}}})}
	}
	_, _, err := r.app.Prepare(t.Context(), message(page), false)
	require.ErrorContains(t, err, "instead of feishu")
	content, _, err := r.app.Prepare(t.Context(), message(page), true)
	require.NoError(t, err)
	require.Contains(t, content, "the file a.html could not be fetched: something on the way answered instead of feishu")
	require.Empty(t, r.files)
	content, _, err = r.app.Prepare(t.Context(), message(sent), false)
	require.NoError(t, err)
	require.Contains(t, content, "saved as received/a.html")
	require.Equal(t, "<html>mine</html>", r.files["received/a.html"])
}
