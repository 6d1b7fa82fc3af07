package telemetry

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// fullStatus has as much as a status may hold: all cases and 16 tags, each with
// every metric at 8 cut-offs.
func fullStatus() v1alpha1.EvalSuiteStatus {
	status := docsBot()
	status.LastRun.Metrics = nil
	for tag := range 17 {
		name := ""
		if tag > 0 {
			name = fmt.Sprintf("tag-%02d", tag)
		}
		add := func(metricName string) {
			status.LastRun.Metrics = append(status.LastRun.Metrics, metric(metricName, name, "0.9167", 120))
		}
		for _, k := range []int{1, 2, 3, 5, 8, 10, 20, 50} {
			for _, family := range []string{"hit_rate", "precision", "recall", "f1", "ndcg", "map"} {
				add(fmt.Sprintf("%s@%d", family, k))
			}
		}
		for _, family := range []string{
			"mrr", "r_precision", "error_rate", "retrieval_latency_p95_seconds", "answer_latency_p95_seconds", "bleu",
			"accuracy", "hallucination_rate", "context_relevance", "abstention_accuracy", "abstention_rate",
		} {
			add(family)
		}
	}
	return status
}

// BenchmarkScrape gathers the gauges of suites with full status. 1,000 of them
// are close to a million series, far more than any of them should have.
func BenchmarkScrape(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("suites=%d", n), func(b *testing.B) {
			list := &suiteList{}
			for i := range n {
				list.suites = append(list.suites, suite("rag", fmt.Sprintf("suite-%04d", i), fullStatus()))
			}
			reg := prometheus.NewRegistry()
			reg.MustRegister(NewCollector(list, always))
			series := 0
			b.ReportAllocs()
			for b.Loop() {
				families, err := reg.Gather()
				if err != nil {
					b.Fatal(err)
				}
				series = 0
				for _, family := range families {
					series += len(family.GetMetric())
				}
			}
			b.ReportMetric(float64(series), "series")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(series), "ns/series")
		})
	}
}
