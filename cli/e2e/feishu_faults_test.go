package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"picobot/internal/testkit/fakefeishu"
	"picobot/internal/testkit/harness"
)

// channel is how /health says that the channel is, with the status of the answer.
func (r *feishuRig) channel() (status int, state string) {
	status, health := r.g.Health()
	channels, _ := health["channels"].(map[string]any)
	state, _ = channels["feishu"].(string)
	return status, state
}

func (r *feishuRig) becomes(status int, state string) {
	r.t.Helper()
	r.Eventually("health says that the channel is "+state, func() bool {
		s, c := r.channel()
		return s == status && c == state
	})
}

// delivered waits until nothing is left to be sent.
func (r *feishuRig) delivered() {
	r.t.Helper()
	r.Eventually("everything is answered and delivered", func() bool {
		return len(r.Record(`SELECT 1 FROM turns WHERE status IN ('queued', 'running')`)) == 0 &&
			len(r.Record(`SELECT 1 FROM outbound_messages WHERE status = 'pending'`)) == 0
	})
}

// once checks that one message answers another, and nothing else is in its chat.
func (r *feishuRig) once(chatID, asked, want string) {
	r.t.Helper()
	r.answer(chatID, asked, want)
	if shown := r.feishu.Shown(chatID); len(shown) != 1 {
		r.t.Errorf("%d messages are shown in %s", len(shown), chatID)
	}
}

// Whatever holds the record up, Feishu is answered before it would send again, is told
// to send again, and what it sent is answered once.
func TestFeishuWhileTheRecordCannotBeWritten_IsToldInTime_AndAnsweredOnce(t *testing.T) {
	r := newFeishuRig(t, nil)
	r.start()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(r.Home, "storage", "sessions.db")+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	lock, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	id := r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "hello"})
	command := r.feishu.Say(fakefeishu.Said{ChatID: "oc_c", Text: "/help"})
	late := r.feishu.Say(fakefeishu.Said{ChatID: "oc_l", Text: "hello?", At: time.Now().Add(-25 * time.Hour)})
	r.Eventually("Feishu is told in time to send again", func() bool {
		told := r.feishu.Told()
		return told.InTime >= 6 && told.Refused >= 6 && told.Waiting == 3
	})
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	r.Eventually("all of it arrives", func() bool { return r.feishu.Told().Waiting == 0 })
	r.once("oc_p", id, "echo: hello")
	r.once("oc_c", command, "/stop")
	r.delivered()
	same(t, "messages", r.Record(`SELECT count(*) FROM turns`), "2")
	same(t, "what came too late", r.Record(`SELECT t.status FROM turns t JOIN inbound_messages i ON i.id = t.inbound_id WHERE i.external_id = ?`, late), "failed")
	if shown := r.feishu.Shown("oc_l"); len(shown) > 0 {
		t.Errorf("what came too late is answered: %+v", shown)
	}
	sound(t, r.Harness)
}

// Chats that Feishu takes nothing for wait by themselves: with one delivery at a time,
// one of them that was waited for would keep everybody else's answers.
func TestFeishuLimitsOfAChat_DelayNoOtherChat(t *testing.T) {
	r := newFeishuRig(t, nil)
	r.Configure(map[string]any{"worker": map[string]any{"max_deliveries": 1}})
	r.start()
	limits := map[string]fakefeishu.Fault{
		"oc_429":      {Status: http.StatusTooManyRequests, Header: http.Header{"X-Ogw-Ratelimit-Reset": {"3"}}},
		"oc_99991400": {Status: http.StatusTooManyRequests, Code: 99991400, Header: http.Header{"X-Ogw-Ratelimit-Reset": {"3"}}},
		"oc_230020":   {Code: 230020},
	}
	asked := map[string]string{}
	for chat, limit := range limits {
		limit.Path, limit.Body, limit.Times = "/reply", chat, -1
		r.feishu.Arrange(limit)
		asked[chat] = r.feishu.Say(fakefeishu.Said{ChatID: chat, Text: "hello from " + chat})
	}
	r.Eventually("each has been refused", func() bool {
		return len(r.Record(`SELECT 1 FROM outbound_messages WHERE status = 'pending' AND attempts > 0`)) == len(limits)
	})
	for i := range 8 {
		chat := fmt.Sprint("oc_free", i)
		r.once(chat, r.feishu.Say(fakefeishu.Said{ChatID: chat, Text: "hello"}), "echo: hello")
	}
	for chat := range limits {
		if shown := r.feishu.Shown(chat); len(shown) > 0 {
			t.Errorf("%s is shown %+v", chat, shown)
		}
	}
	same(t, "what the rows say meanwhile", r.Record(`SELECT DISTINCT status FROM outbound_messages WHERE error <> ''`), "pending")
	r.feishu.Repair()
	for chat, id := range asked {
		r.once(chat, id, "hello from "+chat)
	}
	r.delivered()
	sound(t, r.Harness)
}

