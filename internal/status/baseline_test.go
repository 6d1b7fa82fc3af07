package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/score"
)

// drop is how the metrics of result stand against a baseline.
func drop() *compare.Comparison {
	return &compare.Comparison{
		Base: compare.Side{Run: "docs-bot-0"}, Comparable: true, Reason: compare.ReasonComparable, Message: "compared with docs-bot-0 on 3 of 3 cases",
		Deltas: []compare.Delta{
			{Metric: "hit_rate@5", Count: 2, Base: 0.75, Head: 1, Delta: 0.25, Low: ptr.To(-0.25), High: ptr.To(0.5), P: ptr.To(0.1), Corrected: ptr.To(0.2), SmallestDrop: ptr.To(0.4)},
			{Metric: "mrr", Tag: "howto", Count: 1, Base: 1, Head: 1, P: ptr.To(1.0)},
			{Metric: "recall@5", Count: 2, Base: 1, Head: 0, Delta: -1},
		},
	}
}

func TestFinishedAgainstABaseline(t *testing.T) {
	r := result()
	r.Comparison, r.ReferenceComparison = drop(), &compare.Comparison{Deltas: []compare.Delta{{Metric: "mrr", Delta: -0.03125}}}
	r.Worst = []eval.WorstCase{{ID: "q1", BaselineRank: 3, Outcome: "Scored"}, {ID: "q2", Rank: 4, Outcome: "Scored"}}
	p := prepared()
	p.Plan.Baseline = &eval.Baseline{}
	run := newRun()
	Finished(run, p, r, noon)
	want := []v1alpha1.RunMetric{
		{Name: "hit_rate@5", Tag: ptr.To(""), Value: "1.0000", Count: ptr.To[int32](2), Low: "0.5000", High: "1.0000",
			Baseline: "0.7500", Delta: "0.2500", DeltaLow: "-0.2500", DeltaHigh: "0.5000", PValue: "0.2000", SmallestDrop: "0.4000"},
		{Name: "mrr", Tag: ptr.To(""), Value: "0.6667", Count: ptr.To[int32](2), ReferenceDelta: "-0.0312"},
		{Name: "mrr", Tag: ptr.To("howto"), Value: "1.0000", Count: ptr.To[int32](1), Baseline: "1.0000", Delta: "0.0000", PValue: "1.0000"},
	}
	if diff := cmp.Diff(want, run.Status.Metrics); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	worst := []v1alpha1.WorstCase{{ID: "q1", BaselineRank: ptr.To[int32](3), Outcome: "Scored"}, {ID: "q2", Rank: ptr.To[int32](4), Outcome: "Scored"}}
	if diff := cmp.Diff(worst, run.Status.WorstCases); diff != "" || run.Status.BaselineRun != "docs-bot-0" {
		t.Errorf("worst cases, against %s (-want +got):\n%s", run.Status.BaselineRun, diff)
	}
	if got := wantCondition(t, run.Status.Conditions, "BaselineComparable", metav1.ConditionTrue, "Comparable"); got != r.Comparison.Message {
		t.Errorf("it says %q", got)
	}
	if diff := same(run.Status, stored(t, run).Status); diff != "" {
		t.Errorf("it does not survive the API server: %s", diff)
	}

	// A suite shows both differences.
	run.Name = "docs-bot-2"
	ended := ended("docs-bot-2", 0, func(e *v1alpha1.EvalRun) { e.Status.Metrics = run.Status.Metrics })
	s := newSuite()
	fold(s, facts(ended))
	shown := []v1alpha1.SuiteMetric{
		{Name: "hit_rate@5", Tag: ptr.To(""), Value: "1.0000", Count: ptr.To[int32](2), Delta: "0.2500"},
		{Name: "mrr", Tag: ptr.To(""), Value: "0.6667", Count: ptr.To[int32](2), ReferenceDelta: "-0.0312"},
		{Name: "mrr", Tag: ptr.To("howto"), Value: "1.0000", Count: ptr.To[int32](1), Delta: "0.0000"},
	}
	if diff := cmp.Diff(shown, s.Status.LastRun.Metrics); diff != "" {
		t.Errorf("the suite's metrics (-want +got):\n%s", diff)
	}
}

