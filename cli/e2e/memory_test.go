package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeopenai"
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

// upkeepPlan answers every request with a schema, and echoes the rest.
func upkeepPlan(t *testing.T, fake *fakeopenai.Server) {
	fake.Handle(func(r fakeopenai.Request) fakeopenai.Step {
		user := r.LastUser()
		if !strings.HasPrefix(user, "Memories of one person") {
			return nil
		}
		plan := map[string]any{"facts": []any{}, "preferences": []any{}, "behaviour_patterns": []any{}, "other": []any{}, "merge": []any{}, "delete": []any{}, "conflicts": []any{},
			"managed_markdown": "- notes on the owner of " + regexp.MustCompile(`"content":"([^" ]+)`).FindStringSubmatch(user)[1]}
		if strings.Contains(user, `"key":"double"`) {
			plan["merge"] = []any{map[string]any{"into": map[string]string{"namespace": "n", "key": "tea", "content": "drinks tea, twice"},
				"from": []any{map[string]string{"namespace": "n", "key": "tea"}, map[string]string{"namespace": "n", "key": "double"}}}}
		}
		if strings.Contains(user, "forgetme") {
			plan["delete"] = []any{map[string]string{"namespace": "n", "key": "x", "reason": ""}}
		}
		raw, err := json.Marshal(plan)
		if err != nil {
			t.Error(err)
		}
		return fakeopenai.Reply{Text: string(raw), Usage: &fakeopenai.Usage{Prompt: 100, Completion: 10}}
	})
}

func newUpkeep(t *testing.T) (*harness.Harness, *fakeopenai.Server) {
	h, fake := harness.New(t), fakeopenai.Start(t, fakeopenai.Config{})
	upkeepPlan(t, fake)
	h.Configure(object{
		"providers": object{"gpt": object{"type": "openai", "base_url": fake.URL(), "api_key": fake.Key()}},
		"models":    object{"gpt": object{"provider": "gpt", "model": "fake-model"}},
		"agents":    object{"default": object{"model": "gpt"}},
		"gateway":   object{"addr": "127.0.0.1:0", "agent_prompt_reinject_every": 1},
	})
	return h, fake
}

func TestMemoryMaintainTidiesAndPromptsHaveOnlyWhatIsTheirs(t *testing.T) {
	h, fake := newUpkeep(t)
	g := h.StartGateway()
	put := func(scope, key, content string) {
		t.Helper()
		if r := h.Run("memory", "put", "--scope", scope, "n", key, content); r.Code != 0 {
			t.Errorf("%+v", r)
		}
	}
	put("cli:alice", "tea", "alices-tea")
	put("cli:alice", "double", "alices-tea again")
	put("cli:bob", "tea", "bobs-tea")
	agentFile := filepath.Join(h.Home, "agent", "AGENT.md")
	alice, bob := newPerson(t, g, "alice", "one"), newPerson(t, g, "bob", "two")
	alice.say("hello")
	before, err := os.ReadFile(agentFile)
	if err != nil {
		t.Fatal(err)
	}
	r := h.Run("memory", "maintain")
	if r.Code != 0 || r.Stdout != "2 looked at, 1 tidied: 1 memory merged into others, 0 deleted; 0 contradictions left as they are\n" {
		t.Errorf("%+v", r)
	}
	same(t, "memories", h.Record(`SELECT scope_key, memory_key, content, source_type FROM memories ORDER BY scope_key`),
		"cli:alice|tea|drinks tea, twice|memory_maintenance", "cli:bob|tea|bobs-tea|api")
	same(t, "what it cost", h.Record(`SELECT count(*), sum(prompt_tokens), sum(completion_tokens) FROM model_calls WHERE turn_id IS NULL AND prompt_tokens = 100`), "2|200|20")
	after, err := os.ReadFile(agentFile)
	if err != nil {
		t.Fatal(err)
	}
	block := "\n<!-- picobot:memory:begin -->\n<!-- scope: cli:alice -->\n- notes on the owner of alices-tea\n<!-- scope: cli:bob -->\n- notes on the owner of bobs-tea\n<!-- picobot:memory:end -->\n"
	if string(after) != string(before)+block {
		t.Errorf("AGENT.md: %q", after)
	}
	// Each chat is told of its own people; what concerns others is no news to it.
	alice.say("hello again")
	bob.say("hello")
	prompts := func(chat string) []string {
		return h.Record(`SELECT content LIKE '%owner of alices%', content LIKE '%owner of bobs%' FROM messages m JOIN sessions s ON s.id = m.session_id
			WHERE s.chat_id = ? AND marker = 'agent_prompt' ORDER BY seq`, chat)
	}
	same(t, "alice's prompts", prompts("one"), "0|0", "1|0")
	same(t, "bob's prompts", prompts("two"), "0|1")
	put("cli:bob", "x", "forgetme")
	asked := fake.Count()
	if r := h.Run("memory", "maintain", "--json"); r.Code != 0 || !matches(strings.TrimSpace(r.Stdout), `{*"status": "completed"*"scopes": 1,*"deleted": 1*}`) {
		t.Errorf("%+v", r)
	}
	if n := fake.Count() - asked; n != 1 {
		t.Errorf("%d calls: who has not changed costs none", n)
	}
	alice.say("and again")
	same(t, "alice's prompts", prompts("one"), "0|0", "1|0")
	if r := h.Run("memory", "maintain"); r.Code != 0 || r.Stdout != "nothing has changed since the last time\n" {
		t.Errorf("%+v", r)
	}
	// A plan that does not hold: nothing happens, the run has failed and says why.
	put("cli:bob", "x", "forgetme")
	put("cli:bob", "tea", "bobs-tea")
	if r := h.Run("memory", "delete", "--scope", "cli:bob", "n", "tea"); r.Code != 0 {
		t.Errorf("%+v", r)
	}
	if r := h.Run("memory", "maintain"); r.Code != 1 || !strings.Contains(r.Stderr, "cli:bob: the plan was refused: it would drop 1 of 1 memories") {
		t.Errorf("%+v", r)
	}
	same(t, "bob's memory is still there", h.Record(`SELECT content FROM memories WHERE scope_key = 'cli:bob'`), "forgetme")
	same(t, "the run", h.Record(`SELECT status, error FROM memory_runs ORDER BY started_at DESC LIMIT 1`), "failed|cli:bob: the plan was refused: it would drop 1 of 1 memories, more than half")
	// The same by the built in job: it has failed for the same reason, and says so.
	if r := h.Run("jobs", "run", "builtin.memory_maintenance_daily"); r.Code != 0 {
		t.Errorf("%+v", r)
	}
	h.Eventually("the job's run ends", func() bool { return len(h.Record(`SELECT 1 FROM job_runs WHERE status <> 'running'`)) == 1 })
	same(t, "the job's run", h.Record(`SELECT status, error FROM job_runs`), "failed|cli:bob: the plan was refused: it would drop 1 of 1 memories, more than half")
	put("cli:bob", "tea", "bobs-tea")
	if r := h.Run("jobs", "run", "builtin.memory_maintenance_daily"); r.Code != 0 {
		t.Errorf("%+v", r)
	}
	h.Eventually("the job's second run ends", func() bool {
		return len(h.Record(`SELECT 1 FROM job_runs WHERE status = 'completed'`)) == 1
	})
	same(t, "bob's memories", h.Record(`SELECT memory_key FROM memories WHERE scope_key = 'cli:bob'`), "tea")
	sound(t, h)
}

