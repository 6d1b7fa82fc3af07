package telemetry

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/judge"
)

// suiteList is a Lister of what it holds.
type suiteList struct {
	suites       []v1alpha1.EvalSuite
	runs         []v1alpha1.EvalRun
	err, runsErr error
}

func (l *suiteList) Suites(ctx context.Context) ([]v1alpha1.EvalSuite, error) {
	if _, ok := ctx.Deadline(); !ok {
		return nil, errors.New("the scrape has no deadline")
	}
	return l.suites, l.err
}

func (l *suiteList) Runs(context.Context) ([]v1alpha1.EvalRun, error) { return l.runs, l.runsErr }

// everything lists a suite with everything in its status, and its runs.
func everything() *suiteList {
	return &suiteList{
		suites: []v1alpha1.EvalSuite{suite("rag", "docs-bot", docsBot())},
		runs:   []v1alpha1.EvalRun{ended("rag", "docs-bot", 100, v1alpha1.VerdictFailed, ""), ended("rag", "docs-bot", 200, v1alpha1.VerdictInconclusive, "CoverageTooLow")},
	}
}

func always() bool { return true }

// exposition is what g exports, in the text format. A gathering error fails the test.
func exposition(tb testing.TB, g prometheus.Gatherer) string {
	tb.Helper()
	families, err := g.Gather()
	if err != nil {
		tb.Fatalf("gathering: %v", err)
	}
	var b strings.Builder
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&b, family); err != nil {
			tb.Fatalf("writing %s: %v", family.GetName(), err)
		}
	}
	return b.String()
}

