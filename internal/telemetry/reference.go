package telemetry

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Series describes all series of one name, as the metrics reference lists it.
type Series struct {
	Name   string
	Type   string // counter, gauge or histogram
	Help   string
	Labels []string
}

// Reference describes every series that Assay exports, the suites' first and
// otherwise in the order in which the code has them. It is made from what is
// registered, so that it cannot differ from what is scraped.
func Reference() ([]Series, error) {
	var all []Series
	for _, desc := range suiteGauges {
		s, err := describe(desc, "gauge")
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	var process recorder
	NewMetrics(&process)
	for _, c := range process {
		kind, err := typeOf(c)
		if err != nil {
			return nil, err
		}
		descs := make(chan *prometheus.Desc, 1)
		c.Describe(descs)
		s, err := describe(<-descs, kind)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// recorder is a [prometheus.Registerer] that keeps what it is given, in order.
type recorder []prometheus.Collector

// Register implements [prometheus.Registerer].
func (r *recorder) Register(c prometheus.Collector) error {
	*r = append(*r, c)
	return nil
}

// MustRegister implements [prometheus.Registerer].
func (r *recorder) MustRegister(all ...prometheus.Collector) {
	*r = append(*r, all...)
}

// Unregister implements [prometheus.Registerer].
func (r *recorder) Unregister(c prometheus.Collector) bool {
	i := slices.Index(*r, c)
	if i < 0 {
		return false
	}
	*r = slices.Delete(*r, i, i+1)
	return true
}

// typeOf gives the type that the exposition has for what a collector of one name
// exports. A gauge also has all methods of a counter, and so comes first.
func typeOf(c prometheus.Collector) (string, error) {
	switch c.(type) {
	case prometheus.Gauge, *prometheus.GaugeVec:
		return "gauge", nil
	case prometheus.Counter, *prometheus.CounterVec:
		return "counter", nil
	case prometheus.Histogram, *prometheus.HistogramVec:
		return "histogram", nil
	}
	return "", fmt.Errorf("a %T has no type in the metrics reference", c)
}

// described is how the library prints a Desc, which has no other way to tell.
var described = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"),.* variableLabels: \{(.*)\}\}$`)

// describe takes a description apart.
func describe(desc *prometheus.Desc, kind string) (Series, error) {
	m := described.FindStringSubmatch(desc.String())
	if m == nil {
		return Series{}, fmt.Errorf("the description %s is not as client_golang used to write it", desc)
	}
	name, err := strconv.Unquote(m[1])
	if err != nil {
		return Series{}, fmt.Errorf("read the name in %s: %w", desc, err)
	}
	help, err := strconv.Unquote(m[2])
	if err != nil {
		return Series{}, fmt.Errorf("read the help text in %s: %w", desc, err)
	}
	s := Series{Name: name, Type: kind, Help: help}
	if m[3] != "" {
		s.Labels = strings.Split(m[3], ",")
	}
	return s, nil
}
