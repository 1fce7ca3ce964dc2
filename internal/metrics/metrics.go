package metrics

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"picobot/internal/chat"
)

// Options configure Metrics.
type Options struct {
	Version string // of PicoBot, a label of picobot_build_info
	Logger  *slog.Logger
}

// Metrics are PicoBot's metrics. Make them with New. Safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	handler  http.Handler
	labels   map[string]*bounded // by the name of the label

	turns         *prometheus.CounterVec
	turnWait      prometheus.Histogram
	turnDuration  prometheus.Histogram
	modelCalls    *prometheus.CounterVec
	modelDuration *prometheus.HistogramVec
	tokens        *prometheus.CounterVec
	toolCalls     *prometheus.CounterVec
	toolDuration  *prometheus.HistogramVec
	write         prometheus.Histogram
	writeRetries  prometheus.Counter
	writeFailures prometheus.Counter
	up            *prometheus.GaugeVec
	state         state
}

// Buckets in seconds: a turn may wait for a model, a tool for a build, a write for a
// disk.
var (
	turnBuckets  = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600}
	modelBuckets = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 40, 80, 160, 300, 600}
	toolBuckets  = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800}
	writeBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
)

// New returns the metrics of a gateway: what is in the record, and its own process's.
func New(o Options) *Metrics {
	m := NewProcess(o)
	for _, name := range []string{"channel", "model", "provider", "outcome", "tool"} {
		m.labels[name] = newBounded(maxValues)
	}
	m.turns = m.counters("picobot_turns_total", "Turns that have ended.", "status", "channel")
	m.turnWait = m.histogram("picobot_turn_wait_seconds", "From the acceptance of a message to the beginning of its turn.", turnBuckets)
	m.turnDuration = m.histogram("picobot_turn_duration_seconds", "From the beginning of a turn to its end.", turnBuckets)
	m.modelCalls = m.counters("picobot_model_calls_total", "Model calls; the outcome is completed or the kind of failure.", "model", "provider", "outcome")
	m.modelDuration = m.histograms("picobot_model_call_duration_seconds", "Duration of model calls, failed ones included.", modelBuckets, "model")
	m.tokens = m.counters("picobot_tokens_total", "Tokens that providers reported. Cached ones are a part of the prompt's, reasoning ones of the completion's.", "model", "kind")
	m.toolCalls = m.counters("picobot_tool_calls_total", "Tool calls that have ended.", "tool", "status")
	m.toolDuration = m.histograms("picobot_tool_call_duration_seconds", "Duration of tool calls.", toolBuckets, "tool")
	m.state = newState(m)
	for _, status := range []chat.TurnStatus{chat.TurnCompleted, chat.TurnFailed, chat.TurnCancelled} {
		m.turns.WithLabelValues(string(status), chat.ChannelCLI) // a rate needs a zero to begin at
	}
	return m
}

// NewProcess returns metrics of this process only, for one beside a gateway: what is in
// the record the gateway tells of all of them, and told twice it would be added up. Of its
// methods only Write, Up, Registerer and ServeHTTP may be called.
func NewProcess(o Options) *Metrics {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{registry: prometheus.NewRegistry(), labels: map[string]*bounded{}}
	m.write = m.histogram("picobot_record_write_seconds", "Duration of writes to the record by this process, retries included.", writeBuckets)
	m.writeRetries = m.counter("picobot_record_write_retries_total", "Writes to the record that were tried again.")
	m.writeFailures = m.counter("picobot_record_write_failures_total", "Writes to the record that were given up.")
	m.up = m.gauge("picobot_up", "Whether a part is as it should be: store, temporal, worker, and for a worker beside it the gateway.", "part")
	m.gauge("picobot_build_info", "Always 1; the version is its label.", "version").WithLabelValues(o.Version).Set(1)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError,
	})
	return m
}

// Registerer takes metrics of other parts of this process.
func (m *Metrics) Registerer() prometheus.Registerer { return m.registry }

// ServeHTTP answers with all metrics in Prometheus's text format.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(deaf{w}, r) }

// Turn counts a turn that has ended. One that never began has only waited.
func (m *Metrics) Turn(channel string, status chat.TurnStatus, began bool, waited, took time.Duration) {
	m.turns.WithLabelValues(string(status), m.label("channel", channel)).Inc()
	m.turnWait.Observe(waited.Seconds())
	if began {
		m.turnDuration.Observe(took.Seconds())
	}
}

// ModelCall counts a model call. failure is the kind of its failure, "" = none.
func (m *Metrics) ModelCall(model, provider, failure string, took time.Duration, u chat.Usage) {
	if failure == "" {
		failure = "completed"
	}
	model = m.label("model", model)
	m.modelCalls.WithLabelValues(model, m.label("provider", provider), m.label("outcome", failure)).Inc()
	m.modelDuration.WithLabelValues(model).Observe(took.Seconds())
	for kind, n := range map[string]int64{"prompt": u.PromptTokens, "completion": u.CompletionTokens, "cached": u.CachedTokens, "reasoning": u.ReasoningTokens} {
		m.tokens.WithLabelValues(model, kind).Add(float64(max(0, n)))
	}
}

// ToolCall counts a tool call that has ended. Names that a model made up must not get
// here: they go by Other.
func (m *Metrics) ToolCall(tool string, status chat.ToolStatus, took time.Duration) {
	tool = m.label("tool", tool)
	m.toolCalls.WithLabelValues(tool, string(status)).Inc()
	m.toolDuration.WithLabelValues(tool).Observe(took.Seconds())
}

// Up shows which parts are as they should be.
func (m *Metrics) Up(parts map[string]bool) {
	for part, ok := range parts {
		v := 0.0
		if ok {
			v = 1
		}
		m.up.WithLabelValues(part).Set(v)
	}
}

// Write counts a write to the record.
func (m *Metrics) Write(took time.Duration, retries int, err error) {
	m.write.Observe(took.Seconds())
	m.writeRetries.Add(float64(retries))
	if err != nil {
		m.writeFailures.Inc()
	}
}