// Jobs of the configuration whose target is a chat of Feishu's, or a person.
func TestFeishuIsTheTargetOfConfiguredJobs(t *testing.T) {
	r := newFeishuRig(t, nil)
	job := func(id, kind, chat string, payload map[string]any) map[string]any {
		return map[string]any{"id": id, "kind": kind, "schedule": map[string]any{"type": "delay", "seconds": 1},
			"target": map[string]any{"channel": "feishu", "chat_id": chat}, "payload": payload}
	}
	r.Configure(map[string]any{"scheduler": map[string]any{"jobs": []any{
		job("ask", "agent_task", "oc_ask", map[string]any{"prompt": "calc 6*7"}),
		job("tell", "outbound_message", "oc_tell", map[string]any{"content": "stand up"}),
		job("person", "outbound_message", "ou_alice", map[string]any{"content": "good morning"}),
		job("quiet", "silent_agent_task", "oc_quiet", map[string]any{"prompt": "calc 1+1"}),
		job("broken", "silent_agent_task", "oc_broken", map[string]any{"prompt": "fail 400"}),
	}}})
	for _, chat := range []string{"oc_ask", "oc_tell", "oc_quiet", "oc_broken"} {
		r.feishu.Store(fakefeishu.Said{ChatID: chat, Text: "so that there is a chat"})
	}
	r.start()
	r.Eventually("all have run", func() bool {
		return len(r.Record(`SELECT 1 FROM job_runs WHERE trigger = 'schedule' AND status IN ('completed', 'failed') AND job_id NOT LIKE 'builtin%'`)) == 5
	})
	r.delivered()
	r.once("oc_ask", "", "calculator: 42")
	r.once("oc_tell", "", "stand up")
	r.once("oc_with_ou_alice", "", "good morning")
	r.once("oc_broken", "", "broken")
	if shown := r.feishu.Shown("oc_quiet"); len(shown) > 0 {
		t.Errorf("a silent task that went well says %+v", shown)
	}
	same(t, "runs", r.Record(`SELECT job_id || ' ' || status FROM job_runs WHERE job_id NOT LIKE 'builtin%' ORDER BY job_id`),
		"ask completed", "broken failed", "person completed", "quiet completed", "tell completed")
	sound(t, r.Harness)
}

// A Feishu that answers nothing any more keeps nobody from stopping, and what was on
// its way comes once, from the next process.
func TestFeishuThatHangs_TheGatewayStopsAllTheSame_AndTheNextOneSendsOnce(t *testing.T) {
	r := newFeishuRig(t, nil)
	r.start()
	file := r.feishu.Keep(fakefeishu.Resource{Name: "notes.txt", MIME: "text/plain", Data: []byte("from a file")})
	r.feishu.Arrange(
		fakefeishu.Fault{Path: "/reactions", Hang: true},
		fakefeishu.Fault{Path: "/resources/", Hang: true, Times: -1},
		fakefeishu.Fault{Method: http.MethodPatch, Hang: true, Times: -1},
		fakefeishu.Fault{Path: "/reply", Body: "first", Hang: true, Times: -1},
		fakefeishu.Fault{Path: "/reply", Body: "second", Silent: true}, // it is carried out, and nobody hears of it
	)
	first := r.feishu.Say(fakefeishu.Said{ChatID: "oc_1", Text: "first"})
	r.Eventually("its mark is asked for", func() bool { return len(r.feishu.Calls("", "/reactions")) > 0 })
	asked := []struct{ chat, id, want string }{
		{"oc_1", first, "echo: first"},
		{"oc_2", r.feishu.Say(fakefeishu.Said{ChatID: "oc_2", Text: "second"}), "echo: second"},
		{"oc_3", r.feishu.Say(fakefeishu.Said{ChatID: "oc_3", Type: "file", Content: `{"file_key":"` + file + `","file_name":"notes.txt"}`}), "saved as received/"},
		{"oc_4", r.feishu.Say(fakefeishu.Said{ChatID: "oc_4", Text: "run sleep 3; echo done"}), "bash"},
	}
	r.Eventually("a file, two answers and a change of a card are on their way", func() bool {
		return len(r.feishu.Calls("", "/resources/")) > 0 && len(r.feishu.Calls(http.MethodPost, "/reply")) >= 3 && len(r.feishu.Calls(http.MethodPatch, "/messages/")) > 0
	})
	if res := r.g.Stop(); res.Code != 0 || res.Took > 10*time.Second {
		t.Errorf("stop: code %d after %s", res.Code, res.Took)
	}
	r.feishu.Repair()
	r.start()
	for _, a := range asked {
		r.once(a.chat, a.id, a.want)
	}
	r.delivered()
	r.Eventually("nothing is marked any more", func() bool {
		for _, a := range asked {
			if len(r.feishu.Message(a.id).Reactions) > 0 {
				return false
			}
		}
		return true
	})
	sound(t, r.Harness)
}

