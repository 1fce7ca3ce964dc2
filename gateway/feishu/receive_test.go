package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/activities"
	"picobot/internal/chat"
	"picobot/internal/testkit/fakefeishu"
	"picobot/store"
)

var errRefusedForGood = activities.ErrRefused

func TestReceive_DirectMessage_IsAcceptedWithItsRoute(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	id := r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "hello"})
	turn := r.only("oc_p")
	sess, err := r.record.Session(t.Context(), turn.SessionID)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"feishu","open_conversation_id":"oc_p","tenant_key":"`+fakefeishu.TenantKey+`"}`, string(sess.RoutingInfo))
	got, known, err := r.record.Known(t.Context(), store.Inbound{Channel: "feishu", ChatID: "oc_p", ExternalID: id})
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, turn.ID, got.Turn.ID)
	require.Equal(t, "hello", r.told(turn).Content)
}

func TestReceive_SameMessageAgain_IsOneTurn(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	for range 5 {
		r.feishu.SayTwice(fakefeishu.Said{ChatID: "oc_p", Text: "hello"})
	}
	r.eventually("all are accepted", func() bool { return len(r.turns("oc_p")) == 5 })
	r.acknowledged()
	require.Len(t, r.turns("oc_p"), 5)
	require.GreaterOrEqual(t, r.feishu.Told().Tries, 10)
}

// Whatever is wrong here, Feishu is told in time, and sends again.
func TestReceive_RecordThatCannotBeWritten_FeishuSendsAgain(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, func(o *Options) { o.Timing.Ack = 200 * time.Millisecond })
	var tries atomic.Int32
	sound := r.ingest
	release := make(chan struct{})
	defer close(release)
	r.ingest = func(ctx context.Context, m store.Inbound) (store.Accepted, error) {
		switch tries.Add(1) {
		case 1:
			return store.Accepted{}, errors.New("the disk is full")
		case 2:
			select { // it hangs
			case <-release:
			case <-time.After(time.Second):
			}
			return store.Accepted{}, errors.New("too late")
		}
		return sound(ctx, m)
	}
	r.start()
	r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "hello"})
	r.only("oc_p")
	require.GreaterOrEqual(t, r.feishu.Told().Refused, 2)
}

func TestReceive_OnlyWhatIsTooOld_IsRecordedAndNotAnswered(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	r.feishu.SayTwice(fakefeishu.Said{ChatID: "oc_old", Text: "hello?", At: time.Now().Add(-25 * time.Hour)})
	turn := r.only("oc_old")
	require.Equal(t, chat.TurnFailed, turn.Status)
	require.Equal(t, codeTooOld, turn.ErrorCode)
	require.Contains(t, turn.Error, "25h")
	require.Nil(t, r.begin(turn.SessionID))
	r.feishu.Say(fakefeishu.Said{ChatID: "oc_young", Text: "hello?", At: time.Now().Add(-23 * time.Hour)})
	require.Equal(t, chat.TurnQueued, r.only("oc_young").Status)
}

func TestReceive_FramesOutOfOrder_AreAnsweredInFeishusOrder(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	now := time.Now()
	for _, n := range []int{3, 1, 2} {
		r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: fmt.Sprint("m", n), At: now.Add(time.Duration(n) * time.Millisecond)})
		r.acknowledged()
	}
	session := r.turns("oc_p")[0].SessionID
	for _, want := range []string{"m1", "m2", "m3"} {
		p := r.begin(session)
		require.Equal(t, want, r.told(p.Turn).Content)
		r.answer(p.Turn, "ok")
	}
}

func TestReceive_Groups_OnlyMentionsByIDOfPeopleOnTheList(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, func(o *Options) { o.AllowFrom = []string{"ou_alice", "on_ou_union"} })
	r.start()
	bot := []fakefeishu.Mention{fakefeishu.MentionBot}
	ignored := []fakefeishu.Said{
		{Text: "no mention"},
		{Text: "@_all everybody"},
		{Text: "@_user_1 by name", Mentions: []fakefeishu.Mention{{Key: "@_user_1", OpenID: "ou_other", Name: "PicoBot"}}},
		{Text: "@_user_1 not on the list", Mentions: bot, From: "ou_eve"},
		{Text: "@_user_1 a bot", Mentions: bot, Bot: true, From: "ou_robot"},
		{Text: "@_user_1 itself", Mentions: bot, From: fakefeishu.BotOpenID},
		{Text: "a stranger writes directly", From: "ou_eve", ChatType: "p2p"},
	}
	for i, m := range ignored {
		m.ChatID = fmt.Sprint("oc_ignored", i)
		if m.ChatType == "" {
			m.ChatType = "group"
		}
		r.feishu.Say(m)
	}
	r.feishu.Say(fakefeishu.Said{ChatID: "oc_g", ChatType: "group", Text: "@_user_1  what is up, @_user_10?", Mentions: []fakefeishu.Mention{
		fakefeishu.MentionBot, {Key: "@_user_10", OpenID: "ou_tom", Name: "Tom"}}})
	r.feishu.Say(fakefeishu.Said{ChatID: "oc_union", From: "ou_union", Text: "known by another id"})
	require.Equal(t, "what is up, @Tom?", r.told(r.only("oc_g")).Content)
	r.only("oc_union")
	for i := range ignored {
		require.Empty(t, r.turns(fmt.Sprint("oc_ignored", i)), "%+v", ignored[i])
	}
	require.Contains(t, r.logs.String(), "ou_eve") // so that the operator can add them
}

func TestReceive_EmptyListIsNobody_AndGroupsMayBeOpen(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, func(o *Options) { o.AllowFrom = nil })
	r.start()
	r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "hello"})
	r.acknowledged()
	require.Empty(t, r.turns("oc_p"))

	r = newRig(t, fakefeishu.Config{}, func(o *Options) { o.RequireMention = false })
	r.start()
	r.feishu.Say(fakefeishu.Said{ChatID: "oc_g", ChatType: "group", Text: "hello"})
	r.only("oc_g")
}

func TestReceive_OtherEvents_AreTakenWithoutAWord(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	for _, name := range []string{"im.message.message_read_v1", "im.chat.member.bot.added_v1", "im.message.reaction.created_v1"} {
		r.feishu.Event(name, map[string]any{"message_id_list": []string{"om_1"}})
	}
	r.feishu.Event("calendar.calendar.event.changed_v4", map[string]any{"calendar_id": "c"})
	r.feishu.Event("a.type.of.the.future_v9", map[string]any{"much": strings.Repeat("很长 ", 8000)})
	r.feishu.Push([]byte(`{"uuid":"x","type":"event_callback","event":{"type":"leave_approval"}}`)) // the older form
	r.feishu.Push([]byte(`{"schema":"2.0","header":{"event_type":"im.message.receive_v1"},"event":{"message":{"mentions":7}}}`))
	r.feishu.Push([]byte(`no JSON`))
	r.feishu.Event("im.message.receive_v1", map[string]any{"message": nil})
	r.feishu.Event("im.message.receive_v1", map[string]any{"sender": map[string]any{"sender_id": map[string]any{}}, "message": map[string]any{"message_id": "om_1", "chat_id": "oc_1"}})
	r.acknowledged()
	require.Zero(t, r.feishu.Told().Refused)
	r.hears("oc_p")
	require.NotContains(t, r.logs.String(), "level=ERROR")
}

func TestReceive_LongMessage_ComesInFragments(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	text := strings.Repeat("很长的消息 ", 1200)
	r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: text})
	require.Equal(t, strings.TrimSpace(text), r.told(r.only("oc_p")).Content)
}

func TestReceive_CommandAfterAMention_IsRunOnce(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	id := r.feishu.SayTwice(fakefeishu.Said{ChatID: "oc_g", ChatType: "group", Text: "@_user_1 /help", Mentions: []fakefeishu.Mention{fakefeishu.MentionBot}})
	var pending []store.Outbound
	r.eventually("the command is answered", func() bool {
		pending, _ = r.record.PendingOutbound(t.Context(), "feishu", "oc_g")
		return len(pending) > 0
	})
	r.acknowledged()
	require.Empty(t, r.turns("oc_g"))
	pending, err := r.record.PendingOutbound(t.Context(), "feishu", "oc_g")
	require.NoError(t, err)
	require.Len(t, pending, 1)
	_, err = r.send(pending[0])
	require.NoError(t, err)
	require.Len(t, r.shown("oc_g"), 1)
	require.Contains(t, r.shown("oc_g")[0], "/stop")
	require.Equal(t, id, r.feishu.Shown("oc_g")[0].ParentID)
}

// png is a picture of one pixel.
var png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82"

func TestPrepare_EveryKind_IsToldInWordsFilesAndImages(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	image := r.feishu.Keep(fakefeishu.Resource{Name: "a.png", MIME: "image/png", Data: []byte(png)})
	file := r.feishu.Keep(fakefeishu.Resource{Name: "r.pdf", MIME: "application/pdf", Data: []byte("%PDF")})
	for name, c := range map[string]struct {
		said   fakefeishu.Said
		want   string
		images int
	}{
		"image":   {fakefeishu.Said{Type: "image", Content: `{"image_key":"` + image + `"}`}, "[image]", 1},
		"file":    {fakefeishu.Said{Type: "file", Content: `{"file_key":"` + file + `","file_name":"../r/e.pdf"}`}, "[file _r_e.pdf]\n[the file _r_e.pdf is saved as received/_r_e.pdf]", 0},
		"audio":   {fakefeishu.Said{Type: "audio", Content: `{"file_key":"` + file + `","duration":2400}`}, "[voice message, 2 s]\n[the audio voice.opus is saved as received/voice.opus]", 0},
		"gone":    {fakefeishu.Said{Type: "image", Content: `{"image_key":"img_none"}`}, "[image]\n[the image could not be fetched: feishu refused it (code 234003): File not in msg. [log id 20261130fake]]", 0},
		"sticker": {fakefeishu.Said{Type: "sticker", Content: `{"file_key":"x"}`}, "[sticker]", 0},
		"chat":    {fakefeishu.Said{Type: "share_chat", Content: `{"chat_id":"oc_x"}`}, "[shared chat: oc_x]", 0},
		"unknown": {fakefeishu.Said{Type: "video_chat", Content: `{"topic":"standup"}`}, "[video chat: standup]", 0},
		"post": {fakefeishu.Said{Type: "post", Content: `{"title":"T","content":[[{"tag":"text","text":"see "},{"tag":"a","href":"https://x.y","text":"this"},{"tag":"at","user_id":"@_user_1","user_name":"PicoBot"}],
			[{"tag":"img","image_key":"` + image + `"}],[{"tag":"code_block","language":"GO","text":"x := 1\n"}],[{"tag":"hr"}],[{"tag":"md","text":"**b**"}]]}`,
			Mentions: []fakefeishu.Mention{fakefeishu.MentionBot}}, "T\nsee [this](https://x.y)\n[image]\n```go\nx := 1\n```\n---\n**b**", 1},
		"merged": {fakefeishu.Said{Type: "merge_forward", Content: `"Merged and Forwarded Message"`, Children: []fakefeishu.Said{{From: "ou_a", Text: "one"}, {From: "ou_b", Text: "two"}}},
			"[forwarded messages]\nou_a: one\nou_b: two", 0},
	} {
		c.said.ChatID = "oc_" + name
		r.feishu.Say(c.said)
		row := r.told(r.only(c.said.ChatID))
		require.Equal(t, c.want, row.Content, name)
		require.Len(t, row.Media, c.images, name)
	}
	require.Equal(t, "%PDF", r.files["received/_r_e.pdf"])
}

func TestPrepare_Quotes_GiveTheModelWhatIsQuoted(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	foreign := r.feishu.Store(fakefeishu.Said{ChatID: "oc_p", From: "ou_bob", Text: "the plan\nis bad"})
	first := r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "why?", ReplyTo: foreign})
	turn := r.only("oc_p")
	require.Equal(t, "[in reply to a message:]\n> the plan\n> is bad\n\nwhy?", r.told(turn).Content)
	answer, err := r.send(r.answer(turn, "because | of | this"))
	require.NoError(t, err)

	next := func(said fakefeishu.Said) string {
		said.ChatID = "oc_p"
		before := len(r.turns("oc_p"))
		r.feishu.Say(said)
		r.eventually("it is accepted", func() bool { return len(r.turns("oc_p")) > before })
		turn := r.turns("oc_p")[before]
		content := r.told(turn).Content
		r.answer(turn, "ok")
		return content
	}
	require.Equal(t, "[in reply to your message:]\n> because | of | this\n\nsure?", next(fakefeishu.Said{Text: "sure?", ReplyTo: answer}))
	gone := r.feishu.Store(fakefeishu.Said{ChatID: "oc_p", Text: "secret"})
	r.feishu.Recall(gone)
	require.Contains(t, next(fakefeishu.Said{Text: "and this?", ReplyTo: gone}), "and this?\n[the quoted message could not be fetched: ")
	_ = first
}

func TestPrepare_ThatMayStillWorkOut_IsTriedAgain(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	image := r.feishu.Keep(fakefeishu.Resource{MIME: "image/png", Data: []byte(png)})
	id := r.feishu.Store(fakefeishu.Said{ChatID: "oc_p", Type: "image", Content: `{}`})
	m := store.InboundMessage{Channel: "feishu", ChatID: "oc_p", ExternalID: id, Content: "[image]", Metadata: marshal(details{detail{Attachments: []attachment{{Kind: "image", Key: image}}}})}
	for _, f := range []fakefeishu.Fault{{Status: 502, Path: "resources"}, {Drop: true, Path: "resources", Times: 2}, {Status: 429, Code: 99991400, Path: "resources"}} {
		r.feishu.Arrange(f)
		_, _, err := r.app.Prepare(t.Context(), m, false)
		require.Error(t, err)
		r.feishu.Repair()
	}
	r.feishu.RevokeTokens() // the next one is got at once
	content, media, err := r.app.Prepare(t.Context(), m, false)
	require.NoError(t, err)
	require.Equal(t, "[image]", content)
	require.Len(t, media, 1)
	r.feishu.Arrange(fakefeishu.Fault{Status: 502, Path: "resources"})
	content, _, err = r.app.Prepare(t.Context(), m, true)
	require.NoError(t, err)
	require.Contains(t, content, "could not be fetched")
}

func TestDetails_OfAMessageOfAnotherChannel_AreNone(t *testing.T) {
	require.Equal(t, detail{}, detailOf(nil))
	require.Equal(t, detail{}, detailOf(json.RawMessage(`{"job":"x"}`)))
	require.Equal(t, detail{}, detailOf(json.RawMessage(`[`)))
}

// One part that is not as expected must not cost the rest.
func TestReadContent_PartsOfAnotherKind_CostNothingElse(t *testing.T) {
	for _, in := range []string{
		`{"title":"T","content":[[{"tag":"text","text":"hello","style":"bold"},{"tag":"img","image_key":"img_1"}]]}`,
		`{"title":"T","content":[[{"tag":"text","text":"hello"},{"tag":"x","text":{"a":1}},{"tag":"img","image_key":"img_1"}]]}`,
		`{"zh_cn":{"title":1,"content":["odd",[7],null,[{"tag":"text","text":"hello"},{"tag":"img","image_key":"img_1"}]]}}`,
	} {
		s := readContent("post", in)
		require.Contains(t, s.text, "hello", in)
		require.Len(t, s.attachments, 1, in)
	}
	require.Len(t, readContent("audio", `{"file_key":"k","duration":"2000"}`).attachments, 1)
	require.Equal(t, "[post]", readContent("post", `{"content":[[`).text)
}

func TestNames_NameThatLooksLikeAKey_IsAName(t *testing.T) {
	m := message{named: []mention{{"@_user_1", "ou_a", "Eve @_user_2 @_all"}, {"@_user_2", "ou_b", "Bob"}, {"@_user_3", "ou_bot", "PicoBot"}}}
	require.Equal(t, " @Eve @_user_2 @_all and @Bob, @all", m.names("@_user_3 @_user_1 and @_user_2, @_all", "ou_bot"))
}

func TestReceive_AgentOfTheChannel_IsTheOneOfNewDialogs(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, func(o *Options) { o.Agent = "helper" })
	r.start()
	r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "hello"})
	r.only("oc_p")
	r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "/new"})
	var all []store.Session
	r.eventually("there is a new dialog", func() bool {
		var err error
		all, err = r.record.Sessions(t.Context(), store.SessionFilter{Channel: "feishu", ChatID: "oc_p"})
		return err == nil && len(all) == 2
	})
	for _, s := range all {
		require.Equal(t, "helper", s.Agent)
	}
}
