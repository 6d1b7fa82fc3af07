package telemetry

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/assay-dev/assay/internal/retriever"
)

// unknown is a duration that is not observed.
const unknown = -time.Second

func TestRunFinished(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg)
	m.RunFinished("rag", "docs-bot", "Schedule", "Passed", 72*time.Second, 2*time.Second)
	m.RunFinished("rag", "docs-bot", "Schedule", "Passed", 8*time.Second, 0)
	m.RunFinished("rag", "docs-bot", "Manual", "Failed", 10*time.Second, unknown)
	m.RunFinished("rag", "other", "Spec", "Inconclusive", unknown, unknown)
	m.RunFinished("other", "docs-bot", "Spec", "Error", unknown, unknown)

	compare(t, reg, `
# HELP assay_runs_total Runs that ended since the operator started, by what triggered them and their verdict.
# TYPE assay_runs_total counter
assay_runs_total{namespace="other",suite="docs-bot",trigger="Spec",verdict="Error"} 1
assay_runs_total{namespace="rag",suite="docs-bot",trigger="Manual",verdict="Failed"} 1
assay_runs_total{namespace="rag",suite="docs-bot",trigger="Schedule",verdict="Passed"} 2
assay_runs_total{namespace="rag",suite="other",trigger="Spec",verdict="Inconclusive"} 1
`, "assay_runs_total")
	holds(t, reg, "assay_run_duration_seconds_sum 90", "assay_run_duration_seconds_count 3",
		`assay_run_duration_seconds_bucket{le="10"} 2`, `assay_run_duration_seconds_bucket{le="120"} 3`,
		"assay_run_queue_seconds_sum 2", "assay_run_queue_seconds_count 2")

	m.ForgetSuite("rag", "docs-bot")
	compare(t, reg, `
# HELP assay_runs_total Runs that ended since the operator started, by what triggered them and their verdict.
# TYPE assay_runs_total counter
assay_runs_total{namespace="other",suite="docs-bot",trigger="Spec",verdict="Error"} 1
assay_runs_total{namespace="rag",suite="other",trigger="Spec",verdict="Inconclusive"} 1
`, "assay_runs_total")
}

func TestScheduleDelayed(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg)
	m.ScheduleDelayed(1500 * time.Millisecond)
	m.ScheduleDelayed(unknown)
	holds(t, reg, "assay_schedule_delay_seconds_sum 1.5", "assay_schedule_delay_seconds_count 1")
}

func TestObserveRequest(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg)
	m.ObserveRequest(StageRetrieval, OutcomeOK, .02)
	m.ObserveRequest(StageRetrieval, OutcomeOK, math.NaN())
	m.ObserveRequest(StageRetrieval, OutcomeOK, -1)
	m.ObserveRequest(StageRetrieval, "418 I'm a teapot", .5)
	m.ObserveRequest(StageRetrieval, "\xff", .25)
	known := []retriever.Outcome{
		retriever.Timeout, retriever.Unreachable, retriever.HTTPError, retriever.RateLimited,
		retriever.Malformed, retriever.TooLarge, retriever.Failed,
	}
	for _, outcome := range known {
		m.ObserveRequest(StageRetrieval, string(outcome), 3)
		holds(t, reg, `assay_request_duration_seconds_sum{outcome="`+string(outcome)+`",stage="retrieval"} 3`)
	}
	holds(t, reg,
		`assay_request_duration_seconds_sum{outcome="OK",stage="retrieval"} 0.02`,
		`assay_request_duration_seconds_count{outcome="OK",stage="retrieval"} 1`,
		`assay_request_duration_seconds_sum{outcome="Other",stage="retrieval"} 0.75`)
	// OK, Other and those of the retriever.
	if got, err := testutil.GatherAndCount(reg, "assay_request_duration_seconds"); err != nil || got != len(known)+2 {
		t.Errorf("%d series of requests, error %v; want %d", got, err, len(known)+2)
	}
}

func TestNativeHistograms(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg)
	m.RunFinished("rag", "docs-bot", "Manual", "Passed", time.Minute, time.Second)
	m.ScheduleDelayed(time.Second)
	m.ObserveRequest(StageRetrieval, OutcomeOK, .02)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	histograms := 0
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if h := metric.GetHistogram(); h != nil {
				histograms++
				if len(h.GetPositiveSpan()) == 0 || len(h.GetBucket()) == 0 {
					t.Errorf("%s has %d native spans and %d classic buckets", family.GetName(), len(h.GetPositiveSpan()), len(h.GetBucket()))
				}
			}
		}
	}
	if histograms != 4 {
		t.Errorf("%d histograms, want 4", histograms)
	}
}

func compare(t *testing.T, reg prometheus.Gatherer, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

// holds checks that every line stands in the exposition.
func holds(t *testing.T, reg prometheus.Gatherer, lines ...string) {
	t.Helper()
	text := "\n" + exposition(t, reg)
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %s in:\n%s", line, text)
		}
	}
}
