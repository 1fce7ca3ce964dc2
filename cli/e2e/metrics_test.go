package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"picobot/internal/protocol"
	"picobot/internal/testkit/exposition"
	"picobot/internal/testkit/harness"
)

// scrape asks for /metrics as Prometheus does.
func scrape(t *testing.T, h *harness.Harness, g *harness.Gateway) exposition.Metrics {
	t.Helper()
	return scrapeAt(t, h, g.URL)
}

func scrapeAt(t *testing.T, h *harness.Harness, url string) exposition.Metrics {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: 20 * time.Second}
	refused, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	refused.Body.Close()
	if refused.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: %s", refused.Status)
	}
	req.Header.Set("Authorization", "Bearer "+h.Token())
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		t.Fatalf("%s, %v", resp.Status, resp.Header)
	}
	m, err := exposition.Parse(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMetrics_AfterTurnsOfEveryKind_CountThemOnceAlsoAfterAKill(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	ws := g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "a"})
	tools := ws.Send("m1", "tools calc 12*7; time; calc 1/0")
	failed := ws.Send("m2", "fail 401")
	slow := ws.Send("m3", "slow 60")
	h.Eventually("the last turn runs", func() bool {
		return len(h.Record(`SELECT 1 FROM turns WHERE id = ? AND status = 'running'`, slow.TurnID)) == 1
	})
	ws.Write(protocol.Cancel{TurnID: slow.TurnID})
	h.Eventually("every turn has ended, and the call that was cut off", func() bool {
		return len(h.Record(`SELECT 1 FROM turns WHERE id IN (?, ?, ?) AND finished_at IS NOT NULL`, tools.TurnID, failed.TurnID, slow.TurnID)) == 3 &&
			len(h.Record(`SELECT 1 FROM model_calls WHERE turn_id = ? AND error = 'canceled'`, slow.TurnID)) == 1
	})
	same(t, "calls in the record", h.Record(`SELECT step, model, provider, status, coalesce(error, '') FROM model_calls WHERE turn_id <> ? ORDER BY rowid`, slow.TurnID),
		"1|offline|offline|completed|", "2|offline|offline|completed|", "1|offline|offline|failed|auth")
	same(t, "a turn's tokens are those of its calls", h.Record(`SELECT t.id FROM turns t WHERE
		prompt_tokens <> (SELECT coalesce(sum(prompt_tokens), 0) FROM model_calls WHERE turn_id = t.id) OR
		completion_tokens <> (SELECT coalesce(sum(completion_tokens), 0) FROM model_calls WHERE turn_id = t.id)`))

	check := func(when string) {
		m := scrape(t, h, g)
		for _, c := range []struct {
			name   string
			labels []string
			want   float64
		}{
			{"picobot_turns_total", []string{"status", "completed", "channel", "cli"}, 1},
			{"picobot_turns_total", []string{"status", "failed", "channel", "cli"}, 1},
			{"picobot_turns_total", []string{"status", "cancelled", "channel", "cli"}, 1},
			{"picobot_turn_duration_seconds", nil, 3},
			{"picobot_model_calls_total", []string{"model", "offline", "outcome", "completed"}, 2},
			{"picobot_model_calls_total", []string{"model", "offline", "outcome", "auth"}, 1},
			{"picobot_model_calls_total", []string{"model", "offline", "outcome", "canceled"}, 1},
			{"picobot_tool_calls_total", []string{"tool", "calculator", "status", "completed"}, 1},
			{"picobot_tool_calls_total", []string{"tool", "calculator", "status", "failed"}, 1},
			{"picobot_tool_calls_total", []string{"tool", "get_time", "status", "completed"}, 1},
			{"picobot_queue_depth", nil, 0},
			{"picobot_up", nil, 3},
			{"picobot_build_info", nil, 1},
		} {
			if got := m.Value(c.name, c.labels...); got != c.want {
				t.Errorf("%s: %s%q is %v, want %v", when, c.name, c.labels, got, c.want)
			}
		}
		for _, some := range []string{"picobot_tokens_total", "picobot_sessions_active", "temporal_request_total",
			"temporal_request_latency_seconds", "process_start_time_seconds"} {
			if m.Value(some) <= 0 {
				t.Errorf("%s: %s is %v", when, some, m.Value(some))
			}
		}
	}
	check("at first")
	if got := scrape(t, h, g).Value("picobot_record_write_seconds"); got < 10 {
		t.Errorf("%v writes were measured", got)
	}
	g.Kill9()
	g = h.StartGateway()
	check("after a kill")
	sound(t, h)
}
