package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/suite"
)

func newRun() *v1alpha1.EvalRun {
	return &v1alpha1.EvalRun{ObjectMeta: metav1.ObjectMeta{Name: "docs-bot-1", Namespace: "rag", Generation: 1}}
}

func prepared() *suite.Prepared {
	return &suite.Prepared{
		Plan:     eval.Plan{Cases: make([]golden.Case, 3), Objectives: []score.Objective{{Metric: "hit_rate@5", Min: "0.9"}}},
		Revision: "r1", EvaluationDigest: "e", GoldenSetDigest: "g", PrimaryK: 5,
	}
}

func TestARunFromItsQueueToItsVerdict(t *testing.T) {
	run, p := newRun(), prepared()
	Waiting(run, ReasonQueued, "the run waits for its turn", noon)
	if run.Status.StartTime != nil || run.Status.Verdict != "" || run.Status.ProgressText != "" || *run.Status.ObservedGeneration != 1 {
		t.Errorf("a run that waits: %+v", run.Status)
	}
	wantCondition(t, run.Status.Conditions, "Complete", metav1.ConditionFalse, "Queued")
	wantCondition(t, run.Status.Conditions, "Passed", metav1.ConditionUnknown, "Queued")

	Started(run, p, 0, noon)
	st := &run.Status
	if st.Revision != "r1" || st.SuiteEvaluationDigest != "e" || st.GoldenSetDigest != "g" || !st.StartTime.Equal(ptr.To(metav1.NewMicroTime(noon))) || st.ProgressText != "0/3" {
		t.Errorf("a run that has begun: %+v", st)
	}
	wantCondition(t, st.Conditions, "Complete", metav1.ConditionFalse, "Running")
	wantCondition(t, st.Conditions, "Passed", metav1.ConditionUnknown, "Running")

	Advanced(run, Progress{Total: 3, Done: 2, Errored: 1}, noon.Add(time.Second))
	if diff := cmp.Diff(&v1alpha1.Progress{Total: ptr.To[int32](3), Done: ptr.To[int32](2), Errored: ptr.To[int32](1)}, st.Progress); diff != "" || st.ProgressText != "2/3" {
		t.Errorf("%s: %s", st.ProgressText, diff)
	}
	if got := wantCondition(t, st.Conditions, "Complete", metav1.ConditionFalse, "Running"); got != "2 of 3 cases are done, 1 of them failed" {
		t.Errorf("it says %q", got)
	}

	// An operator that takes the run over begins it again, at the time when it began.
	Started(run, p, 0, st.StartTime.Time)
	if st.ProgressText != "0/3" || !st.StartTime.Equal(ptr.To(metav1.NewMicroTime(noon))) {
		t.Errorf("taken over: %s since %s", st.ProgressText, st.StartTime)
	}

	st.Conditions = append(st.Conditions, metav1.Condition{Type: "OfAnOlderVersion"})
	Finished(run, p, result(), noon.Add(72*time.Second+400*time.Millisecond))
	if len(st.Conditions) != 2 || st.Duration != "1m12s" || !st.CompletionTime.Equal(ptr.To(metav1.NewMicroTime(noon.Add(72*time.Second+400*time.Millisecond)))) {
		t.Errorf("conditions %+v after %s, completed %s", st.Conditions, st.Duration, st.CompletionTime)
	}
}

