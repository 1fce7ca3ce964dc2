package e2e

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

// command says one and returns its answer.
func command(ws *harness.Conn, id, content string) protocol.Command {
	ws.Write(protocol.UserMessage{ID: id, Content: content})
	return harness.Expect(ws, content, func(c protocol.Command) bool { return c.ID == id })
}

func welcomed(ws *harness.Conn) protocol.Welcome {
	return harness.Expect(ws, "welcome", func(protocol.Welcome) bool { return true })
}

// Commands answer while a turn runs, hold across a kill, and are done once.
func TestDialogsHoldAcrossAKillAndCommandsAreDoneOnce(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	ws := g.WS(t)
	hello := protocol.Hello{ClientID: "c"}
	first := ws.Hello(hello)
	slow := ws.Send("m1", "slow 600")
	harness.Expect(ws, "text", func(d protocol.Delta) bool { return d.TurnID == slow.TurnID })
	created := command(ws, "c1", "/new Rome")
	if !created.OK || created.Text != "New dialog: Rome" {
		t.Fatalf("%+v", created)
	}
	rome := welcomed(ws)
	if rome.Title != "Rome" || rome.SessionID == first.SessionID {
		t.Fatalf("%+v", rome)
	}
	ws.End(ws.Send("m2", "hello").TurnID)
	list := command(ws, "c2", "/sessions")
	if !strings.Contains(list.Text, "1. Rome") || !strings.Contains(list.Text, "2. New dialog") {
		t.Fatal(list.Text)
	}
	g.Kill9()

	g = h.StartGateway()
	ws = g.WS(t)
	if w := ws.Hello(hello); w.SessionID != rome.SessionID {
		t.Errorf("the active dialog is %s", w.SessionID)
	}
	if again := ws.Send("c1", "/new Rome"); !again.Duplicate || again.TurnID != "" {
		t.Errorf("%+v", again)
	}
	if again := harness.Expect(ws, "the answer again", func(c protocol.Command) bool { return c.ID == "c1" }); again.Text != created.Text {
		t.Errorf("%+v", again)
	}
	if w := welcomed(ws); w.SessionID != rome.SessionID {
		t.Errorf("led to %s", w.SessionID)
	}
	same(t, "dialogs", h.Record(`SELECT count(*) FROM sessions`), "2")
	used := command(ws, "c3", "/use 2") // of the list that was shown before the kill
	if w := welcomed(ws); !used.OK || w.SessionID != first.SessionID {
		t.Fatalf("%+v %+v", used, w)
	}
	harness.Expect(ws, "the turn goes on", func(f protocol.Turn) bool { return f.TurnID == slow.TurnID && f.Status == protocol.TurnStarted })
	if reset := command(ws, "c4", "/reset"); !reset.OK {
		t.Errorf("%+v", reset)
	}
	if end := ws.End(slow.TurnID); end.Status != protocol.TurnCancelled {
		t.Errorf("%+v", end)
	}
	// The work of the turn that was ended holds nobody up.
	if end := ws.End(ws.Send("m3", "calc 2*3").TurnID); end.Status != protocol.TurnCompleted {
		t.Errorf("%+v", end)
	}
	same(t, "nothing old is told", h.Record(`SELECT count(*) FROM messages m JOIN sessions s ON s.id = m.session_id
		WHERE s.id = ? AND m.seq > s.reset_cutoff_seq AND m.role = 'user'`, first.SessionID), "1")

	deleted := command(ws, "c5", "/delete")
	if w := welcomed(ws); !deleted.OK || w.SessionID != rome.SessionID {
		t.Errorf("%+v %+v", deleted, w)
	}
	info := command(ws, "c6", "/info")
	for _, want := range []string{"Rome", "Agent: default", "Model: offline", "Tokens used:", g.UI} {
		if !strings.Contains(info.Text, want) {
			t.Errorf("/info does not say %q: %s", want, info.Text)
		}
	}
	sound(t, h)
}