func TestMemoryMaintainTurnedOffIsRefused(t *testing.T) {
	h := harness.New(t)
	h.Configure(object{"memory": object{"maintenance_enabled": false}})
	h.StartGateway()
	if r := h.Run("memory", "maintain"); r.Code != 1 || !strings.Contains(r.Stderr, "memory.maintenance_enabled") {
		t.Errorf("%+v", r)
	}
}

// Killed anywhere inside maintenance: it goes on after the restart, and no memory is
// lost or doubled.
func TestMemoryMaintainSurvivesKills(t *testing.T) {
	h, fake := newUpkeep(t)
	g := h.StartGateway()
	const people = 6
	for i := range people {
		for _, key := range []string{"tea", "double", "x"} {
			content := fmt.Sprintf("person%d-%s", i, key)
			if key == "x" {
				content += " forgetme"
			}
			if r := h.Run("memory", "put", "--scope", fmt.Sprint("cli:p", i), "n", key, content); r.Code != 0 {
				t.Fatalf("%+v", r)
			}
		}
		h.Run("memory", "put", "--scope", fmt.Sprint("cli:p", i), "n", "keep", "keep-me")
		h.Run("memory", "put", "--scope", fmt.Sprint("cli:p", i), "n", "keep too", "keep-me-too")
	}
	before := fake.Count()
	waiting := h.Start("memory", "maintain")
	for kill := 1; kill <= 3; kill++ {
		// Somewhere after so many people: in a model call, between two activities, in a commit.
		h.Eventually("maintenance gets on", func() bool {
			done := h.Record(`SELECT count(*) FROM memory_scopes WHERE maintained_rev > 0`)
			return len(done) == 1 && done[0] >= fmt.Sprint(kill)
		})
		g.Kill9()
		g = h.StartGateway()
	}
	h.Eventually("the run ends", func() bool {
		return len(h.Record(`SELECT 1 FROM memory_runs WHERE status = 'completed'`)) == 1
	})
	waiting.Wait()
	for i := range people {
		same(t, "memories", h.Record(`SELECT memory_key, content FROM memories WHERE scope_key = ? ORDER BY memory_key`, fmt.Sprint("cli:p", i)),
			"keep|keep-me", "keep too|keep-me-too", "tea|drinks tea, twice")
	}
	same(t, "each person was tidied once, in one run", h.Record(`SELECT count(*), sum(changed), sum(merged), sum(deleted), sum(failed) FROM memory_runs`), fmt.Sprintf("1|%d|%d|%d|0", people, people, people))
	same(t, "nothing is left over", h.Record(`SELECT count(*) FROM memory_plans`), "0")
	text, err := os.ReadFile(filepath.Join(h.Home, "agent", "AGENT.md"))
	if err != nil || strings.Count(string(text), "<!-- scope: cli:p") != people {
		t.Errorf("AGENT.md: %s, %v", text, err)
	}
	if n := fake.Count() - before; n > people+3 {
		t.Errorf("%d calls for %d people and 3 kills", n, people)
	}
	sound(t, h)
}