func TestVerdicts(t *testing.T) {
	for verdict, want := range map[v1alpha1.Verdict]metav1.ConditionStatus{
		v1alpha1.VerdictPassed:       metav1.ConditionTrue,
		v1alpha1.VerdictFailed:       metav1.ConditionFalse,
		v1alpha1.VerdictInconclusive: metav1.ConditionUnknown,
		v1alpha1.VerdictError:        metav1.ConditionUnknown,
	} {
		t.Run(string(verdict), func(t *testing.T) {
			run := newRun()
			Verdict(run, verdict, "SomeReason", "some message", noon)
			st := &run.Status
			if st.Verdict != verdict || st.Reason != "SomeReason" || st.Message != "some message" || st.CompletionTime == nil || *st.ObservedGeneration != 1 {
				t.Errorf("%+v", st)
			}
			if st.Duration != "" || st.StartTime != nil {
				t.Errorf("it never began, and took %q", st.Duration)
			}
			if got := wantCondition(t, st.Conditions, "Complete", metav1.ConditionTrue, string(verdict)); got != "some message" {
				t.Errorf("Complete says %q", got)
			}
			if got := wantCondition(t, st.Conditions, "Passed", want, "SomeReason"); got != "some message" {
				t.Errorf("Passed says %q", got)
			}
		})
	}
	t.Run("a clock that goes back", func(t *testing.T) {
		run := newRun()
		Started(run, prepared(), 0, noon)
		Verdict(run, v1alpha1.VerdictError, "R", "m", noon.Add(-time.Hour))
		if run.Status.Duration != "0s" {
			t.Errorf("it took %s", run.Status.Duration)
		}
	})
	t.Run("a long message", func(t *testing.T) {
		run := newRun()
		Verdict(run, v1alpha1.VerdictError, "R", strings.Repeat("한", maxMessage), noon)
		if got := len(run.Status.Message); got > maxMessage || got < maxMessage-3 {
			t.Errorf("%d bytes, want just below %d", got, maxMessage)
		}
	})
}

// result is that of a run over three cases, one of which failed.
func result() *eval.Result {
	low, high := 0.5, 1.0
	return &eval.Result{
		Summary: score.Summary{
			Means: []score.Mean{
				{Name: "hit_rate@5", Value: 1, Count: 2, Low: &low, High: &high},
				{Name: "mrr", Value: 2.0 / 3, Count: 2},
				{Name: "mrr", Tag: "howto", Value: 1, Count: 1},
			},
			Retrieval: map[string]score.Coverage{"": {Scored: 2, Due: 3}, "howto": {Scored: 1, Due: 1}},
			Cases:     map[string]int{"": 3, "howto": 1},
		},
		Decision: score.Decision{
			Verdict: score.Failed, Reason: "ObjectivesMissed", Message: "hit_rate@5 is missed",
			Objectives: []score.ObjectiveResult{
				{Metric: "hit_rate@5", Bound: "min 0.90", Value: &high, Outcome: score.Met, Message: "fine"},
				{Metric: "mrr", Tag: "howto", Bound: "min 0.5", Outcome: score.OutcomeInconclusive, Message: "no case"},
			},
		},
		Outcomes:      map[string]int{"Scored": 2, "RetrieverTimeout": 1},
		Worst:         []eval.WorstCase{{ID: "q1", Outcome: "Scored"}, {ID: "q2", Rank: 4, Outcome: "Scored"}},
		CorpusVersion: "v1", RetrieverCalls: 5, Total: 3, Done: 3, Errored: 1,
	}
}