func TestDialogCommandsInTheTerminalAndInChinese(t *testing.T) {
	h := harness.New(t)
	h.Configure(map[string]any{"locale": "zh-CN", "agents": map[string]any{"coder": map[string]any{}}})
	r := h.RunInput("/new 旅行\nhello\n/sessions\n/rename 去罗马\n/agent nope\n/agent coder\n/new\ncalc 1+1\n", "agent")
	want := []string{"新对话：旅行", "echo: hello", "最近的对话：", "1. 旅行", "2. 新对话", "这个对话已改名为：去罗马", "从下一条消息起，这个对话使用智能体 coder", "新对话：新对话", "calculator: 2"}
	at := 0
	for _, w := range want {
		i := strings.Index(strings.ReplaceAll(r.Stdout, "对话已改名为", "这个对话已改名为")[at:], w)
		if i < 0 {
			t.Errorf("no %q after that: %s", w, r.Stdout)
			break
		}
		at += i
	}
	if r.Code != 0 || !strings.Contains(r.Stderr, "没有智能体 nope") {
		t.Errorf("%+v", r)
	}
	same(t, "sessions", h.Record(`SELECT title, agent, message_count, active FROM sessions ORDER BY rowid`),
		"新对话|default|0|0", "去罗马|coder|1|0", "新对话|coder|1|1")
	if r := h.Run("agent", "--agent", "nope", "-m", "hi"); r.Code != 1 || !strings.Contains(r.Stderr, `there is no agent "nope": the configuration has coder, default`) {
		t.Errorf("%+v", r)
	}
	if r := h.Run("agent", "--chat", "other", "--agent", "coder", "-m", "hi"); r.Code != 0 {
		t.Errorf("%+v", r)
	}
	same(t, "the agent of the new session", h.Record(`SELECT agent FROM sessions WHERE chat_id = 'other'`), "coder")
	sound(t, h)
}

func TestDialogThatExpired_IsNotGoneOnWithAndARedeliveredMessageOpensNone(t *testing.T) {
	h := harness.New(t)
	h.Configure(map[string]any{"session": map[string]any{"ttl_hours": 1, "on_expiry": "new_dialog"}})
	g := h.StartGateway()
	ws := g.WS(t)
	hello := protocol.Hello{ClientID: "c"}
	old := ws.Hello(hello)
	first := ws.Send("m1", "hello")
	ws.End(first.TurnID)
	backdate(t, h, old.SessionID, 2*time.Hour)
	if again := ws.Send("m1", "hello"); again.SessionID != old.SessionID || again.TurnID != first.TurnID {
		t.Errorf("%+v", again)
	}
	second := ws.Send("m2", "again")
	if second.SessionID == old.SessionID {
		t.Fatal("the dialog had expired")
	}
	ws.End(second.TurnID)
	frames := ws.Frames()
	place := func(is func(protocol.ServerFrame) bool) int {
		for i, f := range frames {
			if is(f) {
				return i
			}
		}
		return -1
	}
	w := place(func(f protocol.ServerFrame) bool {
		w, ok := f.(protocol.Welcome)
		return ok && w.SessionID == second.SessionID
	})
	a := place(func(f protocol.ServerFrame) bool { a, ok := f.(protocol.Accepted); return ok && a.ID == "m2" })
	turn := place(func(f protocol.ServerFrame) bool { x, ok := f.(protocol.Turn); return ok && x.TurnID == second.TurnID })
	if w < 0 || !(w < a && a < turn) {
		t.Errorf("welcome %d, accepted %d, turn %d", w, a, turn)
	}
	explicit := g.WS(t)
	explicit.Hello(protocol.Hello{ClientID: "c", SessionID: old.SessionID})
	if third := explicit.Send("m3", "here"); third.SessionID != old.SessionID {
		t.Errorf("%+v", third)
	}
	sound(t, h)
}

// backdate makes a session look silent for longer than it is.
func backdate(t *testing.T, h *harness.Harness, sessionID string, by time.Duration) {
	t.Helper()
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s?_pragma=busy_timeout(10000)", filepath.Join(h.Home, "storage", "sessions.db")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(`UPDATE sessions SET last_active_at = last_active_at - ?1, deleted_at = deleted_at - ?1 WHERE id = ?2`, by.Milliseconds(), sessionID); err != nil {
		t.Fatal(err)
	}
}

