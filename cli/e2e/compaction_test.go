package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

// longTalk is a gateway whose model has a window of 16,000 tokens, and one chat.
type longTalk struct {
	*testing.T
	h       *harness.Harness
	g       *harness.Gateway
	gpt     *fakeopenai.Server
	c       *harness.Conn
	session string
	n       int
}

func isSummary(r fakeopenai.Request) bool { return strings.Contains(r.LastUser(), "<transcript>") }

func isTitle(r fakeopenai.Request) bool {
	return strings.HasPrefix(r.System(), "You name conversations")
}

// newLongTalk starts a gateway. background answers requests for summaries and titles.
func newLongTalk(t *testing.T, session object, background func(fakeopenai.Request) fakeopenai.Step) *longTalk {
	t.Helper()
	k := &longTalk{T: t, h: harness.New(t), gpt: fakeopenai.Start(t, fakeopenai.Config{})}
	k.gpt.Handle(func(r fakeopenai.Request) fakeopenai.Step {
		if isSummary(r) || isTitle(r) {
			return background(r)
		}
		return fakeopenai.Reply{Text: "noted"}
	})
	k.h.Configure(object{
		"providers": object{"gpt": object{"type": "openai", "base_url": k.gpt.URL(), "api_key": k.gpt.Key()}},
		"models":    object{"gpt": object{"provider": "gpt", "model": "fake-model", "context_window_tokens": 16000}},
		"agents":    object{"default": object{"model": "gpt"}},
		"session":   session,
	})
	k.connect()
	return k
}

func (k *longTalk) connect() {
	k.Helper()
	k.g = k.h.StartGateway()
	k.c = k.g.WS(k.T)
	k.session = k.c.Hello(protocol.Hello{ClientID: "c"}).SessionID
}

// say has a message answered.
func (k *longTalk) say(text string) {
	k.Helper()
	k.n++
	a := k.c.Send(fmt.Sprint("m", k.n), text)
	if end := k.c.End(a.TurnID); end.Status != "completed" {
		k.Fatalf("%+v", end)
	}
}

// fill says so much that the session is to be compacted.
func (k *longTalk) fill() {
	k.Helper()
	for i := range 5 {
		k.say(fmt.Sprintf("report %d: %s", i, strings.Repeat("word ", 1500)))
	}
}

func (k *longTalk) compacted(n int) {
	k.Helper()
	k.h.Eventually("the session is compacted", func() bool {
		return len(k.h.Record(`SELECT 1 FROM messages WHERE marker = 'history_compaction'`)) == n
	})
	k.h.Eventually("its workflow is done", func() bool { return len(k.h.Record(`SELECT 1 FROM sessions WHERE compaction > 0`)) == 0 })
}

// next is the request for one more message.
func (k *longTalk) next() fakeopenai.Request {
	k.Helper()
	k.say("and now?")
	all := k.gpt.Requests()
	for i := len(all) - 1; i >= 0; i-- {
		if !isSummary(all[i]) && !isTitle(all[i]) {
			return all[i]
		}
	}
	k.Fatal("no request")
	return fakeopenai.Request{}
}

func (k *longTalk) valid() {
	k.Helper()
	for _, refused := range k.gpt.Refused() {
		k.Errorf("the endpoint refused: %s", refused)
	}
	sound(k.T, k.h)
}

// the conversation goes on with the summary in the older messages' place, and nobody
// who is connected or exports it sees anything of that.
func (k *longTalk) goesOn(summary string) {
	k.Helper()
	next := k.next()
	if !strings.Contains(next.System(), "[Compressed History]\n"+summary) {
		k.Errorf("the summary is not in the request: %s", next.System())
	}
	var said []string
	for _, m := range next.Messages {
		if m.Role == "user" {
			said = append(said, m.Content[:8])
		}
	}
	if got := strings.Join(said, ","); !strings.HasSuffix(got, "report 4,and now?") || strings.Contains(got, "report 0") {
		k.Errorf("the request holds %s", got)
	}
	var seqs []string
	for _, m := range harness.Of[protocol.Message](k.c) {
		if m.Role == "system" || m.Content == "" {
			k.Errorf("a client sees %+v", m)
		}
		seqs = append(seqs, fmt.Sprintf("%s %.5s", m.Role, m.Content))
	}
	if want := 2 * k.n; len(seqs) != want {
		k.Errorf("the client saw %d rows, want %d: %v", len(seqs), want, seqs)
	}
	k.valid()
}

func TestLongConversation_IsCompactedAndGoesOn(t *testing.T) {
	k := newLongTalk(t, object{}, func(fakeopenai.Request) fakeopenai.Step { return fakeopenai.Reply{Text: "they sent reports"} })
	k.fill()
	k.compacted(1)
	k.goesOn("they sent reports")
	same(t, "the call is in the record, beside the turns'", k.h.Record(`SELECT status, prompt_tokens > 0 FROM model_calls WHERE turn_id IS NULL`), "completed|1")
	if got := scrape(t, k.h, k.g).Value("picobot_model_calls_total", "model", "gpt", "outcome", "completed"); got != float64(k.n+1) {
		t.Errorf("/metrics counts %v calls", got)
	}
}

func TestSummaryFailsForGood_TheCutTranscriptIsUsed(t *testing.T) {
	k := newLongTalk(t, object{}, func(fakeopenai.Request) fakeopenai.Step {
		return fakeopenai.Error{Status: http.StatusBadRequest, Message: "no"}
	})
	k.fill()
	k.compacted(1)
	k.goesOn("[person] report 0: word")
}

