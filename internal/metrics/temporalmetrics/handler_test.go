package temporalmetrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"picobot/internal/metrics"
	"picobot/internal/metrics/temporalmetrics"
	"picobot/internal/testkit/exposition"
)

func newHandler(t testing.TB) (client.MetricsHandler, func() exposition.Metrics) {
	t.Helper()
	m := metrics.New(metrics.Options{})
	h, err := temporalmetrics.New(m.Registerer())
	require.NoError(t, err)
	return h, func() exposition.Metrics {
		t.Helper()
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		require.Equal(t, http.StatusOK, w.Code)
		got, err := exposition.Parse(w.Body)
		require.NoError(t, err)
		return got
	}
}

func TestHandler_MetricsOfTheSDK_AreInTheRegistry(t *testing.T) {
	h, scrape := newHandler(t)
	q := h.WithTags(map[string]string{"namespace": "default", "client_name": "go", "task_queue": "q"})
	q.WithTags(map[string]string{"operation": "StartWorkflowExecution"}).Counter("temporal_request").Inc(2)
	q.WithTags(map[string]string{"operation": "StartWorkflowExecution"}).Counter("temporal_request").Inc(1)
	q.Gauge("temporal_worker_task_slots_available").Update(7)
	q.Timer("temporal_request_latency").Record(1500 * time.Millisecond)
	got := scrape()
	require.EqualValues(t, 3, got.Value("temporal_request_total", "operation", "StartWorkflowExecution", "task_queue", "q"))
	require.EqualValues(t, 7, got.Value("temporal_worker_task_slots_available", "task_queue", "q"))
	require.EqualValues(t, 1, got.Value("temporal_request_latency_seconds"))
	require.EqualValues(t, 1.5, got.Sum("temporal_request_latency_seconds"))
	require.Empty(t, got.Values("temporal_request_total", "namespace"), "it is the same everywhere")
}

func TestHandler_OneNameWithDifferentTags_IsValid(t *testing.T) {
	h, scrape := newHandler(t)
	h.Counter("a.b-c").Inc(1)
	h.WithTags(map[string]string{"x": "1"}).Counter("a.b-c").Inc(1)
	h.WithTags(map[string]string{"y-z": "odd\n\"value\xff"}).Counter("a.b-c").Inc(1)
	h.WithTags(map[string]string{"x": "1"}).WithTags(map[string]string{"x": "2"}).Counter("a.b-c").Inc(-1)
	got := scrape()
	require.EqualValues(t, 3, got.Value("a_b_c_total"))
	require.Equal(t, []string{"1", "2"}, got.Values("a_b_c_total", "x"))
}

func TestHandler_TagOfNothing_IsNoLabel(t *testing.T) {
	h, scrape := newHandler(t)
	h.WithTags(map[string]string{"x": "none", "y": "1"}).Counter("c_total").Inc(1)
	h.WithTags(map[string]string{"x": "1", "y": "1"}).WithTags(map[string]string{"x": "none"}).Counter("c_total").Inc(1)
	got := scrape()
	require.EqualValues(t, 2, got.Value("c_total", "y", "1"), "a name that ends in _total stays")
	require.Empty(t, got.Values("c_total", "x"))
}

func TestHandler_TooManySeries_AreNotKept(t *testing.T) {
	h, scrape := newHandler(t)
	for i := range 10_000 {
		tagged := h.WithTags(map[string]string{"n": fmt.Sprint(i)})
		tagged.Counter("c").Inc(1)
		tagged.Gauge("g").Update(1)
		tagged.Timer("t").Record(1)
	}
	got := scrape()
	require.LessOrEqual(t, len(got.Values("c_total", "n"))+len(got.Values("g", "n"))+len(got.Values("t_seconds", "n")), 4000)
	require.NotEmpty(t, got.Values("c_total", "n"))
}

func TestHandler_UsedByManyAtOnce_LosesNothing(t *testing.T) {
	h, scrape := newHandler(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 500 {
				h.WithTags(map[string]string{"n": fmt.Sprint(i % 3)}).Counter("c").Inc(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 4000, scrape().Value("c_total"))
}

// The SDK measures some fifty things in a turn.
func BenchmarkHandler_FiftyMeasurements(b *testing.B) {
	h, _ := newHandler(b)
	h = h.WithTags(map[string]string{"namespace": "default", "task_queue": "q", "worker_type": "ActivityWorker"})
	b.ReportAllocs()
	for b.Loop() {
		for range 50 {
			h.WithTags(map[string]string{"operation": "RespondActivityTaskCompleted"}).Timer("temporal_request_latency").Record(time.Millisecond)
		}
	}
}