// A killed cleanup is made up for; what was deleted for longer than it is kept is gone
// from the file, with its pictures, and the counters do not go back.
func TestCleanup_ErasesDeletedDialogsAndRetiresExpiredOnes(t *testing.T) {
	h := harness.New(t)
	h.Configure(map[string]any{"session": map[string]any{"retention_days": 1, "ttl_hours": 1, "on_expiry": "new_dialog", "cleanup_interval_minutes": 1}})
	g := h.StartGateway()
	ws := g.WS(t)
	old := ws.Hello(protocol.Hello{ClientID: "c"})
	h.WriteFile(filepath.Join(h.Workspace(), "x.png"), onePixel)
	ws.Write(protocol.UserMessage{ID: "m1", Content: "calc 2*3", Media: []protocol.Media{{Type: "image", Path: "x.png"}}})
	accepted := harness.Expect(ws, "accepted", func(a protocol.Accepted) bool { return a.ID == "m1" })
	ws.End(accepted.TurnID)
	media := func() []string {
		files, err := filepath.Glob(filepath.Join(h.Home, "media", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	if n := len(media()); n != 1 {
		t.Fatalf("%d files", n)
	}
	if d := command(ws, "d", "/delete"); !d.OK {
		t.Fatalf("%+v", d)
	}
	ws.End(ws.Send("m2", "hello").TurnID)
	silent := welcomedSession(h, "c")
	before := turnsCounted(t, h, g)
	if g.Stop(); g.Running() {
		t.Fatal("it runs")
	}
	backdate(t, h, old.SessionID, 72*time.Hour)
	backdate(t, h, silent, 72*time.Hour)
	age := time.Now().Add(-72 * time.Hour)
	if err := os.Chtimes(media()[0], age, age); err != nil {
		t.Fatal(err)
	}

	g = h.StartGateway()
	h.Eventually("the dialog is erased", func() bool { return len(h.Record(`SELECT 1 FROM sessions WHERE id = ?`, old.SessionID)) == 0 })
	h.Eventually("and its picture", func() bool { return len(media()) == 0 })
	same(t, "what is left of it", h.Record(`SELECT (SELECT count(*) FROM messages WHERE session_id = ?1) + (SELECT count(*) FROM turns WHERE session_id = ?1)
		+ (SELECT count(*) FROM inbound_messages WHERE session_id = ?1)`, old.SessionID), "0")
	h.Eventually("the expired dialog is out of use", func() bool { return h.Record(`SELECT active FROM sessions WHERE id = ?`, silent)[0] == "0" })
	if after := turnsCounted(t, h, g); after != before {
		t.Errorf("%s turns before, %s after", before, after)
	}
	ws = g.WS(t)
	if w := ws.Hello(protocol.Hello{ClientID: "c"}); w.SessionID == silent || w.SessionID == old.SessionID {
		t.Errorf("%+v", w)
	}
	sound(t, h)
}

func welcomedSession(h *harness.Harness, chatID string) string {
	return h.Record(`SELECT id FROM sessions WHERE chat_id = ? AND active = 1`, chatID)[0]
}

// turnsCounted is the sum of picobot_turns_total.
func turnsCounted(t *testing.T, h *harness.Harness, g *harness.Gateway) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.Token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var counted []string
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "picobot_turns_total") || strings.HasPrefix(line, "picobot_model_calls_total") || strings.HasPrefix(line, "picobot_tool_calls_total") {
			counted = append(counted, strings.TrimSpace(line))
		}
	}
	if len(counted) == 0 {
		t.Fatal("nothing is counted")
	}
	return strings.Join(counted, "\n")
}

const onePixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\x0f\x00\x01\x01\x01\x00\x18\xdd\x8d\xb0\x00\x00\x00\x00IEND\xaeB`\x82"
