package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

func TestFirstMessageInAnEmptyHomeIsAnsweredThroughATool(t *testing.T) {
	h := harness.New(t)
	r := h.Run("agent", "-m", "calc 12*7")
	if r.Code != 0 || r.Stdout != "calculator: 84\n" {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{"offline model", "started in this process"} {
		if !strings.Contains(r.Stderr, want) {
			t.Errorf("stderr does not say %q: %s", want, r.Stderr)
		}
	}
	same(t, "messages", h.Record(`SELECT role, content, coalesce(tool_name, ''), coalesce(marker, '') FROM messages ORDER BY seq`),
		"system|*||welcome", "system|*||agent_prompt", "user|calc 12*7||", "assistant|*||", "tool|84|calculator|", "assistant|calculator: 84||")
	same(t, "the call", h.Record(`SELECT json_extract(tool_calls, '$[0].type'), json_extract(tool_calls, '$[0].function.name'),
		json_extract(tool_calls, '$[0].id') = (SELECT tool_call_id FROM messages WHERE role = 'tool') FROM messages WHERE tool_calls IS NOT NULL`),
		"function|calculator|1")
	same(t, "tool_runs", h.Record(`SELECT step, position, name, effect, status, result, finished_at >= started_at FROM tool_runs`),
		"*|0|calculator|read_only|completed|84|1")
	same(t, "turns", h.Record(`SELECT status, model, steps, error, finished_at >= started_at, workflow_id = 'session/' || session_id FROM turns`),
		"completed|offline|2|-|1|1")
	same(t, "inbound", h.Record(`SELECT channel, status, content, finished_at IS NOT NULL FROM inbound_messages`), "cli|done|calc 12*7|1")
	same(t, "sessions", h.Record(`SELECT channel, chat_id, id = channel || ':' || chat_id || ':' || dialog_id, message_count, total_message_count,
		json_extract(routing_info, '$.type') FROM sessions`), "cli|*|1|1|6|cli")
	sound(t, h)

	for _, private := range []string{"gateway.token", "storage/sessions.db", "temporal.key", "logs/gateway.log"} {
		if info, err := os.Stat(filepath.Join(h.Home, private)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", private, info, err)
		}
	}
	if info, err := os.Stat(h.Home); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("home: %v, %v", info, err)
	}

	again := h.Run("agent", "-m", "calc 6*7")
	if again.Code != 0 || again.Stdout != "calculator: 42\n" {
		t.Errorf("second run: %+v", again)
	}
	t.Logf("first run took %s, second %s", r.Took.Round(time.Millisecond), again.Took.Round(time.Millisecond))
	same(t, "the chat keeps its dialog", h.Record(`SELECT count(*), (SELECT count(*) FROM turns) FROM sessions`), "1|2")
}

// answer is what --json prints.
type answer struct {
	SessionID string `json:"session_id"`
	TurnID    string `json:"turn_id"`
	Status    string `json:"status"`
	Reply     string `json:"reply"`
	Usage     *struct {
		Prompt     *int64 `json:"prompt_tokens"`
		Completion *int64 `json:"completion_tokens"`
	} `json:"usage"`
}

func parse(t *testing.T, line string) answer {
	t.Helper()
	var a answer
	dec := json.NewDecoder(strings.NewReader(line))
	if err := dec.Decode(&a); err != nil || dec.More() {
		t.Fatalf("not one JSON object: %q: %v", line, err)
	}
	if a.SessionID == "" || a.TurnID == "" || a.Usage == nil || a.Usage.Prompt == nil || a.Usage.Completion == nil {
		t.Errorf("fields are missing in %s", line)
	}
	return a
}

