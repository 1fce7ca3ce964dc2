package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"picobot/internal/testkit/fakefeishu"
	"picobot/internal/testkit/harness"
)

// feishuRig is the binary beside a fake Feishu.
type feishuRig struct {
	*harness.Harness
	t      *testing.T
	feishu *fakefeishu.Server
	g      *harness.Gateway
}

func newFeishuRig(t *testing.T, more map[string]any) *feishuRig {
	t.Helper()
	r := &feishuRig{Harness: harness.New(t), t: t, feishu: fakefeishu.Start(t, fakefeishu.Config{})}
	section := map[string]any{"enabled": true, "app_id": fakefeishu.AppID, "app_secret": fakefeishu.AppSecret, "domain": r.feishu.URL(), "allow_from": []string{"*"}}
	for k, v := range more {
		section[k] = v
	}
	r.Configure(map[string]any{"channels": map[string]any{"feishu": section}})
	return r
}

func (r *feishuRig) start() {
	r.t.Helper()
	r.g = r.StartGateway("--log-level", "debug")
	r.Eventually("the channel is connected", func() bool {
		_, health := r.g.Health()
		channels, _ := health["channels"].(map[string]any)
		return channels["feishu"] == "ok"
	})
}

// answer waits for the one message that answers another, and returns its content.
func (r *feishuRig) answer(chatID, asked, want string) fakefeishu.Message {
	r.t.Helper()
	var found fakefeishu.Message
	r.Eventually("Feishu shows "+want, func() bool {
		for _, m := range r.feishu.Shown(chatID) {
			if m.ParentID == asked && strings.Contains(m.Content, want) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

func TestFeishuMessagesAreAnsweredByTheBinary(t *testing.T) {
	r := newFeishuRig(t, nil)
	r.start()
	id := r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "hello"})
	r.answer("oc_p", id, "echo: hello")

	// What was asked for later comes to the chat by itself.
	r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "in 1s say wake up"})
	r.answer("oc_p", "", "wake up")

	// A group, a tool that takes a while, and the card that becomes the answer.
	id = r.feishu.Say(fakefeishu.Said{ChatID: "oc_g", ChatType: "group", Text: "@_user_1 run sleep 3; echo done", Mentions: []fakefeishu.Mention{fakefeishu.MentionBot}})
	card := r.answer("oc_g", id, "sleep 3")
	if done := r.answer("oc_g", id, "bash: done"); done.ID != card.ID {
		t.Errorf("the answer is not the card that showed the work: %s, %s", done.ID, card.ID)
	}
	r.Eventually("the mark is gone", func() bool { return len(r.feishu.Message(id).Reactions) == 0 })

	// A file that is fetched once the message is safe, and a quoted message.
	file := r.feishu.Keep(fakefeishu.Resource{Name: "notes.txt", MIME: "text/plain", Data: []byte("from a file")})
	r.feishu.Arrange(fakefeishu.Fault{Path: "/resources/", Status: 502, Times: 2})
	id = r.feishu.Say(fakefeishu.Said{ChatID: "oc_f", Type: "file", Content: `{"file_key":"` + file + `","file_name":"notes.txt"}`})
	r.answer("oc_f", id, "notes.txt is saved as received/")
	id = r.feishu.Say(fakefeishu.Said{ChatID: "oc_f", Text: "and?", ReplyTo: id})
	r.answer("oc_f", id, "in reply to a message")

	// A stop while it works.
	id = r.feishu.Say(fakefeishu.Said{ChatID: "oc_s", Text: "slow 120"})
	r.Eventually("the turn runs", func() bool { return len(r.Record(`SELECT 1 FROM turns WHERE status = 'running'`)) == 1 })
	stop := r.feishu.Say(fakefeishu.Said{ChatID: "oc_s", Text: "/stop"})
	r.answer("oc_s", stop, "Stopp")
	r.Eventually("the turn is cancelled", func() bool { return len(r.Record(`SELECT 1 FROM turns WHERE status = 'cancelled'`)) == 1 })

	// A message that Feishu shows and whose answer gets lost, and one that is not let through.
	r.feishu.Arrange(fakefeishu.Fault{Path: "/reply", Body: "lost", Cut: true})
	id = r.feishu.Say(fakefeishu.Said{ChatID: "oc_l", Text: "lost"})
	r.answer("oc_l", id, "echo: lost")
	r.feishu.Arrange(fakefeishu.Fault{Path: "/reply", Body: "secret", Code: 230028})
	id = r.feishu.Say(fakefeishu.Said{ChatID: "oc_x", Text: "secret"})
	r.answer("oc_x", id, "230028")
	r.Eventually("everything is delivered", func() bool { return len(r.Record(`SELECT 1 FROM outbound_messages WHERE status = 'pending'`)) == 0 })
	same(t, "what failed", r.Record(`SELECT status, error FROM outbound_messages WHERE status <> 'sent'`), "failed|*230028*")
	same(t, "the route", r.Record(`SELECT routing_info FROM sessions WHERE chat_id = 'oc_p'`), `{"open_conversation_id":"oc_p","tenant_key":"tenant0001","type":"feishu"}`)
	if n := len(r.feishu.Shown("oc_l")); n != 1 {
		t.Errorf("%d messages show the one answer", n)
	}
	res := r.g.Stop()
	if res.Code != 0 || res.Took > 10*time.Second {
		t.Errorf("stop: code %d after %s", res.Code, res.Took)
	}
	for _, secret := range []string{fakefeishu.AppSecret, "secret-ticket", "secret-access-key", "t-fake"} {
		if strings.Contains(res.Stderr, secret) || strings.Contains(res.Stdout, secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
	if strings.Contains(res.Stdout, "event-dispatch") {
		t.Error("the SDK writes to standard output")
	}
	r.Eventually("the connection is closed", func() bool { open, _ := r.feishu.Connections(); return open == 0 })
	sound(t, r.Harness)
}

// Whoever cannot log in is told why, and everything else works.
func TestFeishuThatIsNotThereKeepsNobodyFromWorking(t *testing.T) {
	r := newFeishuRig(t, map[string]any{"app_secret": "wrong"})
	p := r.Start("gateway")
	r.Eventually("health says so", func() bool {
		lines := p.Stdout.Lines()
		if len(lines) < 3 {
			return false
		}
		g := harness.Gateway{URL: strings.TrimPrefix(lines[0], "gateway ")}
		status, health := g.Health()
		channels, _ := health["channels"].(map[string]any)
		return status == http.StatusServiceUnavailable && channels["feishu"] == "error"
	})
	if res := r.Run("agent", "-m", "hello"); res.Code != 0 || !strings.Contains(res.Stdout, "echo: hello") {
		t.Errorf("%+v", res)
	}
	if res := r.Run("doctor"); res.Code != 1 || !strings.Contains(res.Stdout, "10014") {
		t.Errorf("%+v", res)
	}
}