// Killed while the summary is made, after a crash also of Temporal's files: it is made
// again without anybody saying anything, and put in place once.
func TestKillsWhileASessionIsCompacted_ItIsCompactedOnce(t *testing.T) {
	asked := make(chan struct{}, 10)
	k := newLongTalk(t, object{}, func(fakeopenai.Request) fakeopenai.Step {
		asked <- struct{}{}
		if len(asked) < 3 {
			return fakeopenai.Hang{}
		}
		return fakeopenai.Reply{Text: "they sent reports"}
	})
	k.fill()
	for i := range 2 {
		k.h.Eventually("the model is asked for a summary", func() bool { return len(asked) == i+1 })
		k.g.Kill9()
		if i == 1 {
			if err := os.RemoveAll(filepath.Join(k.h.Home, "temporal")); err != nil {
				t.Fatal(err)
			}
		}
		k.g = k.h.StartGateway()
	}
	k.compacted(1)
	same(t, "compactions", k.h.Record(`SELECT state FROM compactions`), "committed")
	k.g.Kill9()
	k.connect()
	k.say("and now?") // the client is a new one: it has seen nothing yet
	if next := k.next(); !strings.Contains(next.System(), "they sent reports") {
		t.Errorf("the summary is not in the request: %s", next.System())
	}
	k.valid()
}

// A turn that runs while the session is compacted goes on, and no message waits.
func TestTurnRunsWhileTheSessionIsCompacted_ItGoesOn(t *testing.T) {
	release := make(chan struct{})
	k := newLongTalk(t, object{}, func(fakeopenai.Request) fakeopenai.Step {
		return fakeopenai.Hang{Release: release, Then: fakeopenai.Reply{Text: "they sent reports"}}
	})
	k.fill()
	k.h.Eventually("the model is asked for a summary", func() bool {
		for _, r := range k.gpt.Requests() {
			if isSummary(r) {
				return true
			}
		}
		return false
	})
	k.say("this does not wait for the summary")
	k.gpt.Enqueue(fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{{Name: "bash", Arguments: `{"command":"touch begun; while [ ! -e go ]; do sleep 0.05; done; echo fine"}`}}})
	a := k.c.Send("work", "work")
	k.h.Eventually("a command runs", func() bool {
		_, err := os.Stat(filepath.Join(k.h.Workspace(), "begun"))
		return err == nil
	})
	close(release)
	k.compacted(1)
	k.h.WriteFile(filepath.Join(k.h.Workspace(), "go"), "")
	if end := k.c.End(a.TurnID); end.Status != "completed" || end.Steps != 2 {
		t.Errorf("%+v", end)
	}
	all := k.gpt.Requests()
	last := all[len(all)-1]
	if !strings.Contains(last.System(), "they sent reports") || len(last.ToolResults()) != 1 || !strings.Contains(last.ToolResults()[0].Content, "fine") {
		t.Errorf("the turn's next request: %s %+v", last.System(), last.ToolResults())
	}
	k.valid()
}

func TestCompactCommand_CompactsBelowTheThreshold(t *testing.T) {
	k := newLongTalk(t, object{"compaction_keep_turns": 1}, func(fakeopenai.Request) fakeopenai.Step { return fakeopenai.Reply{Text: "they said little"} })
	command := func(id, want string) {
		k.c.Write(protocol.UserMessage{ID: id, Content: "/compact"})
		if got := harness.Expect(k.c, "the answer", func(c protocol.Command) bool { return c.ID == id }); !got.OK || !strings.Contains(got.Text, want) {
			t.Errorf("%+v", got)
		}
	}
	command("c1", "nothing to gain")
	for i := range 3 {
		k.say(fmt.Sprintf("report %d: %s", i, strings.Repeat("word ", 300)))
	}
	command("c2", "being summarised")
	k.compacted(1)
	end := harness.Expect(k.c, "how it ended", func(n protocol.Notice) bool { return n.Level == "message" })
	if !strings.Contains(end.Text, "“Untitled dialog” is compacted") || !strings.Contains(end.Text, " tokens (estimated) have become ") {
		t.Errorf("told %q", end.Text)
	}
	k.h.Eventually("it is sent", func() bool {
		return len(k.h.Record(`SELECT 1 FROM outbound_messages o JOIN commands c ON c.id = o.origin WHERE o.status = 'sent'`)) == 1
	})
	if next := k.next(); !strings.Contains(next.System(), "they said little") {
		t.Errorf("the summary is not in the request: %s", next.System())
	}
	k.valid()
}

func TestTitle_AModelNamesTheSession_UnlessAPersonHas(t *testing.T) {
	k := newLongTalk(t, object{"auto_title_after_n_messages": 2}, func(fakeopenai.Request) fakeopenai.Step {
		return fakeopenai.Reply{Text: "\"Reports of three days.\"\n"}
	})
	named := k.g.WS(t)
	mine := named.Hello(protocol.Hello{ClientID: "other"}).SessionID
	named.Write(protocol.UserMessage{ID: "r", Content: "/rename Mine"})
	for i := range 2 {
		a := named.Send(fmt.Sprint("n", i), "hello")
		named.End(a.TurnID)
	}
	k.say("one")
	k.say("two")
	k.h.Eventually("the session has a title", func() bool {
		return len(k.h.Record(`SELECT 1 FROM sessions WHERE id = ? AND title = 'Reports of three days'`, k.session)) == 1
	})
	k.say("three")
	again := k.g.WS(t)
	if w := again.Hello(protocol.Hello{ClientID: "c"}); w.Title != "Reports of three days" {
		t.Errorf("%+v", w)
	}
	same(t, "titles asked for", k.h.Record(`SELECT count(*) FROM model_calls WHERE turn_id IS NULL`), "1")
	same(t, "the person's own title", k.h.Record(`SELECT title FROM sessions WHERE id = ?`, mine), "Mine")
	k.valid()
}
