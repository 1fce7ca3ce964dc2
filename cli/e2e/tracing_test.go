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
