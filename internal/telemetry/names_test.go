package telemetry

import (
	"testing"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/score"
)

// TestEveryMetricHasItsGauge takes each metric that a run can compute from the
// scorer to the exposition.
func TestEveryMetricHasItsGauge(t *testing.T) {
	scorer, err := score.NewScorer(score.Spec{
		TopK: 10, K: []int{1, 5}, PrimaryK: 5, Betas: []string{"0.5", "2"}, Unit: score.Chunk, Named: []string{"mrr@3", "f3@7"},
		Answer: true, Judge: true, Relevance: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{score.ErrorRate, score.LatencyP95, score.AnswerLatencyP95}
	for _, m := range scorer.Metrics() {
		names = append(names, m.Name)
	}
	for _, name := range names {
		status := v1alpha1.EvalSuiteStatus{LastRun: &v1alpha1.LastRun{Metrics: []v1alpha1.SuiteMetric{metric(name, "", "0.5", 2)}}}
		got := scrape(t, NewCollector(&suiteList{suites: []v1alpha1.EvalSuite{suite("rag", "docs-bot", status)}}, always))
		if len(got) != 2 { // Its gauge and assay_suite_info.
			t.Errorf("%s alone in a status gives %q", name, got)
		}
	}
}
