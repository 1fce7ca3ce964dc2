package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/testkit/exposition"
	"picobot/store"
)

func (r *rig) scrape() exposition.Metrics {
	r.t.Helper()
	status, body, header := r.do(http.MethodGet, "/metrics", nil)
	require.Equal(r.t, http.StatusOK, status, body)
	require.True(r.t, strings.HasPrefix(header.Get("Content-Type"), "text/plain; version=0.0.4"), header)
	m, err := exposition.Parse(strings.NewReader(body))
	require.NoError(r.t, err)
	return m
}

func knows(names ...string) rigOption {
	return func(_ *Options, d *Deps) {
		d.KnowsTool = func(name string) bool {
			for _, n := range names {
				if n == name {
					return true
				}
			}
			return false
		}
	}
}

// acceptIn writes a message down as a client's would be.
func (r *rig) acceptIn(chatID, id string) store.Turn {
	r.t.Helper()
	a, err := r.record.Accept(r.t.Context(), store.Inbound{Channel: "cli", ChatID: chatID, ExternalID: id, SenderID: "me", Content: "hi"})
	require.NoError(r.t, err)
	return a.Turn
}

func (r *rig) finish(turnID string, status chat.TurnStatus) {
	r.t.Helper()
	_, err := r.record.FinishTurn(r.t.Context(), store.Finish{TurnID: turnID, Status: status, Code: "timeout", Text: "broken", NotRun: "no", Unknown: "?"})
	require.NoError(r.t, err)
}

func TestMetrics_TurnsWithToolsFailuresAndCancels_AreCountedAsTheRecordSays(t *testing.T) {
	r := newRig(t, knows("calculator"))
	// A turn with two tools, one of which no configuration has.
	turn := r.acceptIn("a", "1")
	r.begin(turn.SessionID)
	calls := []chat.ToolCall{chat.NewToolCall("x", "calculator", "{}"), chat.NewToolCall("y", "rm -rf /; \"\n", "{}")}
	r.answer(turn.ID, 1, "", calls...)
	for i, status := range []chat.ToolStatus{chat.ToolCompleted, chat.ToolFailed} {
		run := r.toolRun(turn.ID, 1, i, calls[i])
		run.Status = status
		_, err := r.record.CommitTool(t.Context(), run)
		require.NoError(t, err)
	}
	require.NoError(t, r.record.RecordCalls(t.Context(), turn.ID, []store.ModelCall{{Step: 2, Model: "main", Provider: "p", Error: "overloaded",
		Usage: chat.Usage{PromptTokens: 5, CachedTokens: 3}, DurationMS: 1500}}))
	r.answer(turn.ID, 2, "done")
	// One that fails, one that is cancelled, one that is withdrawn, one that waits.
	failed := r.acceptIn("b", "1")
	r.begin(failed.SessionID)
	r.finish(failed.ID, chat.TurnFailed)
	cancelled := r.acceptIn("c", "1")
	r.begin(cancelled.SessionID)
	withdrawn := r.acceptIn("c", "2")
	r.acceptIn("c", "3")
	for _, id := range []string{cancelled.ID, withdrawn.ID} {
		_, err := r.record.Cancel(t.Context(), cancelled.SessionID, id)
		require.NoError(t, err)
	}
	r.finish(cancelled.ID, chat.TurnCancelled)

	for range 2 { // a scrape changes nothing
		m := r.scrape()
		for want, got := range map[string][]float64{
			"turns": {1, m.Value("picobot_turns_total", "status", "completed", "channel", "cli"),
				1, m.Value("picobot_turns_total", "status", "failed", "channel", "cli"),
				2, m.Value("picobot_turns_total", "status", "cancelled", "channel", "cli"),
				4, m.Value("picobot_turn_wait_seconds"), 3, m.Value("picobot_turn_duration_seconds")},
			"model calls": {2, m.Value("picobot_model_calls_total", "model", "main", "provider", "p", "outcome", "completed"),
				1, m.Value("picobot_model_calls_total", "model", "main", "provider", "p", "outcome", "overloaded"),
				3, m.Value("picobot_model_call_duration_seconds", "model", "main"), 1.5, m.Sum("picobot_model_call_duration_seconds")},
			"tokens": {25, m.Value("picobot_tokens_total", "model", "main", "kind", "prompt"), 4, m.Value("picobot_tokens_total", "kind", "completion"),
				3, m.Value("picobot_tokens_total", "kind", "cached"), 0, m.Value("picobot_tokens_total", "kind", "reasoning")},
			"tools": {1, m.Value("picobot_tool_calls_total", "tool", "calculator", "status", "completed"),
				1, m.Value("picobot_tool_calls_total", "tool", "other", "status", "failed"), 2, m.Value("picobot_tool_call_duration_seconds")},
			"state": {1, m.Value("picobot_queue_depth"), 0, m.Value("picobot_outbox_pending"), 3, m.Value("picobot_sessions_active"),
				0, m.Value("picobot_ws_connections"), 0, m.Value("picobot_schedule_lag_seconds"), 3, m.Value("picobot_up")},
		} {
			for i := 0; i < len(got); i += 2 {
				require.Equal(t, got[i], got[i+1], "%s, number %d", want, i/2+1)
			}
		}
		require.Equal(t, []string{"calculator", "other"}, m.Values("picobot_tool_calls_total", "tool"))
		require.Contains(t, m.Names(), "go_goroutines")
		require.Contains(t, m.Names(), "process_resident_memory_bytes")
	}
}

