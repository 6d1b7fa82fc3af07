package telemetry

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// emitter sends the gauges of one suite after the other. Whatever a status
// holds, what it sends is a valid scrape: no series twice, no broken UTF-8 in a
// label. Either would fail the scrape for every suite.
type emitter struct {
	ch               chan<- prometheus.Metric
	suites           map[[2]string]bool
	namespace, suite string
	series           map[series]bool // of this suite
}

// series is a gauge and the labels that follow namespace and suite.
type series struct {
	gauge  *prometheus.Desc
	labels [3]string
}

func newEmitter(ch chan<- prometheus.Metric) *emitter {
	return &emitter{ch: ch, suites: map[[2]string]bool{}, series: map[series]bool{}}
}

// begin turns to a suite; false means that its gauges were sent already.
func (e *emitter) begin(namespace, suite string) bool {
	e.namespace, e.suite = toLabel(namespace), toLabel(suite)
	key := [2]string{e.namespace, e.suite}
	if e.suites[key] {
		return false
	}
	e.suites[key] = true
	clear(e.series)
	return true
}

// send sends a gauge of the suite; of equal series the first one counts.
func (e *emitter) send(gauge *prometheus.Desc, value float64, labels ...string) {
	values := make([]string, 0, 2+len(labels))
	values = append(values, e.namespace, e.suite)
	s := series{gauge: gauge}
	for i, label := range labels {
		s.labels[i] = toLabel(label)
		values = append(values, s.labels[i])
	}
	if e.series[s] {
		return
	}
	e.series[s] = true
	e.ch <- prometheus.MustNewConstMetric(gauge, prometheus.GaugeValue, value, values...)
}

// sendDecimal sends a gauge whose value is a decimal string, if it is one.
func (e *emitter) sendDecimal(gauge *prometheus.Desc, value string, labels ...string) {
	if v, ok := parseDecimal(value); ok {
		e.send(gauge, v, labels...)
	}
}

// toLabel makes s fit for a label's value.
func toLabel(s string) string {
	return strings.ToValidUTF8(s, "\uFFFD")
}

// parseDecimal reads a decimal string, which is a finite number. Go's other
// spellings of a float, such as NaN, Inf, 0x1p-2 and 1_0, are not decimals.
func parseDecimal(s string) (float64, bool) {
	if strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}
