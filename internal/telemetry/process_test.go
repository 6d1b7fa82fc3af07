package telemetry

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/judge"
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
	known := map[string][]string{
		StageRetrieval: all(retriever.Timeout, retriever.Unreachable, retriever.HTTPError, retriever.RateLimited, retriever.Malformed, retriever.TooLarge, retriever.Failed),
		StageAnswer:    all(answer.Timeout, answer.Unreachable, answer.HTTPError, answer.RateLimited, answer.Malformed, answer.TooLarge, answer.Failed),
		StageJudge: all(judge.Timeout, judge.Unreachable, judge.HTTPError, judge.RateLimited, judge.Malformed, judge.Truncated, judge.Refused,
			judge.ContextTooLong, judge.QuotaExceeded, judge.Failed),
	}
	series := 2 // OK and Other
	for stage, outcomes := range known {
		for _, outcome := range outcomes {
			series++
			m.ObserveRequest(stage, outcome, 3)
			holds(t, reg, `assay_request_duration_seconds_sum{outcome="`+outcome+`",stage="`+stage+`"} 3`)
		}
	}
	holds(t, reg,
		`assay_request_duration_seconds_sum{outcome="OK",stage="retrieval"} 0.02`,
		`assay_request_duration_seconds_count{outcome="OK",stage="retrieval"} 1`,
		`assay_request_duration_seconds_sum{outcome="Other",stage="retrieval"} 0.75`)
	if got, err := testutil.GatherAndCount(reg, "assay_request_duration_seconds"); err != nil || got != series {
		t.Errorf("%d series of requests, error %v; want %d", got, err, series)
	}
}

// all gives outcomes as the label has them.
func all[O ~string](outcomes ...O) []string {
	texts := make([]string, len(outcomes))
	for i, o := range outcomes {
		texts[i] = string(o)
	}
	return texts
}

func TestJudged(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg)
	m.Judged("rag", "docs-bot", judge.Usage{Calls: 3, PromptTokens: 900, CompletionTokens: 60, CacheHits: 7})
	m.Judged("rag", "docs-bot", judge.Usage{PromptTokens: 100})
	m.Judged("rag", "other", judge.Usage{CacheHits: 1})
	m.Judged("rag", "no-judge", judge.Usage{})
	names := []string{"assay_judge_tokens_total", "assay_judge_requests_total"}
	const head = `
# HELP assay_judge_requests_total Requests for a verdict that went to the model (source model, retries included) and that were known from earlier runs (source cache).
# TYPE assay_judge_requests_total counter
%s# HELP assay_judge_tokens_total Tokens that the judge read (direction prompt) and wrote (direction completion), as its provider counted them.
# TYPE assay_judge_tokens_total counter
%s`
	const otherRequests = `assay_judge_requests_total{namespace="rag",source="cache",suite="other"} 1
assay_judge_requests_total{namespace="rag",source="model",suite="other"} 0
`
	const otherTokens = `assay_judge_tokens_total{direction="completion",namespace="rag",suite="other"} 0
assay_judge_tokens_total{direction="prompt",namespace="rag",suite="other"} 0
`
	compare(t, reg, fmt.Sprintf(head, `assay_judge_requests_total{namespace="rag",source="cache",suite="docs-bot"} 7
assay_judge_requests_total{namespace="rag",source="model",suite="docs-bot"} 3
`+otherRequests, `assay_judge_tokens_total{direction="completion",namespace="rag",suite="docs-bot"} 60
assay_judge_tokens_total{direction="prompt",namespace="rag",suite="docs-bot"} 1000
`+otherTokens), names...)
	m.ForgetSuite("rag", "docs-bot")
	m.ForgetSuite("other", "other")
	compare(t, reg, fmt.Sprintf(head, otherRequests, otherTokens), names...)
}

func TestHistory(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg)
	m.HistoryLost("rag", "docs-bot", 3)
	m.HistoryLost("rag", "docs-bot", 2)
	m.HistorySize(4096, 7, 210)
	holds(t, reg, `assay_history_lost_cases_total{namespace="rag",suite="docs-bot"} 5`,
		"assay_history_size_bytes 4096", "assay_history_runs 7", "assay_history_cases 210")
	m.ForgetSuite("rag", "docs-bot")
	if text := exposition(t, reg); strings.Contains(text, "assay_history_lost_cases_total{") {
		t.Errorf("a suite that is gone still has:\n%s", text)
	}
}

// A name of a suite that is not UTF-8 must not spoil the scrape.
func TestBrokenNames(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg)
	m.RunFinished("\xff", "\xfe", "\xfd", "\xfc", time.Second, time.Second)
	m.Judged("\xff", "\xfe", judge.Usage{Calls: 1})
	m.HistoryLost("\xff", "\xfe", 1)
	exposition(t, reg)
	m.ForgetSuite("\xff", "\xfe")
	if text := exposition(t, reg); strings.Contains(text, "\uFFFD") {
		t.Errorf("a suite that is gone still has:\n%s", text)
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