func TestObjectivesOnADrop(t *testing.T) {
	r := result()
	r.Decision.Objectives = []score.ObjectiveResult{
		{Metric: "mrr", Bound: "maxDrop 0.05", Value: ptr.To(0.0625), Outcome: compare.Unproven, Message: "m"},
		{Metric: "mrr", Tag: "howto", Bound: "maxDrop 0.05", Outcome: compare.NoBaseline, Message: "m"},
	}
	run := newRun()
	Finished(run, prepared(), r, noon)
	want := []v1alpha1.ObjectiveResult{
		{Metric: "mrr", Bound: "maxDrop 0.05", Value: "0.0625", Outcome: v1alpha1.ObjectiveUnproven, Message: "m"},
		{Metric: "mrr", Tag: "howto", Bound: "maxDrop 0.05", Outcome: v1alpha1.ObjectiveNoBaseline, Message: "m"},
	}
	if diff := cmp.Diff(want, run.Status.Objectives); diff != "" {
		t.Error(diff)
	}
}

func TestBaselineComparable(t *testing.T) {
	with := func(change func(*compare.Comparison)) *compare.Comparison {
		c := drop()
		change(c)
		return c
	}
	few := with(func(c *compare.Comparison) {
		c.Comparable, c.Reason, c.Message = false, compare.ReasonTooFewInCommon, "only 1 of 3 cases is the same"
	})
	judged := with(func(c *compare.Comparison) { c.Reason, c.Message = compare.ReasonJudgeChanged, "the judge is another" })
	for name, test := range map[string]struct {
		baseline eval.Baseline
		against  *compare.Comparison
		status   metav1.ConditionStatus
		reason   string
		says     string
	}{
		"as it should be":     {eval.Baseline{}, drop(), metav1.ConditionTrue, "Comparable", "compared with docs-bot-0 on 3 of 3 cases"},
		"too few in common":   {eval.Baseline{}, few, metav1.ConditionFalse, "TooFewInCommon", "only 1 of 3 cases is the same"},
		"another judge":       {eval.Baseline{}, judged, metav1.ConditionFalse, "JudgeChanged", "the judge is another"},
		"none yet":            {eval.Baseline{Policy: compare.Policy{Missing: "no full run of the suite has passed yet"}}, nil, metav1.ConditionUnknown, "NoBaseline", "no full run of the suite has passed yet"},
		"lost":                {eval.Baseline{Policy: compare.Policy{Missing: "run a is not in the history", Lost: true}}, nil, metav1.ConditionUnknown, "BaselineLost", "run a is not in the history"},
		"no reference either": {eval.Baseline{ReferenceMissing: "run b is gone"}, drop(), metav1.ConditionTrue, "Comparable", "compared with docs-bot-0 on 3 of 3 cases; there is no drift to report: run b is gone"},
	} {
		r := result()
		r.Comparison = test.against
		p := prepared()
		p.Plan.Baseline = &test.baseline
		run := newRun()
		Finished(run, p, r, noon)
		if got := wantCondition(t, run.Status.Conditions, "BaselineComparable", test.status, test.reason); got != test.says {
			t.Errorf("%s: it says %q", name, got)
		}
		if want := map[bool]string{true: "docs-bot-0"}[test.against != nil]; run.Status.BaselineRun != want {
			t.Errorf("%s: the baseline is %q", name, run.Status.BaselineRun)
		}
	}
	run := newRun()
	Finished(run, prepared(), result(), noon)
	if meta.FindStatusCondition(run.Status.Conditions, "BaselineComparable") != nil || run.Status.BaselineRun != "" {
		t.Errorf("a run that is compared with nothing says %+v", run.Status)
	}
}