func TestAgentBesideARunningGateway(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()

	t.Run("one message", func(t *testing.T) {
		r := h.Run("agent", "-m", "hello")
		if r.Code != 0 || r.Stdout != "echo: hello\n" || strings.Contains(r.Stderr, "started in this process") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("json", func(t *testing.T) {
		r := h.Run("agent", "--json", "-m", "hello")
		if a := parse(t, r.Stdout); r.Code != 0 || a.Status != "completed" || a.Reply != "echo: hello" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("failed turn", func(t *testing.T) {
		r := h.Run("agent", "-m", "fail 401")
		if r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, "refuses the API key") {
			t.Errorf("%+v", r)
		}
		r = h.Run("agent", "--json", "-m", "fail 401")
		if a := parse(t, r.Stdout); r.Code != 1 || a.Status != "failed" {
			t.Errorf("%+v", r)
		}
		same(t, "the record says why", h.Record(`SELECT DISTINCT t.status, m.marker FROM turns t JOIN messages m ON m.turn_id = t.id AND m.role = 'assistant'
			WHERE t.status = 'failed'`), "failed|error")
	})
	t.Run("lines", func(t *testing.T) {
		r := h.RunInput("one\n\nfail 400\ncalc 2+3\nlast without newline", "agent")
		if r.Code != 0 || r.Stdout != "echo: one\ncalculator: 5\necho: last without newline\n" || !strings.Contains(r.Stderr, "the turn failed") {
			t.Errorf("%+v", r)
		}
		r = h.RunInput("one\ntwo\n", "agent", "--json")
		lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
		if r.Code != 0 || len(lines) != 2 || parse(t, lines[1]).Reply != "echo: two" {
			t.Errorf("%+v", r)
		}
		if r := h.Run("agent"); r.Code != 0 || r.Stdout != "" {
			t.Errorf("no input: %+v", r)
		}
	})
	t.Run("a long line", func(t *testing.T) {
		text := strings.Repeat("wörd ", 200_000) // a megabyte
		if r := h.RunInput(text+"\n", "agent"); r.Code != 0 || r.Stdout != "echo: "+strings.TrimSpace(text)+"\n" {
			t.Errorf("code %d, %d bytes, %.300s", r.Code, len(r.Stdout), r.Stderr)
		}
	})
	t.Run("command", func(t *testing.T) {
		if r := h.Run("agent", "-m", "/help"); r.Code != 0 || !strings.Contains(r.Stdout, "/stop") {
			t.Errorf("%+v", r)
		}
		if r := h.Run("agent", "-m", "/nonsense"); r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, "/help") && !strings.Contains(r.Stderr, "help") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("parallel tools", func(t *testing.T) {
		r := h.Run("agent", "--json", "-m", "tools calc 1+1; calc 2+2; time")
		a := parse(t, r.Stdout)
		if r.Code != 0 || a.Status != "completed" {
			t.Fatalf("%+v", r)
		}
		same(t, "tool rows stand in call order", h.Record(`SELECT tool_name, CASE tool_name WHEN 'calculator' THEN content ELSE '' END
			FROM messages WHERE turn_id = ? AND role = 'tool' ORDER BY seq`, a.TurnID), "calculator|2", "calculator|4", "get_time|")
		same(t, "one step", h.Record(`SELECT count(DISTINCT step), count(DISTINCT position) FROM tool_runs WHERE turn_id = ?`, a.TurnID), "1|3")
	})
	t.Run("other chat and session", func(t *testing.T) {
		first := parse(t, h.Run("agent", "--json", "--chat", "project x", "-m", "one").Stdout)
		if !strings.HasPrefix(first.SessionID, "cli:project x:") {
			t.Errorf("session %q", first.SessionID)
		}
		second := parse(t, h.Run("agent", "--json", "--session", first.SessionID, "-m", "two").Stdout)
		if second.SessionID != first.SessionID {
			t.Errorf("sessions %q and %q", first.SessionID, second.SessionID)
		}
		if r := h.Run("agent", "--session", "cli:no:such", "-m", "x"); r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, "not_found") {
			t.Errorf("%+v", r)
		}
		if r := h.Run("agent", "--agent", "nobody", "--chat", "new", "-m", "x"); r.Code != 1 || r.Stdout != "" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("gateway by its address", func(t *testing.T) {
		if r := h.Run("agent", "--gateway", g.URL, "-m", "hi"); r.Code != 0 || r.Stdout != "echo: hi\n" {
			t.Errorf("%+v", r)
		}
		if r := h.Run("agent", "--gateway", g.URL, "--token", "wrong", "-m", "hi"); r.Code != 1 || !strings.Contains(r.Stderr, "refused the token") {
			t.Errorf("%+v", r)
		}
		if r := h.Run("agent", "--gateway", "http://127.0.0.1:1", "-m", "hi"); r.Code != 1 || !strings.Contains(r.Stderr, "no gateway answers") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		p := h.Start("agent", "-m", "slow 60")
		h.Eventually("the turn runs", func() bool {
			return len(h.Record(`SELECT 1 FROM turns t JOIN inbound_messages i ON i.id = t.inbound_id WHERE i.content = 'slow 60' AND t.status = 'running'`)) == 1
		})
		p.Signal(2)
		if r := p.Wait(); r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, "cancelled") {
			t.Errorf("%+v", r)
		}
	})
	sound(t, h)
}

// Whoever reads the answers of an agent may go away; the gateway in it is others' too.
func TestAgentWhoseReaderWentAwayLeavesInOrder(t *testing.T) {
	h := harness.New(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	p := h.StartInto(w, "agent", "-m", "hello")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if res := p.Wait(); res.Code != 1 || !strings.Contains(res.Stderr, "pipe") {
		t.Errorf("exit code %d: %s", res.Code, res.Stderr)
	}
}

func TestMessageThatIsTooLargeIsRefusedAndTheNextOneIsNot(t *testing.T) {
	h := harness.New(t)
	h.Configure(map[string]any{"gateway": map[string]any{"addr": "127.0.0.1:0", "max_message_bytes": 4096}})
	h.StartGateway()
	for _, size := range []int{20_000, 100_000} {
		if r := h.Run("agent", "-m", strings.Repeat("x", size)); r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, "max_message_bytes") {
			t.Errorf("%d bytes: %+v", size, r)
		}
	}
	fits := strings.Repeat("x", 4096)
	r := h.RunInput(fits+"\n"+fits+"y\nsmall\n", "agent")
	if r.Code != 0 || r.Stdout != "echo: "+fits+"\necho: small\n" || strings.Count(r.Stderr, "max_message_bytes") != 1 {
		t.Errorf("%+v", r)
	}
}

func TestEndpointOfTheEnvironmentAnswers(t *testing.T) {
	h := harness.New(t)
	fake := fakeopenai.Start(t, fakeopenai.Config{})
	h.Env["OPENAI_API_KEY"], h.Env["OPENAI_BASE_URL"], h.Env["OPENAI_MODEL"] = fake.Key(), fake.URL(), "fake-model"
	fake.Enqueue(
		fakeopenai.Reply{Text: "let me see", ToolCalls: []fakeopenai.ToolCall{{Name: "calculator", Arguments: `{"expression":"12*7"}`}}},
		fakeopenai.Reply{Text: "it is 84"},
	)
	r := h.Run("agent", "--json", "-m", "what is 12*7?")
	a := parse(t, r.Stdout)
	if r.Code != 0 || a.Reply != "it is 84" || *a.Usage.Prompt == 0 || strings.Contains(r.Stderr, "offline") {
		t.Fatalf("%+v", r)
	}
	if refused := fake.Refused(); len(refused) > 0 {
		t.Errorf("the endpoint refused: %q", refused)
	}
	requests := fake.Requests()
	if len(requests) != 2 || requests[1].LastUser() != "what is 12*7?" {
		t.Fatalf("%d requests", len(requests))
	}
	if results := requests[1].ToolResults(); len(results) != 1 {
		t.Errorf("tool results: %+v", results)
	}
	for _, file := range []string{"logs/gateway.log", "storage/sessions.db", "temporal/temporal.db"} {
		if text, err := os.ReadFile(filepath.Join(h.Home, file)); err == nil && strings.Contains(string(text), fake.Key()) {
			t.Errorf("%s holds the key", file)
		}
	}
	sound(t, h)
}