// scrape is what a collector over suites exports, without comments.
func scrape(tb testing.TB, c prometheus.Collector) []string {
	tb.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	var lines []string
	for line := range strings.Lines(exposition(tb, reg)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func suite(namespace, name string, status v1alpha1.EvalSuiteStatus) v1alpha1.EvalSuite {
	return v1alpha1.EvalSuite{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: status}
}

func at(second int64) *metav1.Time {
	t := metav1.Unix(second, 0)
	return &t
}

func condition(conditionType string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status}
}

func metric(name, tag, value string, count int32) v1alpha1.SuiteMetric {
	return v1alpha1.SuiteMetric{Name: name, Tag: new(tag), Value: value, Count: new(count)}
}

// moved is a metric with its differences from the baseline and the reference.
func moved(name, tag, value, delta, reference string) v1alpha1.SuiteMetric {
	m := metric(name, tag, value, 12)
	m.Delta, m.ReferenceDelta = delta, reference
	return m
}

func objective(metric, tag, bound string, outcome v1alpha1.ObjectiveOutcome) v1alpha1.ObjectiveResult {
	return v1alpha1.ObjectiveResult{Metric: metric, Tag: tag, Bound: bound, Outcome: outcome}
}

// sorted puts a label where the exposition has it.
func sorted(labels, more string) string {
	all := append(strings.Split(labels, ","), more)
	slices.Sort(all)
	return strings.Join(all, ",")
}

// docsBot is a status with everything in it.
func docsBot() v1alpha1.EvalSuiteStatus {
	return v1alpha1.EvalSuiteStatus{
		HitRate:          "0.9167",
		GoldenSet:        &v1alpha1.GoldenSetStatus{Digest: "sha256:new", Cases: new(int32(13)), Tags: new(int32(1))},
		Judge:            &v1alpha1.JudgeStatus{KappaCorrect: "0.8123", KappaGrounded: "-0.0500"},
		Results:          []v1alpha1.Result{{Run: "another", Reason: "ObjectivesMet"}, {Run: "docs-bot-0123456789", Reason: "LabelsStale"}},
		LastPassTime:     at(1_800_000_060),
		NextScheduleTime: "2027-01-15T20:00:00+09:00",
		Conditions: []metav1.Condition{
			condition(v1alpha1.ConditionReady, metav1.ConditionFalse),
			condition(v1alpha1.ConditionPassing, metav1.ConditionTrue),
			condition(v1alpha1.ConditionJudgeTrusted, metav1.ConditionFalse),
		},
		CountedSchedule: &v1alpha1.CountedSchedule{Schedule: "0 */6 * * *", TimeZone: "Asia/Seoul"},
		LastRun: &v1alpha1.LastRun{
			Name:            "docs-bot-0123456789",
			Revision:        "6d4cf56db6",
			GoldenSetDigest: "sha256:old",
			CompletionTime:  ptr.To(metav1.NewMicroTime(at(1_800_000_120).Time)),
			Coverage:        &v1alpha1.Coverage{Retrieval: "0.9167", Answer: "1.0000", Judge: "0.9231"},
			Metrics: []v1alpha1.SuiteMetric{
				metric("hit_rate@1", "", "0.8333", 12),
				moved("hit_rate@5", "", "0.9167", "-0.0833", "-0.1250"),
				moved("hit_rate@5", "howto", "0.7500", "0.0000", ""),
				metric("precision@5", "", "0.2167", 12),
				metric("recall@5", "", "1.0000", 12),
				metric("f1@5", "", "0.3530", 12),
				metric("f0.5@5", "", "0.2560", 12),
				metric("f2@5", "", "0.5770", 12),
				metric("ndcg@5", "", "0.9010", 12),
				metric("map@5", "", "0.8810", 12),
				metric("mrr", "", "0.7330", 12),
				metric("mrr", "howto", "0.5000", 4),
				metric("mrr@3", "", "0.7000", 12),
				metric("r_precision", "", "0.6250", 12),
				metric("error_rate", "", "0.0769", 13),
				metric("error_rate", "howto", "0.2000", 5),
				metric("retrieval_latency_p95_seconds", "", "0.0412", 13),
				metric("answer_latency_p95_seconds", "", "1.2500", 13),
				metric("bleu", "", "0.3955", 12),
				metric("accuracy", "", "0.8000", 10),
				metric("accuracy", "howto", "0.5000", 4),
				metric("hallucination_rate", "", "0.0333", 13),
				metric("context_relevance", "", "3.7500", 13),
				metric("abstention_accuracy", "", "1.0000", 1),
				metric("abstention_rate", "", "0.0833", 12),
			},
			Objectives: []v1alpha1.ObjectiveResult{
				objective("hit_rate@5", "", "min 0.90", v1alpha1.ObjectiveMet),
				objective("hit_rate@5", "howto", "min 0.85", v1alpha1.ObjectiveMissed),
			},
		},
	}
}

var update = flag.Bool("update", false, "write the golden file of testdata")

func TestExposition(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(NewCollector(everything(), always))
	got := exposition(t, reg)
	if *update {
		if err := os.WriteFile("testdata/suite.prom", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/suite.prom")
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("exposition (-want +got):\n%s", diff)
	}

	descs := make(chan *prometheus.Desc, len(suiteGauges))
	NewCollector(nil, nil).Describe(descs)
	close(descs)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(families), len(descs); got != want {
		t.Errorf("a status with everything in it gives %d families of the %d that are described", got, want)
	}
}

// knownProblems are what promlint says of names that the design settles: it
// takes every _count for a part of a histogram.
var knownProblems = []promlint.Problem{{
	Metric: "assay_case_count",
	Text:   `non-histogram and non-summary metrics should not have "_count" suffix`,
}}

func TestLint(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(NewCollector(everything(), always))
	m := NewMetrics(reg)
	m.RunFinished("rag", "docs-bot", "Schedule", "Passed", time.Second, time.Second)
	m.ObserveRequest(StageRetrieval, OutcomeOK, 1)
	m.Judged("rag", "docs-bot", judge.Usage{Calls: 1})
	m.HistoryLost("rag", "docs-bot", 1)
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(knownProblems, problems); diff != "" {
		t.Errorf("promlint (-want +got):\n%s", diff)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if help := family.GetHelp(); !strings.HasSuffix(help, ".") || strings.ToUpper(help[:1]) != help[:1] {
			t.Errorf("%s: the help is no sentence: %q", family.GetName(), help)
		}
	}
}

func TestCollector(t *testing.T) {
	const labels = `namespace="rag",suite="docs-bot"`
	info := `assay_suite_info{golden_set_digest="",` + strings.Replace(labels, ",", `,revision="",`, 1) + `} 1`
	run := func(metrics ...v1alpha1.SuiteMetric) v1alpha1.EvalSuiteStatus {
		return v1alpha1.EvalSuiteStatus{LastRun: &v1alpha1.LastRun{Metrics: metrics}}
	}
	objectives := func(results ...v1alpha1.ObjectiveResult) v1alpha1.EvalSuiteStatus {
		return v1alpha1.EvalSuiteStatus{LastRun: &v1alpha1.LastRun{Objectives: results}}
	}
	passing := func(status metav1.ConditionStatus) v1alpha1.EvalSuiteStatus {
		return v1alpha1.EvalSuiteStatus{Conditions: []metav1.Condition{condition(v1alpha1.ConditionPassing, status)}}
	}
	const met, missed, open = v1alpha1.ObjectiveMet, v1alpha1.ObjectiveMissed, v1alpha1.ObjectiveInconclusive

	for name, test := range map[string]struct {
		status v1alpha1.EvalSuiteStatus
		want   []string // beside info
		info   string   // if it is another
	}{
		"a suite that was never run": {},
		"passing":                    {status: passing(metav1.ConditionTrue), want: []string{`assay_suite_passing{` + labels + `} 1`}},
		"failing":                    {status: passing(metav1.ConditionFalse), want: []string{`assay_suite_passing{` + labels + `} 0`}},
		"not known to pass or fail":  {status: passing(metav1.ConditionUnknown)},
		"a judge that is trusted": {
			status: v1alpha1.EvalSuiteStatus{Conditions: []metav1.Condition{condition(v1alpha1.ConditionJudgeTrusted, metav1.ConditionTrue)}},
			want:   []string{`assay_judge_trusted{` + labels + `} 1`},
		},
		"a judge that is not": {
			status: v1alpha1.EvalSuiteStatus{Conditions: []metav1.Condition{condition(v1alpha1.ConditionJudgeTrusted, metav1.ConditionFalse)}},
			want:   []string{`assay_judge_trusted{` + labels + `} 0`},
		},
		"a judge that nobody has tried": {
			status: v1alpha1.EvalSuiteStatus{Conditions: []metav1.Condition{condition(v1alpha1.ConditionJudgeTrusted, metav1.ConditionUnknown)}},
		},
		"ready is not passing": {status: v1alpha1.EvalSuiteStatus{
			Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionTrue)},
		}},
		"a golden set that was read but not asked": {
			status: v1alpha1.EvalSuiteStatus{GoldenSet: &v1alpha1.GoldenSetStatus{Digest: "sha256:new", Cases: new(int32(0))}},
			info:   `assay_suite_info{golden_set_digest="sha256:new",namespace="rag",revision="",suite="docs-bot"} 1`,
			want:   []string{`assay_case_count{` + labels + `,tag=""} 0`},
		},
		"a golden set without a number": {status: v1alpha1.EvalSuiteStatus{GoldenSet: &v1alpha1.GoldenSetStatus{}}},
		"times that are not set": {status: v1alpha1.EvalSuiteStatus{
			LastPassTime: &metav1.Time{}, NextScheduleTime: "tomorrow", LastRun: &v1alpha1.LastRun{Coverage: &v1alpha1.Coverage{}},
		}},
		"values that are no decimal": {status: run(
			metric("mrr", "a", "", 1), metric("mrr", "b", "NaN", 1), metric("mrr", "c", "Inf", 1), metric("mrr", "d", "1e999", 1),
			metric("mrr", "e", "0x1p-2", 1), metric("mrr", "f", "1_0", 1), metric("mrr", "g", " 1", 1), metric("mrr", "h", "0,5", 1),
			metric("error_rate", "i", "many", 7),
		)},
		"metrics that nobody knows": {status: run(
			metric("hit_rate", "", "0.5", 1), metric("f2", "", "0.5", 1), metric("error_rate@5", "", "0.5", 1),
			metric("r_precision@5", "", "0.5", 1), metric("f_beta@5", "", "0.5", 1), metric("f0.50@5", "", "0.5", 1),
			metric("rouge", "", "0.5", 1), metric("accuracy@5", "", "0.5", 1), metric("", "", "0.5", 1),
		)},
		"a metric of the judge": {
			status: run(metric("hallucination_rate", "", "0.0333", 13), metric("hallucination_rate", "x", "0", 4)),
			want:   []string{`assay_hallucination_rate{` + labels + `,tag=""} 0.0333`, `assay_hallucination_rate{` + labels + `,tag="x"} 0`},
		},
		"differences from baseline and reference": {
			status: run(moved("mrr", "", "0.5", "-0.25", ""), moved("mrr", "x", "0.5", "", "0.0000"), moved("accuracy", "", "0.5", "NaN", "much")),
			want: []string{
				`assay_mrr{k="",` + labels + `,tag=""} 0.5`, `assay_mrr{k="",` + labels + `,tag="x"} 0.5`, `assay_accuracy{` + labels + `,tag=""} 0.5`,
				`assay_baseline_delta{against="baseline",metric="mrr",` + labels + `,tag=""} -0.25`, `assay_baseline_delta{against="reference",metric="mrr",` + labels + `,tag="x"} 0`,
			},
		},
		"an agreement that is known of one question": {
			status: v1alpha1.EvalSuiteStatus{Judge: &v1alpha1.JudgeStatus{KappaGrounded: "0.6100", KappaCorrect: ""}},
			want:   []string{`assay_judge_kappa{` + sorted(labels, `question="grounded"`) + `} 0.61`},
		},
		"an agreement that is not known": {status: v1alpha1.EvalSuiteStatus{Judge: &v1alpha1.JudgeStatus{Labels: new(int32(3)), Trust: "Unknown"}}},
		"a stage that was not due": {
			status: v1alpha1.EvalSuiteStatus{LastRun: &v1alpha1.LastRun{Coverage: &v1alpha1.Coverage{Answer: "0.5000"}}},
			want:   []string{`assay_coverage{namespace="rag",stage="answer",suite="docs-bot"} 0.5`},
		},
		"labels that fit": {
			status: v1alpha1.EvalSuiteStatus{LastRun: &v1alpha1.LastRun{Name: "a"}, Results: []v1alpha1.Result{{Run: "b", Reason: "LabelsStale"}, {Run: "a", Reason: "ObjectivesMissed"}}},
			want:   []string{`assay_labels_stale{` + labels + `,tag=""} 0`},
		},
		"labels that do not": {
			status: v1alpha1.EvalSuiteStatus{LastRun: &v1alpha1.LastRun{Name: "a"}, Results: []v1alpha1.Result{{Run: "a", Reason: "LabelsStale"}}},
			want:   []string{`assay_labels_stale{` + labels + `,tag=""} 1`},
		},
		"labels of a run whose result is gone": {
			status: v1alpha1.EvalSuiteStatus{LastRun: &v1alpha1.LastRun{Name: "a"}, Results: []v1alpha1.Result{{Run: "b", Reason: "LabelsStale"}}},
		},
		"labels without a scored run": {status: v1alpha1.EvalSuiteStatus{Results: []v1alpha1.Result{{Reason: "LabelsStale"}}}},
		"a metric twice: the first counts": {
			status: run(metric("mrr", "", "0.5", 1), metric("mrr", "", "0.6", 1), metric("mrr", "x", "0.7", 1), v1alpha1.SuiteMetric{Name: "mrr", Value: "0.8"}),
			want:   []string{`assay_mrr{k="",` + labels + `,tag=""} 0.5`, `assay_mrr{k="",` + labels + `,tag="x"} 0.7`},
		},
		"tags that differ in broken bytes alone": {
			status: run(metric("mrr", "a\xff", "0.5", 1), metric("mrr", "a\xfe", "0.6", 1)),
			want:   []string{`assay_mrr{k="",` + labels + ",tag=\"a\uFFFD\"} 0.5"},
		},
		"no tag is all cases": {
			status: run(v1alpha1.SuiteMetric{Name: "hit_rate@5", Value: "0"}),
			want:   []string{`assay_hit_rate{k="5",` + labels + `,tag=""} 0`},
		},
		"all cases are counted by the golden set": {
			status: run(metric("error_rate", "", "0", 12), metric("error_rate", "howto", "0", 4), v1alpha1.SuiteMetric{Name: "error_rate", Tag: new("x"), Value: "0"}),
			want: []string{
				`assay_case_count{` + labels + `,tag="howto"} 4`,
				`assay_error_rate{` + labels + `,tag=""} 0`, `assay_error_rate{` + labels + `,tag="howto"} 0`, `assay_error_rate{` + labels + `,tag="x"} 0`,
			},
		},
		"bounds that are all met": {
			status: objectives(objective("mrr", "", "min 0.5", met), objective("mrr", "", "max 0.9", met)),
			want:   []string{`assay_objective_met{metric="mrr",` + labels + `,tag=""} 1`},
		},
		"one bound of two missed": {
			status: objectives(
				objective("mrr", "a", "min", met), objective("mrr", "a", "max", missed),
				objective("mrr", "b", "min", missed), objective("mrr", "b", "max", met),
				objective("mrr", "c", "min", open), objective("mrr", "c", "max", missed),
				objective("mrr", "d", "min", missed), objective("mrr", "d", "max", open),
			),
			want: []string{
				`assay_objective_met{metric="mrr",` + labels + `,tag="a"} 0`, `assay_objective_met{metric="mrr",` + labels + `,tag="b"} 0`,
				`assay_objective_met{metric="mrr",` + labels + `,tag="c"} 0`, `assay_objective_met{metric="mrr",` + labels + `,tag="d"} 0`,
			},
		},
		"bounds that are not decided": {
			status: objectives(
				objective("mrr", "a", "min", open), objective("mrr", "b", "min", met), objective("mrr", "b", "max", open),
				objective("mrr", "c", "min", open), objective("mrr", "c", "max", met), objective("mrr", "d", "min", "Whatever"),
				objective("mrr", "e", "min", met), objective("mrr", "e", "maxDrop", v1alpha1.ObjectiveUnproven),
				objective("mrr", "f", "maxDrop", v1alpha1.ObjectiveNoBaseline),
			),
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := append(slices.Clone(test.want), cmp.Or(test.info, info))
			got := scrape(t, NewCollector(&suiteList{suites: []v1alpha1.EvalSuite{suite("rag", "docs-bot", test.status)}}, always))
			slices.Sort(want)
			slices.Sort(got)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSuitesComeAndGo(t *testing.T) {
	list := &suiteList{}
	c := NewCollector(list, always)
	if got := scrape(t, c); got != nil {
		t.Errorf("no suites: %q", got)
	}

	list.suites = []v1alpha1.EvalSuite{suite("rag", "docs-bot", docsBot())}
	alone := scrape(t, c)
	restarted := scrape(t, NewCollector(list, always))
	if diff := gocmp.Diff(alone, restarted); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}

	list.suites = append(list.suites, suite("rag", "other", docsBot()), suite("other", "docs-bot", docsBot()))
	if got, want := len(scrape(t, c)), 3*len(alone); got != want {
		t.Errorf("three suites give %d series, want %d", got, want)
	}
	list.suites = append(list.suites, suite("rag", "docs-bot", v1alpha1.EvalSuiteStatus{}))
	if got, want := len(scrape(t, c)), 3*len(alone); got != want {
		t.Errorf("a suite listed twice gives %d series, want %d", got, want)
	}
	list.suites = list.suites[:1]
	if diff := gocmp.Diff(alone, scrape(t, c)); diff != "" {
		t.Errorf("after the others are gone (-want +got):\n%s", diff)
	}

	list.err = errors.New("the cache has not started")
	if got := scrape(t, c); got != nil {
		t.Errorf("suites that cannot be listed: %q", got)
	}
}

func TestOnlyTheLeaderExports(t *testing.T) {
	leading := false
	c := NewCollector(everything(), func() bool { return leading })
	if got := scrape(t, c); got != nil {
		t.Errorf("a replica that does not lead exports %q", got)
	}
	leading = true
	if got := scrape(t, c); got == nil {
		t.Error("the leader exports nothing")
	}
}

func TestScrapesAtOnce(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(NewCollector(everything(), always))
	want := exposition(t, reg)
	var scrapes sync.WaitGroup
	for range 8 {
		scrapes.Go(func() {
			if families, err := reg.Gather(); err != nil || len(families) != len(suiteGauges) {
				t.Errorf("gathered %d families, error %v", len(families), err)
			}
		})
	}
	scrapes.Wait()
	if diff := gocmp.Diff(want, exposition(t, reg)); diff != "" {
		t.Errorf("after them (-want +got):\n%s", diff)
	}
}

// FuzzCollector puts anything into every text of a status: the scrape stays whole.
func FuzzCollector(f *testing.F) {
	f.Add("rag", "docs-bot", "hit_rate@5", "f0.5@3", "howto", "", "0.5", "True", "Met")
	f.Add("", "", "", "", "", "", "", "", "")
	f.Add("\xff", "\xfe", "mrr", "mrr", "a\xff", "a\xfe", "NaN", "Unknown", "Missed")
	f.Add("n", "n", "0 */6 * * *", "mrr", "Asia/Seoul", "", "2027-01-15T20:00:00Z", "True", "Error")
	f.Add("n", "n", "error_rate", "error_rate", "x", "x", "1e400", "False", "Inconclusive")
	f.Fuzz(func(t *testing.T, namespace, name, first, second, tag, otherTag, value, passing, outcome string) {
		status := v1alpha1.EvalSuiteStatus{
			GoldenSet:        &v1alpha1.GoldenSetStatus{Digest: tag, Cases: new(int32(-1))},
			Judge:            &v1alpha1.JudgeStatus{KappaCorrect: value, KappaGrounded: value},
			Results:          []v1alpha1.Result{{Run: name, Reason: outcome}},
			NextScheduleTime: value,
			CountedSchedule:  &v1alpha1.CountedSchedule{Schedule: first, TimeZone: tag},
			Conditions: []metav1.Condition{
				condition(v1alpha1.ConditionPassing, metav1.ConditionStatus(passing)), condition(v1alpha1.ConditionPassing, metav1.ConditionTrue),
			},
			LastRun: &v1alpha1.LastRun{
				Name:     name,
				Revision: tag,
				Coverage: &v1alpha1.Coverage{Retrieval: value, Answer: value, Judge: value},
				Metrics: []v1alpha1.SuiteMetric{
					metric(first, tag, value, 1), metric(second, tag, value, 2), metric(first, otherTag, value, 3), metric(second, otherTag, "1", 4),
					moved(first, tag, value, value, value), moved(first, otherTag, value, value, value),
				},
				Objectives: []v1alpha1.ObjectiveResult{
					objective(first, tag, value, v1alpha1.ObjectiveOutcome(outcome)), objective(first, otherTag, value, v1alpha1.ObjectiveMet),
					objective(second, tag, value, v1alpha1.ObjectiveMissed),
				},
			},
		}
		list := &suiteList{
			suites: []v1alpha1.EvalSuite{suite(namespace, name, status), suite(name, namespace, status)},
			runs:   []v1alpha1.EvalRun{ended(namespace, name, 1, v1alpha1.Verdict(outcome), value), {}},
		}
		reg := prometheus.NewPedanticRegistry()
		reg.MustRegister(NewCollector(list, always))
		if text := exposition(t, reg); strings.Contains(text, " NaN\n") || strings.Contains(text, "Inf\n") {
			t.Errorf("a value that is no number:\n%s", text)
		}
	})
}