// A connection that cannot be made shows in /health, what it is, and that it is over.
func TestFeishuConnectionThatDies_ShowsInHealthUntilItIsBack(t *testing.T) {
	const endpoint = "/callback/ws/endpoint"
	r := newFeishuRig(t, nil)
	r.start()
	r.becomes(http.StatusOK, "ok")
	r.feishu.Arrange(fakefeishu.Fault{Path: endpoint, Status: 502, HTML: true, Times: -1})
	r.feishu.Drop()
	r.becomes(http.StatusOK, "connecting")
	r.feishu.Repair()
	r.becomes(http.StatusOK, "ok")
	r.feishu.Arrange(fakefeishu.Fault{Path: endpoint, Status: 200, Code: 10003, Msg: "app secret invalid", Times: -1})
	r.feishu.Drop()
	r.becomes(http.StatusServiceUnavailable, "error")
	r.feishu.Repair()
	r.becomes(http.StatusOK, "ok")
	r.once("oc_p", r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "hello"}), "echo: hello")
}

// The worker is another process than the one that hears Feishu: it fetches, answers,
// and puts the answer into the card that the other one shows.
func TestFeishuIsAnsweredByAWorkerOfItsOwn(t *testing.T) {
	elsewhere := harness.New(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	elsewhere.Configure(map[string]any{"temporal": map[string]any{"address": addr, "ui_addr": "127.0.0.1:0"}})
	r := newFeishuRig(t, nil)
	r.Configure(map[string]any{"temporal": map[string]any{"mode": "external", "address": addr}})
	up := func(h *harness.Harness, command string) *harness.Process {
		p := h.Start(command)
		h.Eventually(command+" is up", func() bool { return len(p.Stdout.Lines()) > 0 })
		return p
	}
	temporal := up(elsewhere, "temporal")
	worker := up(r.Harness, "worker")
	r.start()
	r.once("oc_p", r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "hello"}), "echo: hello")
	file := r.feishu.Keep(fakefeishu.Resource{Name: "notes.txt", MIME: "text/plain", Data: []byte("from a file")})
	r.once("oc_f", r.feishu.Say(fakefeishu.Said{ChatID: "oc_f", Type: "file", Content: `{"file_key":"` + file + `","file_name":"notes.txt"}`}), "saved as received/")
	id := r.feishu.Say(fakefeishu.Said{ChatID: "oc_t", Text: "run sleep 3; echo done"})
	card := r.answer("oc_t", id, "sleep 3")
	if done := r.answer("oc_t", id, "bash: done"); done.ID != card.ID {
		t.Errorf("the answer is not the card that showed the work: %s, %s", done.ID, card.ID)
	}
	// While no worker is there Feishu is heard; the next one answers.
	worker.Kill9()
	id = r.feishu.Say(fakefeishu.Said{ChatID: "oc_k", Text: "hello"})
	r.Eventually("it is accepted", func() bool { return r.feishu.Told().Waiting == 0 })
	worker = up(r.Harness, "worker")
	r.once("oc_k", id, "echo: hello")
	r.delivered()
	sound(t, r.Harness)
	for _, p := range []*harness.Process{r.g.Process, worker, temporal} {
		if res := p.Stop(); res.Code != 0 {
			t.Errorf("%+v", res)
		}
	}
}
