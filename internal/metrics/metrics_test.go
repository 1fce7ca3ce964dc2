package metrics_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/metrics"
	"picobot/internal/testkit/exposition"
)

func scrape(t *testing.T, m *metrics.Metrics) exposition.Metrics {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	got, err := exposition.Parse(w.Body)
	require.NoError(t, err)
	return got
}

func TestNew_Twice_SharesNothing(t *testing.T) {
	one, other := metrics.New(metrics.Options{Version: "v1"}), metrics.New(metrics.Options{Version: "v2"})
	one.Write(time.Millisecond, 2, nil)
	require.EqualValues(t, 1, scrape(t, one).Value("picobot_build_info", "version", "v1"))
	require.EqualValues(t, 0, scrape(t, other).Value("picobot_record_write_seconds"))
}

func TestScrape_NothingHasHappened_TurnsOfTheTerminalAreZero(t *testing.T) {
	got := scrape(t, metrics.New(metrics.Options{}))
	require.Equal(t, []string{"cancelled", "completed", "failed"}, got.Values("picobot_turns_total", "status"))
	require.EqualValues(t, 0, got.Value("picobot_turns_total"))
}

// hungUp is a connection whose other end is gone.
type hungUp struct{ *httptest.ResponseRecorder }

func (hungUp) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestScrape_ScraperHangsUp_IsNotLogged(t *testing.T) {
	var log bytes.Buffer
	m := metrics.New(metrics.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	m.ServeHTTP(hungUp{httptest.NewRecorder()}, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Empty(t, log.String())
}

func TestWrite_CountsRetriesAndFailures(t *testing.T) {
	m := metrics.New(metrics.Options{})
	m.Write(time.Millisecond, 0, nil)
	m.Write(time.Second, 3, errors.New("disk is full"))
	got := scrape(t, m)
	require.EqualValues(t, 2, got.Value("picobot_record_write_seconds"))
	require.InDelta(t, 1.001, got.Sum("picobot_record_write_seconds"), 1e-9)
	require.EqualValues(t, 3, got.Value("picobot_record_write_retries_total"))
	require.EqualValues(t, 1, got.Value("picobot_record_write_failures_total"))
}

// A record that lived through many configurations has many names.
func TestLabels_TooManyValues_GoByOther(t *testing.T) {
	m := metrics.New(metrics.Options{})
	for i := range 1000 {
		name := fmt.Sprint("m", i)
		m.ModelCall(name, name, name, time.Second, chat.Usage{PromptTokens: 1})
		m.ToolCall(name, chat.ToolCompleted, time.Second)
		m.Turn(name, chat.TurnCompleted, true, 0, 0)
	}
	got := scrape(t, m)
	for name, label := range map[string]string{"picobot_model_calls_total": "model", "picobot_tokens_total": "model", "picobot_tool_calls_total": "tool", "picobot_turns_total": "channel"} {
		values := got.Values(name, label)
		require.Less(t, len(values), 70, name)
		require.Contains(t, values, metrics.Other)
	}
	require.EqualValues(t, 1000, got.Value("picobot_model_calls_total"), "none is lost")
}

func TestLabels_OddValues_AreValidText(t *testing.T) {
	m := metrics.New(metrics.Options{})
	odd := "a\"b\\c\nd 世界\xff"
	m.ModelCall(odd, odd, odd, time.Second, chat.Usage{PromptTokens: -5})
	got := scrape(t, m)
	require.EqualValues(t, 1, got.Value("picobot_model_calls_total"))
	require.EqualValues(t, 0, got.Value("picobot_tokens_total"), "a counter never goes back")
	require.True(t, slices.Contains(got.Names(), "go_goroutines"))
}

// What telling one turn of one tool takes, at a scrape and not in the turn.
func BenchmarkCount_OneToolTurn(b *testing.B) {
	m := metrics.New(metrics.Options{})
	u := chat.Usage{PromptTokens: 100, CompletionTokens: 10}
	b.ReportAllocs()
	for b.Loop() {
		m.ModelCall("m", "p", "", time.Second, u)
		m.ToolCall("calculator", chat.ToolCompleted, time.Millisecond)
		m.ModelCall("m", "p", "", time.Second, u)
		m.Turn("cli", chat.TurnCompleted, true, 0, time.Second)
	}
}

// What a write to the record pays for being measured.
func BenchmarkWrite(b *testing.B) {
	m := metrics.New(metrics.Options{})
	b.ReportAllocs()
	for b.Loop() {
		m.Write(time.Millisecond, 0, nil)
	}
}
