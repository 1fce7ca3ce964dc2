package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/flow"
	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeanthropic"
	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
	"picobot/workflows"
)

const wrongKey = "sk-this-key-is-refused"

// models is a running gateway with one endpoint of each kind. Its agents:
//
//	default   gpt, then claude     reversed  claude, then gpt
//	gpt, claude, blind             each that model alone
//	locked    a key that is refused
//	doomed    locked, then claude
type models struct {
	*testing.T
	h      *harness.Harness
	g      *harness.Gateway
	gpt    *fakeopenai.Server
	claude *fakeanthropic.Server
	chats  int
}

type object = map[string]any

// server is one more OpenAI-style endpoint.
type server struct {
	*fakeopenai.Server
	provider string
}

// newModels starts a gateway. Further models are by name, each with an agent of its
// own, whose fallbacks are its "then"; their provider is gpt, claude or one of the
// further servers.
func newModels(t *testing.T, gpt fakeopenai.Config, further map[string]object, servers ...server) *models {
	t.Helper()
	m := &models{T: t, h: harness.New(t), gpt: fakeopenai.Start(t, gpt), claude: fakeanthropic.Start(t, fakeanthropic.Config{})}
	known := map[string]object{
		"gpt":    {"provider": "gpt", "model": "fake-model"},
		"claude": {"provider": "claude", "model": "claude-fake", "max_output_tokens": 4000, "extra": object{"thinking": object{"type": "enabled", "budget_tokens": 1024}}},
		"blind":  {"provider": "gpt", "model": "fake-model", "vision": false},
		"locked": {"provider": "locked", "model": "fake-model"},
	}
	agents := object{
		"default":  object{"model": "gpt", "fallback_models": []string{"claude"}},
		"reversed": object{"model": "claude", "fallback_models": []string{"gpt"}},
		"doomed":   object{"model": "locked", "fallback_models": []string{"claude"}},
	}
	for name, model := range further {
		known[name] = model
	}
	for name, model := range known {
		agent := object{"model": name}
		if then, ok := model["then"]; ok {
			delete(model, "then")
			agent["fallback_models"] = then
		}
		agents[name] = agent
	}
	providers := object{
		"gpt":    object{"type": "openai", "base_url": m.gpt.URL(), "api_key": m.gpt.Key()},
		"claude": object{"type": "anthropic", "base_url": m.claude.URL(), "api_key": m.claude.Key()},
		"locked": object{"type": "openai", "base_url": m.gpt.URL(), "api_key": wrongKey},
	}
	for _, s := range servers {
		providers[s.provider] = object{"type": "openai", "base_url": s.URL(), "api_key": s.Key()}
	}
	m.h.Configure(object{"providers": providers, "models": known, "agents": agents})
	m.g = m.h.StartGateway()
	return m
}

// chat opens a chat of its own with an agent.
func (m *models) chat(agent string) *harness.Conn {
	m.Helper()
	m.chats++
	c := m.g.WS(m.T)
	c.Hello(protocol.Hello{ClientID: fmt.Sprintf("chat%d", m.chats), Agent: agent})
	return c
}

// ask sends a message and waits for the end of its turn.
func (m *models) ask(c *harness.Conn, content string, media ...protocol.Media) protocol.Turn {
	m.Helper()
	id := fmt.Sprint(len(c.Frames()), content)
	c.Write(protocol.UserMessage{ID: id, Content: content, Media: media})
	a := harness.Expect(c, "accepted", func(a protocol.Accepted) bool { return a.ID == id })
	return c.End(a.TurnID)
}

// valid checks that no endpoint was sent anything that it had to refuse.
func (m *models) valid() {
	m.Helper()
	for _, refused := range append(m.gpt.Refused(), m.claude.Refused()...) {
		if refused != "wrong key" {
			m.Errorf("an endpoint refused: %s", refused)
		}
	}
	sound(m.T, m.h)
}

// row returns what a query says of a turn.
func (m *models) row(turn protocol.Turn, columns string) string {
	m.Helper()
	rows := m.h.Record(`SELECT `+columns+` FROM turns WHERE id = ?`, turn.TurnID)
	return strings.Join(rows, "\n")
}

// reply is a turn's last row.
func (m *models) reply(turn protocol.Turn) string {
	m.Helper()
	rows := m.h.Record(`SELECT content FROM messages WHERE turn_id = ? ORDER BY seq DESC LIMIT 1`, turn.TurnID)
	return strings.Join(rows, "\n")
}

// failures lists what Temporal's history keeps of the failed attempts at a turn's
// model calls, and the whole history as text. The history has to replay.
func (m *models) failures(turn protocol.Turn) (failures []string, whole string) {
	m.Helper()
	key, err := os.ReadFile(filepath.Join(m.h.Home, "temporal.key"))
	if err != nil {
		m.Fatal(err)
	}
	c, err := client.Dial(client.Options{HostPort: m.g.Temporal, HeadersProvider: bearer(strings.TrimSpace(string(key)))})
	if err != nil {
		m.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	history := &historypb.History{}
	it := c.GetWorkflowHistory(ctx, m.row(turn, "workflow_id"), m.row(turn, "run_id"), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			m.Fatal(err)
		}
		history.Events = append(history.Events, e)
		whole += e.String() + "\n"
		if s := e.GetActivityTaskStartedEventAttributes(); s.GetLastFailure() != nil {
			failures = append(failures, fmt.Sprintf("attempt %d, after: %s", s.GetAttempt(), s.GetLastFailure().GetMessage()))
		}
		if f := e.GetActivityTaskFailedEventAttributes(); f != nil {
			failures = append(failures, "failed: "+f.GetFailure().GetMessage())
		}
	}
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(workflows.Session, workflow.RegisterOptions{Name: flow.SessionWorkflow})
	if err := r.ReplayWorkflowHistory(nil, history); err != nil {
		m.Errorf("the history does not replay: %v", err)
	}
	return failures, whole
}

type bearer string

func (b bearer) GetHeaders(context.Context) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// soon is a header that makes a retry come at once.
func soon() http.Header { return http.Header{"Retry-After-Ms": {"30"}} }

// notices are the warnings a client was shown, the one of the offline model aside.
func notices(c *harness.Conn) []string {
	var out []string
	for _, n := range harness.Of[protocol.Notice](c) {
		if n.Level == "warn" {
			out = append(out, n.Text)
		}
	}
	return out
}

// shown puts together the text that a client has of one attempt at a step.
func shown(c *harness.Conn, turnID, kind string, step, attempt int) string {
	var out strings.Builder
	for _, d := range harness.Of[protocol.Delta](c) {
		if d.TurnID == turnID && d.Kind == kind && d.Step == step && d.Attempt == attempt {
			out.WriteString(d.Text)
		}
	}
	return out.String()
}

// took says how long what is done takes.
func took(what func()) time.Duration {
	begun := time.Now()
	what()
	return time.Since(begun)
}
