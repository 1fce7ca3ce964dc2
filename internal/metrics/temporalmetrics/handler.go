package temporalmetrics

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
)

// maxSeries bounds how many series there can be; a process has some hundred.
const maxSeries = 4000

// buckets of timers, in seconds.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// dropped are tags that say the same everywhere in a process.
var dropped = []string{"client_name", "namespace"}

// none is what the SDK says where a tag says nothing. No label says the same.
const none = "none"

// New returns a handler whose metrics are in the registry.
func New(r prometheus.Registerer) (client.MetricsHandler, error) {
	all := &series{made: map[key]prometheus.Metric{}}
	if err := r.Register(all); err != nil {
		return nil, err
	}
	return handler{series: all}, nil
}

// key names a series: its name as Prometheus knows it, and its tags.
type key struct{ name, tags string }

// series are all series that the SDK has made so far. As a collector it describes none
// of them beforehand: the SDK makes them up as it goes, and gives metrics of
// one name different tags.
type series struct {
	mu   sync.RWMutex
	made map[key]prometheus.Metric
}

// Describe implements prometheus.Collector.
func (s *series) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (s *series) Collect(out chan<- prometheus.Metric) {
	s.mu.RLock()
	now := slices.Collect(maps.Values(s.made))
	s.mu.RUnlock()
	for _, m := range now {
		out <- m
	}
}

// get returns a series, making it the first time. It is nil when there are too many.
func (s *series) get(h handler, name string, make func(name string, tags prometheus.Labels) prometheus.Metric) prometheus.Metric {
	k := key{clean(name), h.key}
	s.mu.RLock()
	m, ok := s.made[k]
	s.mu.RUnlock()
	if ok {
		return m
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.made[k]; ok {
		return m
	}
	if len(s.made) >= maxSeries {
		return nil
	}
	tags := prometheus.Labels{}
	for _, t := range h.tags {
		tags[t.name] = t.value
	}
	m = make(k.name, tags)
	s.made[k] = m
	return m
}

// handler makes metrics with the tags it has.
type handler struct {
	series *series
	tags   []tag // by name
	key    string
}

type tag struct{ name, value string }

// WithTags implements client.MetricsHandler. The SDK calls it before nearly every
// measurement, some fifty times in a turn, so it is written to be quick.
func (h handler) WithTags(tags map[string]string) client.MetricsHandler {
	all := append(make([]tag, 0, len(h.tags)+len(tags)), h.tags...)
	for name, value := range tags {
		if slices.Contains(dropped, name) {
			continue
		}
		t := tag{clean(name), strings.ToValidUTF8(value, "?")}
		at, found := slices.BinarySearchFunc(all, t, func(a, b tag) int { return strings.Compare(a.name, b.name) })
		switch {
		case value == none && found:
			all = slices.Delete(all, at, at+1)
		case value == none:
		case found:
			all[at] = t
		default:
			all = slices.Insert(all, at, t)
		}
	}
	size := 0
	for _, t := range all {
		size += len(t.name) + len(t.value) + 2
	}
	var key strings.Builder
	key.Grow(size)
	for _, t := range all {
		key.WriteString(t.name)
		key.WriteByte(0)
		key.WriteString(t.value)
		key.WriteByte(0)
	}
	return handler{series: h.series, tags: all, key: key.String()}
}

// Counter implements client.MetricsHandler.
func (h handler) Counter(name string) client.MetricsCounter {
	c, _ := h.series.get(h, strings.TrimSuffix(name, "_total")+"_total", func(name string, tags prometheus.Labels) prometheus.Metric {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: tags})
	}).(prometheus.Counter)
	return counter{c}
}

// Gauge implements client.MetricsHandler.
func (h handler) Gauge(name string) client.MetricsGauge {
	g, _ := h.series.get(h, name, func(name string, tags prometheus.Labels) prometheus.Metric {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: tags})
	}).(prometheus.Gauge)
	return gauge{g}
}

// Timer implements client.MetricsHandler.
func (h handler) Timer(name string) client.MetricsTimer {
	t, _ := h.series.get(h, name+"_seconds", func(name string, tags prometheus.Labels) prometheus.Metric {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, ConstLabels: tags, Buckets: buckets})
	}).(prometheus.Histogram)
	return timer{t}
}

const help = "A metric of Temporal's SDK."

type counter struct{ c prometheus.Counter }

// Inc implements client.MetricsCounter.
func (c counter) Inc(n int64) {
	if c.c != nil && n > 0 {
		c.c.Add(float64(n))
	}
}

type gauge struct{ g prometheus.Gauge }

// Update implements client.MetricsGauge.
func (g gauge) Update(v float64) {
	if g.g != nil {
		g.g.Set(v)
	}
}

type timer struct{ h prometheus.Histogram }

// Record implements client.MetricsTimer.
func (t timer) Record(d time.Duration) {
	if t.h != nil {
		t.h.Observe(d.Seconds())
	}
}

// clean makes a name one that Prometheus takes.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