func TestFinished(t *testing.T) {
	run := newRun()
	Started(run, prepared(), 0, noon)
	Finished(run, prepared(), result(), noon.Add(time.Minute))
	got := *run.Status.DeepCopy()
	wantCondition(t, got.Conditions, "Passed", metav1.ConditionFalse, "ObjectivesMissed")
	got.Conditions = nil
	want := v1alpha1.EvalRunStatus{
		ObservedGeneration: ptr.To[int64](1), Revision: "r1", SuiteEvaluationDigest: "e", GoldenSetDigest: "g", CorpusVersion: "v1",
		Verdict: "Failed", Reason: "ObjectivesMissed", Message: "hit_rate@5 is missed",
		Progress: &v1alpha1.Progress{Total: ptr.To[int32](3), Done: ptr.To[int32](3), Errored: ptr.To[int32](1)}, ProgressText: "3/3",
		HitRate: "1.0000", MRR: "0.6667",
		StartTime: ptr.To(metav1.NewMicroTime(noon)), CompletionTime: ptr.To(metav1.NewMicroTime(noon.Add(time.Minute))), Duration: "1m0s",
		Attempts: ptr.To[int32](1),
		Coverage: &v1alpha1.Coverage{Retrieval: "0.6667"},
		Metrics: []v1alpha1.RunMetric{
			{Name: "hit_rate@5", Tag: ptr.To(""), Value: "1.0000", Count: ptr.To[int32](2), Low: "0.5000", High: "1.0000"},
			{Name: "mrr", Tag: ptr.To(""), Value: "0.6667", Count: ptr.To[int32](2)},
			{Name: "mrr", Tag: ptr.To("howto"), Value: "1.0000", Count: ptr.To[int32](1)},
		},
		Objectives: []v1alpha1.ObjectiveResult{
			{Metric: "hit_rate@5", Bound: "min 0.90", Value: "1.0000", Outcome: "Met", Message: "fine"},
			{Metric: "mrr", Tag: "howto", Bound: "min 0.5", Outcome: "Inconclusive", Message: "no case"},
		},
		Outcomes:   []v1alpha1.OutcomeCount{{Type: "RetrieverTimeout", Count: ptr.To[int32](1)}, {Type: "Scored", Count: ptr.To[int32](2)}},
		WorstCases: []v1alpha1.WorstCase{{ID: "q1", Outcome: "Scored"}, {ID: "q2", Rank: ptr.To[int32](4), Outcome: "Scored"}},
		Usage:      &v1alpha1.Usage{RetrieverCalls: ptr.To[int64](5)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := same(run.Status, stored(t, run).Status); diff != "" {
		t.Errorf("it does not survive the API server: %s", diff)
	}
}

func TestNothingScoredLeavesNoNumbers(t *testing.T) {
	run := newRun()
	Finished(run, prepared(), &eval.Result{
		Summary:  score.Summary{Means: []score.Mean{{Name: "error_rate", Value: 1, Count: 3}}, Retrieval: map[string]score.Coverage{"": {Due: 3}}, Cases: map[string]int{"": 3}},
		Decision: score.Decision{Verdict: score.Error, Reason: "NothingScored", Message: "none"}, Total: 3, Done: 3, Errored: 3,
	}, noon)
	st := run.Status
	if st.HitRate != "" || st.MRR != "" || st.Coverage.Retrieval != "0.0000" || st.WorstCases != nil || st.CorpusVersion != "" {
		t.Errorf("%q %q at %v, worst %v", st.HitRate, st.MRR, st.Coverage, st.WorstCases)
	}
	Finished(run, prepared(), &eval.Result{}, noon)
	if run.Status.Coverage != nil {
		t.Errorf("nothing was due, and coverage is %v", run.Status.Coverage)
	}
}

func TestAStatusIsBounded(t *testing.T) {
	r := result()
	r.Worst = nil
	for i := range 30 {
		r.Worst = append(r.Worst, eval.WorstCase{ID: fmt.Sprintf("q%02d", i), Outcome: "Scored"})
	}
	r.Decision.Objectives[0].Message = strings.Repeat("x", 5000)
	run := newRun()
	Finished(run, prepared(), r, noon)
	if w := run.Status.WorstCases; len(w) != 20 || w[19].ID != "q19" {
		t.Errorf("%d worst cases, want the first 20", len(w))
	}
	if got := len(run.Status.Objectives[0].Message); got != 1024 {
		t.Errorf("an objective's message has %d bytes, want 1024", got)
	}
}

func TestCorpusVersionsStayDifferent(t *testing.T) {
	long := strings.Repeat("한", 100)
	versions := map[string]string{}
	for _, v := range []string{"", "v1", strings.Repeat("x", 256), long + "1", long + "2", long + "2 and more"} {
		r := result()
		r.CorpusVersion = v
		run := newRun()
		Finished(run, prepared(), r, noon)
		got := run.Status.CorpusVersion
		if other, ok := versions[got]; ok || len(got) > 256 || len(v) <= 256 && got != v {
			t.Errorf("%q became %q, which is %q as well", v, got, other)
		}
		versions[got] = v
	}
}

// Of more than 16 tags those stay that an objective names, then those with the
// most cases, then the first by name.
func TestTagsOfAStatus(t *testing.T) {
	s := score.Summary{Cases: map[string]int{"": 1000}}
	add := func(tag string, cases int) {
		s.Cases[tag] = cases
		s.Means = append(s.Means, score.Mean{Name: "mrr", Tag: tag, Value: 1, Count: cases}, score.Mean{Name: "error_rate", Tag: tag, Value: 0, Count: cases})
	}
	s.Means = append(s.Means, score.Mean{Name: "mrr", Value: 1, Count: 1000})
	for i := range 15 {
		add(fmt.Sprintf("many%02d", i), 100+i)
	}
	for i := range 5 {
		add(fmt.Sprintf("few%d", i), 10)
	}
	add("bounded", 1)
	list := metrics(&eval.Result{Summary: s}, []score.Objective{{Metric: "mrr"}, {Metric: "mrr", Tag: "bounded"}, {Metric: "mrr", Tag: "many00"}})
	tags := map[string]int{}
	for _, m := range list {
		tags[*m.Tag]++
	}
	want := map[string]int{"": 1, "bounded": 2}
	for i := range 15 {
		want[fmt.Sprintf("many%02d", i)] = 2
	}
	if diff := cmp.Diff(want, tags); diff != "" {
		t.Error(diff)
	}

	// Of those with as many cases, the first by name.
	s = score.Summary{Cases: map[string]int{}}
	for i := range 20 {
		add(fmt.Sprintf("t%02d", 19-i), 10)
	}
	keep := statusTags(s, nil)
	if len(keep) != 16 || !keep["t00"] || !keep["t15"] || keep["t16"] {
		t.Errorf("kept are %v, want t00 to t15", keep)
	}
}

func TestStored(t *testing.T) {
	run := &v1alpha1.EvalRun{}
	Stored(run, "", noon)
	if c := meta.FindStatusCondition(run.Status.Conditions, "HistoryStored"); c == nil || c.Status != metav1.ConditionTrue || c.Reason != "Stored" {
		t.Errorf("with nothing lost the condition is %+v", c)
	}
	Stored(run, "3 cases could not be written: the disk is full", noon)
	c := meta.FindStatusCondition(run.Status.Conditions, "HistoryStored")
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != "StoreFailed" || c.Message != "3 cases could not be written: the disk is full" {
		t.Errorf("with a loss the condition is %+v", c)
	}
	// The verdict that comes after leaves it.
	Verdict(run, v1alpha1.VerdictPassed, "ObjectivesMet", "fine", noon)
	if meta.FindStatusCondition(run.Status.Conditions, "HistoryStored") == nil {
		t.Error("the verdict dropped the condition")
	}
}

func TestASuiteTakesOverWhatItsLastRunSaysOfTheHistory(t *testing.T) {
	ended := func(name, lost string, at time.Time) *v1alpha1.EvalRun {
		run := &v1alpha1.EvalRun{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Verdict(run, v1alpha1.VerdictPassed, "ObjectivesMet", "fine", at)
		Stored(run, lost, at)
		return run
	}
	good, bad := ended("good", "", noon), ended("bad", "the disk is full", noon.Add(time.Minute))
	s := &v1alpha1.EvalSuite{}
	for _, tc := range []struct {
		runs   []*v1alpha1.EvalRun
		status metav1.ConditionStatus
		says   string
	}{
		{nil, "", ""},
		{[]*v1alpha1.EvalRun{good}, metav1.ConditionTrue, "run good"},
		{[]*v1alpha1.EvalRun{bad, good}, metav1.ConditionFalse, "run bad: the disk is full"},
		{nil, metav1.ConditionFalse, "run bad: the disk is full"}, // pruned
	} {
		takeCondition(s, SuiteFacts{Runs: tc.runs, Now: noon}, "HistoryStored")
		c := meta.FindStatusCondition(s.Status.Conditions, "HistoryStored")
		if (c != nil) != (tc.status != "") || c != nil && (c.Status != tc.status || !strings.HasPrefix(c.Message, tc.says)) {
			t.Errorf("after %d runs the condition is %+v, want %s %q", len(tc.runs), c, tc.status, tc.says)
		}
	}
}
