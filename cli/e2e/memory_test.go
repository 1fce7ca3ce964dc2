package e2e

import (
	"fmt"
	"strings"
	"testing"

	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

// person is somebody in a chat who says things one after the other.
type person struct {
	t    *testing.T
	name string
	ws   *harness.Conn
	said int
}

func newPerson(t *testing.T, g *harness.Gateway, sender, chat string) *person {
	p := &person{t: t, name: sender, ws: g.WS(t)}
	p.ws.Hello(protocol.Hello{ClientID: chat + "-" + sender, ChatID: chat, SenderID: sender})
	return p
}

// say says something and returns the reply.
func (p *person) say(text string) string {
	p.t.Helper()
	p.said++
	a := p.ws.Send(fmt.Sprint(p.name, p.said), text)
	p.ws.End(a.TurnID)
	reply := ""
	for _, m := range harness.Of[protocol.Message](p.ws) {
		if m.TurnID == a.TurnID && m.Role == "assistant" && m.Content != "" {
			reply = m.Content
		}
	}
	return reply
}

func (p *person) expect(text, want string) {
	p.t.Helper()
	if got := p.say(text); !matches(strings.TrimSpace(got), want) {
		p.t.Errorf("%s: got %q, want %q", text, got, want)
	}
}

// What a person tells in one chat is there in their others, and never for anybody else.
func TestMemoryFollowsThePersonThroughChatsAndNobodyElse(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	alice, bob := newPerson(t, g, "alice", "one"), newPerson(t, g, "bob", "one")
	alice.expect("remember 茶 = 每天早上喝龙井茶", "memory_manage: Remembered notes/茶.")
	alice.expect("remember tea = green, never after five", "memory_manage: Remembered notes/tea.")
	bob.expect("remember tea = black", "memory_manage: Remembered notes/tea.")
	elsewhere := newPerson(t, g, "alice", "two")
	elsewhere.expect("recall 龙井", "memory_search: 1. notes/茶 (*): 每天早上喝龙井茶")
	elsewhere.expect("recall when does she drink tea", "memory_search: 1. notes/tea (*): green, never after five")
	bob.expect("recall 龙井", "memory_search: Nothing was found. There is 1 memory of this person*")
	bob.expect("recall tea", "memory_search: 1. notes/tea (*): black")
	newPerson(t, g, "carol", "one").expect("recall tea", "memory_search: Nothing was found. Nothing is remembered of this person yet.")
	// Written and looked for in one step: calls that act are done before those that follow.
	elsewhere.expect("tools remember 颜色 = 喜欢蓝色; recall 颜色", "memory_manage: Remembered notes/颜色.\nmemory_search: 1. notes/颜色 (*): 喜欢蓝色")
	alice.expect("recall 蓝", "memory_search: 1. notes/颜色*")

	same(t, "where they come from", h.Record(`SELECT m.scope_kind, m.scope_key, m.namespace, m.memory_key, m.source_type, m.source_channel, m.source_chat_id, s.chat_id, r.role, r.content
		FROM memories m JOIN sessions s ON s.id = m.source_session_id JOIN messages r ON r.id = m.source_message_id AND r.seq = m.source_message_seq ORDER BY m.created_at`),
		"user|cli:alice|notes|茶|memory_manage|cli|one|one|user|remember 茶 = 每天早上喝龙井茶",
		"user|cli:alice|notes|tea|memory_manage|cli|one|one|user|remember tea = green, never after five",
		"user|cli:bob|notes|tea|memory_manage|cli|one|one|user|remember tea = black",
		"user|cli:alice|notes|颜色|memory_manage|cli|two|two|user|tools remember 颜色 = 喜欢蓝色; recall 颜色")
	sound(t, h)
}

// The command line shows and changes what is remembered, with a gateway and, as far as
// reading goes, without one.
func TestMemoryCommand(t *testing.T) {
	h := harness.New(t)
	run := func(code int, args ...string) string {
		t.Helper()
		r := h.Run(append([]string{"memory"}, args...)...)
		if r.Code != code || code != 0 && r.Stdout != "" {
			t.Errorf("memory %q: exit code %d\nstdout: %s\nstderr: %s", args, r.Code, r.Stdout, r.Stderr)
		}
		return r.Stdout + r.Stderr
	}
	expect := func(want, got string) {
		t.Helper()
		if !matches(strings.TrimSpace(got), want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	expect("picobot: there is no record in *", run(1, "list"))
	expect("picobot: no gateway runs: start it with *", run(1, "put", "a", "b", "c"))
	g := h.StartGateway()
	if r := h.Run("agent", "-m", "remember 生日 = 五月三日"); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	expect("", run(0, "put", "--scope", "feishu:ou_1", "work", "飞书机器人", "回调地址在网关后面"))
	r := h.RunInput("from standard input\n", "memory", "put", "notes", "stdin", "-")
	if r.Code != 0 {
		t.Errorf("%+v", r)
	}
	read := func() {
		t.Helper()
		expect("SCOPE*NAMESPACE*KEY*UPDATED*CONTENT*cli:*notes*stdin*from standard input*cli:*notes*生日*五月三日*feishu:ou_1*work*飞书机器人*回调地址在网关后面", run(0, "list"))
		expect("SCOPE*feishu:ou_1*work*飞书机器人*", run(0, "list", "--scope", "feishu:ou_1"))
		expect("SCOPE*\n*notes*stdin*", run(0, "list", "--limit", "1"))
		expect("SCOPE*\nfeishu:ou_1*work*飞书机器人*回调地址在网关后面", run(0, "search", "飞书"))
		expect("[]", run(0, "search", "--json", "--scope", "feishu:ou_1", "生日"))
		expect(`[*{*"scope_key": "feishu:ou_1",*"memory_key": "飞书机器人",*"content": "回调地址在网关后面"*}*]`, run(0, "list", "--json", "--namespace", "work"))
		expect("五月三日", run(0, "show", "notes", "生日"))
		expect(`*"source_type": "memory_manage"*`, run(0, "show", "--json", "notes", "生日"))
		expect("picobot: there is no memory \"日生\" in namespace \"notes\"; the nearest are notes/生日", run(1, "show", "notes", "日生"))
		if lines := strings.Split(strings.TrimSpace(run(0, "export")), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], `{"id":`) {
			t.Errorf("exported %q", lines)
		}
	}
	read()
	g.Stop()
	read()
	expect("picobot: no gateway runs*", run(1, "delete", "notes", "生日"))
	h.StartGateway()
	expect("", run(0, "delete", "notes", "生日"))
	expect("picobot: there is no memory*", run(1, "delete", "notes", "生日"))
	expect("picobot: the key contains*", run(1, "put", "notes", "a\tb", "x"))
	for _, usage := range [][]string{{"list", "--scope", "alice"}, {"list", "--limit", "-1"}, {"search"}, {"search", " "}, {"put", "a", "b"}, {"nonsense"}} {
		run(2, usage...)
	}
	sound(t, h)
}
