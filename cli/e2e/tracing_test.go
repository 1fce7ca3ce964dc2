package e2e

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
	"picobot/internal/tracing"
)

// otlp is an OpenTelemetry collector.
type otlp struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
	auth  string
}

func newCollector(t *testing.T) *otlp {
	c := &otlp{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &in); err != nil || r.URL.Path != "/v1/traces" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.auth = r.Header.Get("Authorization")
		for _, rs := range in.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func TestTraces_OneMessageIsOneTrace(t *testing.T) {
	h, c := harness.New(t), newCollector(t)
	h.Env["OTEL_EXPORTER_OTLP_ENDPOINT"] = c.URL
	h.Env["OTEL_EXPORTER_OTLP_HEADERS"] = "authorization=Bearer%20collectors-key"
	if r := h.Run("agent", "-m", "calc 12*7"); r.Code != 0 || r.Stdout != "calculator: 84\n" {
		t.Fatalf("%+v", r)
	}
	turn := h.Record(`SELECT id FROM turns`)[0]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.auth != "Bearer collectors-key" {
		t.Errorf("the collector was presented %q", c.auth)
	}
	var names []string
	parents := map[string]string{} // by span
	by := map[string]string{}      // the name of a span
	for _, s := range c.spans {
		if got := hex.EncodeToString(s.TraceId); got != tracing.TraceID(turn) {
			t.Errorf("span %s is of trace %s, and the turn's is %s", s.Name, got, tracing.TraceID(turn))
		}
		names = append(names, s.Name)
		by[string(s.SpanId)], parents[s.Name] = s.Name, string(s.ParentSpanId)
		for _, a := range s.Attributes {
			if text := a.Value.String(); strings.Contains(text, "12*7") || strings.Contains(text, "84") && !strings.Contains(a.Key, "id") {
				t.Errorf("a span tells what was said: %s %s", a.Key, text)
			}
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "BeginTurn CallModel CallModel RunTool chat offline chat offline message turn" {
		t.Errorf("spans: %s", got)
	}
	for child, parent := range map[string]string{"message": "", "turn": "message", "BeginTurn": "turn", "CallModel": "turn", "RunTool": "turn", "chat offline": "CallModel"} {
		if got := by[parents[child]]; got != parent {
			t.Errorf("%s is below %q, not %q", child, got, parent)
		}
	}
}

// of returns the spans of a turn's trace.
func (c *otlp) of(turn string) []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.spans), func(s *tracepb.Span) bool { return hex.EncodeToString(s.TraceId) != tracing.TraceID(turn) })
}

// tree lists spans as "name < name of its parent < …", failed ones with a "!".
func tree(spans []*tracepb.Span) []string {
	by := map[string]*tracepb.Span{}
	for _, s := range spans {
		by[string(s.SpanId)] = s
	}
	var out []string
	for _, s := range spans {
		line := s.Name
		if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			line += "!"
		}
		for len(s.ParentSpanId) > 0 {
			parent := by[string(s.ParentSpanId)]
			if parent == nil {
				line += " < nobody"
				break
			}
			line, s = line+" < "+parent.Name, parent
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// Each message of a session has a trace of its own. A retry is another attempt in it, and
// what a new process does after a kill joins it.
func TestTraces_TurnsOfOneSession_RetriesAndAKill(t *testing.T) {
	h, c := harness.New(t), newCollector(t)
	gpt := fakeopenai.Start(t, fakeopenai.Config{})
	h.Configure(object{
		"providers": object{"p": object{"type": "openai", "base_url": gpt.URL(), "api_key": gpt.Key()}},
		"models":    object{"m": object{"provider": "p", "model": "fake-model"}},
	})
	h.Env["OTEL_EXPORTER_OTLP_ENDPOINT"], h.Env["OTEL_BSP_SCHEDULE_DELAY"] = c.URL, "50"
	g := h.StartGateway()
	ws := g.WS(t)
	w := ws.Hello(protocol.Hello{ClientID: "a"})
	gpt.Enqueue(
		fakeopenai.Reply{Text: "one"},
		fakeopenai.Error{Status: 503, Message: "busy"}, fakeopenai.Reply{Text: "two"},
		fakeopenai.Hang{},
	)
	one, two := ws.Send("m1", "first").TurnID, ws.Send("m2", "second").TurnID
	ws.End(two)
	three := ws.Send("m3", "third").TurnID
	h.Eventually("the third is asked", func() bool { return gpt.Count() == 4 })
	// A kill takes what was not sent yet along.
	h.Eventually("its beginning is exported", func() bool { return len(c.of(three)) == 2 && len(c.of(two)) >= 6 })
	g.Kill9()
	g = h.StartGateway()
	ws = g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "a", SessionID: w.SessionID})
	h.Eventually("the third is answered", func() bool {
		return len(h.Record(`SELECT 1 FROM turns WHERE id = ? AND status = 'completed'`, three)) == 1
	})
	g.Stop()

	same(t, "an answer", tree(c.of(one)),
		"BeginTurn < turn < message", "CallModel < turn < message", "chat m < CallModel < turn < message", "message", "turn < message")
	same(t, "a retry", tree(c.of(two)),
		"BeginTurn < turn < message", "CallModel < turn < message", "CallModel! < turn < message",
		"chat m < CallModel < turn < message", "chat m! < CallModel < turn < message", "message", "turn < message")
	same(t, "a kill", tree(c.of(three)),
		"BeginTurn < turn < message", "BeginTurn < turn < message", "CallModel < turn < message", "chat m < CallModel < turn < message", "message", "turn < message")
}
