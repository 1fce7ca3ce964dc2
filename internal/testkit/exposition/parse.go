package exposition

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/prometheus/common/expfmt"
)

// Metrics are the series of one scrape.
type Metrics struct{ series []series }

type series struct {
	name   string
	labels map[string]string
	value  float64 // of a histogram: how many were observed
	sum    float64 // of a histogram
}

// Parse reads the text format.
func Parse(r io.Reader) (Metrics, error) {
	var p expfmt.TextParser
	families, err := p.TextToMetricFamilies(r)
	if err != nil {
		return Metrics{}, fmt.Errorf("read metrics: %w", err)
	}
	var out Metrics
	for name, f := range families {
		for _, m := range f.GetMetric() {
			s := series{name: name, labels: map[string]string{}}
			for _, l := range m.GetLabel() {
				s.labels[l.GetName()] = l.GetValue()
			}
			switch {
			case m.GetCounter() != nil:
				s.value = m.GetCounter().GetValue()
			case m.GetGauge() != nil:
				s.value = m.GetGauge().GetValue()
			case m.GetHistogram() != nil:
				s.value, s.sum = float64(m.GetHistogram().GetSampleCount()), m.GetHistogram().GetSampleSum()
			}
			out.series = append(out.series, s)
		}
	}
	return out, nil
}

// Names lists the metrics there are.
func (m Metrics) Names() []string {
	names := map[string]bool{}
	for _, s := range m.series {
		names[s.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Value adds up the series of a metric that have these labels, given as name, value,
// name, value. Of a histogram it is how many were observed.
func (m Metrics) Value(name string, labels ...string) float64 {
	return m.add(name, labels, func(s series) float64 { return s.value })
}

// Sum is Value for what a histogram's observations add up to.
func (m Metrics) Sum(name string, labels ...string) float64 {
	return m.add(name, labels, func(s series) float64 { return s.sum })
}

func (m Metrics) add(name string, labels []string, what func(series) float64) float64 {
	total := 0.0
	for _, s := range m.series {
		if s.name == name && s.has(labels) {
			total += what(s)
		}
	}
	return total
}

func (s series) has(labels []string) bool {
	for pair := range slices.Chunk(labels, 2) {
		if s.labels[pair[0]] != pair[1] {
			return false
		}
	}
	return true
}

// Values lists the values of a label that a metric has.
func (m Metrics) Values(name, label string) []string {
	values := map[string]bool{}
	for _, s := range m.series {
		if v, ok := s.labels[label]; ok && s.name == name {
			values[v] = true
		}
	}
	return slices.Sorted(maps.Keys(values))
}