func TestTheBaselineOfTheNextRun(t *testing.T) {
	hour := time.Hour
	at := func(name string) *v1alpha1.BaselineStatus {
		return &v1alpha1.BaselineStatus{RunName: name, GoldenSetDigest: goldenDigest, Revision: "r1"}
	}
	lastPassed, none := v1alpha1.Baseline{Policy: v1alpha1.BaselineLastPassed}, v1alpha1.Baseline{Policy: v1alpha1.BaselineNone}
	pinned := v1alpha1.Baseline{Policy: v1alpha1.BaselinePinned, RunName: "p"}
	for name, test := range map[string]struct {
		policy v1alpha1.Baseline
		known  *v1alpha1.BaselineStatus
		passed time.Duration // ago, of what is known; 0: nothing passed
		runs   []*v1alpha1.EvalRun
		want   *v1alpha1.BaselineStatus
	}{
		"nothing yet":          {lastPassed, nil, 0, nil, nil},
		"the newest pass":      {lastPassed, nil, 0, []*v1alpha1.EvalRun{ended("a", 2*hour), ended("b", hour)}, at("b")},
		"no miss":              {lastPassed, nil, 0, []*v1alpha1.EvalRun{ended("a", 2*hour), ended("b", hour, failing)}, at("a")},
		"no open one":          {lastPassed, nil, 0, []*v1alpha1.EvalRun{ended("b", hour, verdict(v1alpha1.VerdictInconclusive, "CoverageTooLow", ""))}, nil},
		"no canary":            {lastPassed, nil, 0, []*v1alpha1.EvalRun{ended("a", 2*hour), ended("b", hour, endpoint("canary"))}, at("a")},
		"no subset":            {lastPassed, nil, 0, []*v1alpha1.EvalRun{ended("a", 2*hour), ended("b", hour, ofTags("x")), ended("c", hour, ofTopK(3)), ended("d", hour, ofStages(v1alpha1.StageRetrieval))}, at("a")},
		"one that is gone":     {lastPassed, at("x"), hour, nil, at("x")},
		"gone, and the newest": {lastPassed, at("x"), hour, []*v1alpha1.EvalRun{ended("a", 2*hour)}, at("x")},
		"one after it":         {lastPassed, at("x"), 2 * hour, []*v1alpha1.EvalRun{ended("a", hour)}, at("a")},
		"the same one":         {lastPassed, at("a"), hour, []*v1alpha1.EvalRun{ended("a", hour)}, at("a")},
		"two in one instant":   {lastPassed, nil, 0, []*v1alpha1.EvalRun{ended("b", hour), ended("a", hour)}, at("b")},
		"of no policy":         {v1alpha1.Baseline{}, nil, 0, []*v1alpha1.EvalRun{ended("a", hour)}, at("a")},
		"none":                 {none, at("x"), hour, []*v1alpha1.EvalRun{ended("a", hour)}, nil},
		"pinned":               {pinned, at("x"), hour, []*v1alpha1.EvalRun{ended("a", hour), ended("p", 2*hour, failing)}, at("p")},
		"pinned, and gone":     {pinned, at("x"), hour, nil, &v1alpha1.BaselineStatus{RunName: "p"}},
		"pinned, still known":  {pinned, at("p"), hour, nil, at("p")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite()
			s.Spec.Baseline, s.Status.Baseline = test.policy, test.known
			if test.passed > 0 {
				s.Status.LastPassTime = metaTime(ptr.To(noon.Add(-test.passed)))
			}
			fold(s, facts(test.runs...))
			if diff := cmp.Diff(test.want, s.Status.Baseline); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			c := meta.FindStatusCondition(s.Status.Conditions, "BaselineComparable")
			if (c != nil) != (test.policy.Policy != v1alpha1.BaselineNone) {
				t.Errorf("BaselineComparable is %+v", c)
			}
		})
	}
}

func TestASuiteTakesOverWhatItsLastRunSaysOfTheBaseline(t *testing.T) {
	says := func(c *compare.Comparison) edit {
		return func(run *v1alpha1.EvalRun) {
			setComparable(&run.Status.Conditions, &eval.Baseline{}, c, 1, noon)
		}
	}
	s := newSuite()
	fold(s, facts())
	if got := wantCondition(t, s.Status.Conditions, "BaselineComparable", metav1.ConditionUnknown, "NoBaseline"); got != "no run has been compared with a baseline yet" {
		t.Errorf("it says %q", got)
	}
	fold(s, facts(ended("a", time.Minute, says(drop())), ended("b", 0, verdict("", "", ""), says(nil))))
	if got := wantCondition(t, s.Status.Conditions, "BaselineComparable", metav1.ConditionTrue, "Comparable"); !strings.HasPrefix(got, "run a: compared with") {
		t.Errorf("it says %q", got)
	}
	s.Generation = 9
	fold(s, facts())
	wantCondition(t, s.Status.Conditions, "BaselineComparable", metav1.ConditionTrue, "Comparable")
	if c := meta.FindStatusCondition(s.Status.Conditions, "BaselineComparable"); c.ObservedGeneration != 9 {
		t.Errorf("it is of generation %d", c.ObservedGeneration)
	}
}