func TestMetrics_ScrapesAtOnce_CountEveryTurnOnce(t *testing.T) {
	r := newRig(t)
	const turns = 20
	var all sync.WaitGroup
	for i := range turns {
		turn := r.acceptIn(fmt.Sprint(i), "1")
		for range 2 {
			all.Go(func() { r.do(http.MethodGet, "/metrics", nil) })
		}
		r.run(turn.SessionID, "hi")
	}
	all.Wait()
	require.EqualValues(t, turns, r.scrape().Value("picobot_turns_total", "status", "completed"))
}

func TestMetrics_OpenSockets_AreCounted(t *testing.T) {
	r := newRig(t)
	r.connect(protocol.Hello{ClientID: "a"})
	require.EqualValues(t, 1, r.scrape().Value("picobot_ws_connections"))
}

func TestMetrics_PartIsNotOK_SaysSoAndAnswersAllTheSame(t *testing.T) {
	r := newRig(t)
	turn := r.acceptIn("a", "1")
	r.run(turn.SessionID, "hi")
	unlock := r.lock()
	m := r.scrape()
	unlock()
	require.EqualValues(t, 0, m.Value("picobot_up", "part", "store"))
	require.EqualValues(t, 1, m.Value("picobot_up", "part", "worker"))
	require.EqualValues(t, 1, m.Value("picobot_turns_total"))
}

func TestTurn_ShowsItsUsageAndItsModelCalls(t *testing.T) {
	r := newRig(t)
	turn := r.acceptIn("a", "1")
	r.begin(turn.SessionID)
	require.NoError(t, r.record.RecordCalls(t.Context(), turn.ID, []store.ModelCall{{Step: 1, Attempt: 1, Model: "main", Provider: "p", Error: "timeout",
		Usage: chat.Usage{PromptTokens: 5, CachedTokens: 3, ReasoningTokens: 1}, DurationMS: 12, CreatedAt: 7}}))
	r.answer(turn.ID, 1, "hi")
	var got struct {
		Usage      chat.Usage
		ModelCalls []map[string]any `json:"model_calls"`
	}
	r.get("/api/v1/turns/"+turn.ID, &got)
	require.Equal(t, chat.Usage{PromptTokens: 15, CompletionTokens: 2, CachedTokens: 3, ReasoningTokens: 1}, got.Usage)
	require.Len(t, got.ModelCalls, 2)
	require.Equal(t, map[string]any{"step": 1.0, "attempt": 1.0, "model": "main", "provider": "p", "status": "failed", "error": "timeout", "duration_ms": 12.0, "created_at": 7.0,
		"usage": map[string]any{"prompt_tokens": 5.0, "completion_tokens": 0.0, "cached_tokens": 3.0, "reasoning_tokens": 1.0}}, got.ModelCalls[0])
	require.Equal(t, "completed", got.ModelCalls[1]["status"])
}
