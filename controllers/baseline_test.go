package controllers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/operator"
)

var ten = []string{"a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3", "b4", "b5"}

// losing finds what is asked for but for some ids.
func losing(lost ...string) func(w http.ResponseWriter, r *http.Request, question string, topK int) {
	return func(w http.ResponseWriter, r *http.Request, question string, topK int) {
		if slices.Contains(lost, strings.TrimPrefix(question, "where is ")) {
			reply(w, "noise", "more-noise")
			return
		}
		perfect(w, r, question, topK)
	}
}

// renaming finds what is asked for, some of it under another id with the same text.
func renaming(name func(id string) string) func(w http.ResponseWriter, r *http.Request, question string, topK int) {
	return func(w http.ResponseWriter, _ *http.Request, question string, _ int) {
		id := strings.TrimPrefix(question, "where is ")
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"results": [{"id": %q, "text": "the text of %s"}, {"id": "noise", "text": "the text of noise"}]}`, name(id), id)
	}
}

// comparing is a suite over ten cases with a bound on a drop, whose first run has
// passed.
func comparing(t *testing.T, ns string, stub *stub, change ...func(*v1alpha1.EvalSuite)) (*v1alpha1.EvalSuite, *v1alpha1.EvalRun) {
	t.Helper()
	applyGolden(t, ns, "golden", goldenOf(ten...))
	s := newSuite(ns, stub.URL, append([]func(*v1alpha1.EvalSuite){func(s *v1alpha1.EvalSuite) {
		s.Spec.Objectives = []v1alpha1.Objective{{Metric: "hit_rate@5", Min: "0.50", MaxDrop: "0.10"}}
	}}, change...)...)
	must(t, cluster.Create(t.Context(), s))
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	return s, &ended(t, ns, 1)[0]
}

// another makes a run by hand and waits until it has ended and the suite knows.
func another(t *testing.T, s *v1alpha1.EvalSuite, change ...func(*v1alpha1.EvalRun)) *v1alpha1.EvalRun {
	t.Helper()
	run := newRun(s.Namespace, change...)
	must(t, cluster.Create(t.Context(), run))
	return known(t, s, run)
}

// known waits until a run has ended and its suite has taken it in.
func known(t *testing.T, s *v1alpha1.EvalSuite, run *v1alpha1.EvalRun) *v1alpha1.EvalRun {
	t.Helper()
	eventually(t, func() error {
		if get(t, run).Status.Verdict == "" {
			return fmt.Errorf("run %s has not ended: %+v", run.Name, run.Status.Conditions)
		}
		if !slices.ContainsFunc(get(t, s).Status.Results, func(r v1alpha1.Result) bool { return r.Run == run.Name }) {
			return fmt.Errorf("the suite does not know of run %s yet", run.Name)
		}
		return nil
	})
	return run
}

// bySpec waits for the run that a change of the spec starts.
func bySpec(t *testing.T, s *v1alpha1.EvalSuite, change func(*v1alpha1.EvalSuite)) *v1alpha1.EvalRun {
	t.Helper()
	before := map[string]bool{}
	for _, r := range runsOf(t, s.Namespace) {
		before[r.Name] = true
	}
	update(t, s, change)
	var run *v1alpha1.EvalRun
	eventually(t, func() error {
		runs := runsOf(t, s.Namespace)
		i := slices.IndexFunc(runs, func(r v1alpha1.EvalRun) bool { return !before[r.Name] })
		if i < 0 {
			return fmt.Errorf("no new run: %s", describe(runs))
		}
		run = &runs[i]
		return nil
	})
	return known(t, s, run)
}

func wantVerdict(t *testing.T, run *v1alpha1.EvalRun, verdict v1alpha1.Verdict, reason string, messages ...string) {
	t.Helper()
	if run.Status.Verdict != verdict || run.Status.Reason != reason {
		t.Errorf("run %s is %s %s (%s), want %s %s", run.Name, run.Status.Verdict, run.Status.Reason, run.Status.Message, verdict, reason)
	}
	for _, m := range messages {
		if !strings.Contains(run.Status.Message, m) {
			t.Errorf("run %s says %q, want %q", run.Name, run.Status.Message, m)
		}
	}
}

// wantBaseline waits until the suite names a run as its baseline; empty: none.
func wantBaseline(t *testing.T, s *v1alpha1.EvalSuite, run string) {
	t.Helper()
	eventually(t, func() error {
		b := get(t, s).Status.Baseline
		if got := ptr.Deref(b, v1alpha1.BaselineStatus{}).RunName; got != run {
			return fmt.Errorf("the baseline is %q, want %q", got, run)
		}
		return nil
	})
}

func wantComparable(t *testing.T, conditions []metav1.Condition, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	c := meta.FindStatusCondition(conditions, "BaselineComparable")
	if c == nil || c.Status != status || c.Reason != reason || !strings.Contains(c.Message, message) {
		t.Errorf("BaselineComparable is %+v, want %s %s: %s", c, status, reason, message)
	}
}

// drop is the result of the bound on a drop.
func drop(t *testing.T, run *v1alpha1.EvalRun) v1alpha1.ObjectiveResult {
	t.Helper()
	i := slices.IndexFunc(run.Status.Objectives, func(o v1alpha1.ObjectiveResult) bool { return strings.HasPrefix(o.Bound, "maxDrop ") })
	if i < 0 {
		t.Fatalf("run %s has no bound on a drop: %+v", run.Name, run.Status.Objectives)
	}
	return run.Status.Objectives[i]
}

func metric(t *testing.T, run *v1alpha1.EvalRun, name, tag string) v1alpha1.RunMetric {
	t.Helper()
	i := slices.IndexFunc(run.Status.Metrics, func(m v1alpha1.RunMetric) bool { return m.Name == name && ptr.Deref(m.Tag, "") == tag })
	if i < 0 {
		t.Fatalf("run %s has no %s of %q", run.Name, name, tag)
	}
	return run.Status.Metrics[i]
}

func TestAMaxDropIsHeldAgainstTheBaseline(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	use, _ := keeping(t)
	op := startOperator(t, ns, use)
	s, first := comparing(t, ns, stub)
	wantComparable(t, first.Status.Conditions, metav1.ConditionUnknown, "NoBaseline", "no full run of the suite has passed yet")
	if o := drop(t, first); o.Outcome != v1alpha1.ObjectiveNoBaseline || first.Status.BaselineRun != "" {
		t.Errorf("the first run was compared with %q: %+v", first.Status.BaselineRun, o)
	}
	wantBaseline(t, s, first.Name)
	if b := s.Status.Baseline; b.GoldenSetDigest != first.Status.GoldenSetDigest || b.Revision != "none" {
		t.Errorf("the baseline is %+v", b)
	}

	stub.behave(losing("a1", "b2"))
	run := another(t, s)
	wantVerdict(t, run, v1alpha1.VerdictFailed, "ObjectivesMissed", "hit_rate@5 fell from 1.0000 to 0.8000 (on 10 cases, p 0.25): 0.2000 worse, more than maxDrop 0.10")
	if run.Status.BaselineRun != first.Name {
		t.Errorf("it was compared with %q, want %s", run.Status.BaselineRun, first.Name)
	}
	if o := drop(t, run); o.Outcome != v1alpha1.ObjectiveMissed || o.Value != "0.2000" || o.Bound != "maxDrop 0.10" {
		t.Errorf("the bound came out %+v", o)
	}
	m := metric(t, run, "hit_rate@5", "")
	if m.Value != "0.8000" || m.Baseline != "1.0000" || m.Delta != "-0.2000" || m.DeltaLow == "" || m.DeltaHigh == "" || m.PValue != "0.2500" || m.SmallestDrop != "0.5000" || m.ReferenceDelta != "" {
		t.Errorf("hit_rate@5 is %+v", m)
	}
	if m := metric(t, run, "hit_rate@5", "b"); m.Delta != "-0.2000" {
		t.Errorf("hit_rate@5 of tag b is %+v", m)
	}
	if w := run.Status.WorstCases; len(w) != 2 || w[0].ID != "q-a1" || ptr.Deref(w[0].BaselineRank, 0) != 1 || w[0].Rank != nil {
		t.Errorf("the worst cases are %+v", w)
	}
	wantComparable(t, run.Status.Conditions, metav1.ConditionTrue, "Comparable", "compared with "+first.Name+" on 10 of 10 cases")
	c := condition(t, s, "BaselineComparable", metav1.ConditionTrue, "Comparable")
	if !strings.HasPrefix(c.Message, "run "+run.Name+": compared with "+first.Name) {
		t.Errorf("the suite says %q", c.Message)
	}
	last := s.Status.LastRun
	i := slices.IndexFunc(last.Metrics, func(m v1alpha1.SuiteMetric) bool { return m.Name == "mrr" && ptr.Deref(m.Tag, "") == "" })
	if last.Name != run.Name || last.Metrics[i].Delta != "-0.2000" {
		t.Errorf("the last run of the suite is %s, its mrr %+v", last.Name, last.Metrics[i])
	}
	wantEvent(t, ns, "RunFailed", "EvalSuite", "0.2000 worse, more than maxDrop 0.10")
	wantBaseline(t, s, first.Name) // a run that failed becomes none
	if got := gauge(t, op, "assay_baseline_delta", "metric", "hit_rate@5", "tag", "", "against", "baseline"); fmt.Sprintf("%.4f", got) != "-0.2000" {
		t.Errorf("the gauge is %v", got)
	}

	stub.behave(losing("a1"))
	run = another(t, s)
	wantVerdict(t, run, v1alpha1.VerdictPassed, "ObjectivesMet")
	wantBaseline(t, s, run.Name)
	stub.behave(losing("a1", "b2")) // that is one more than in the newest pass
	if run := another(t, s); run.Status.Verdict != v1alpha1.VerdictPassed || metric(t, run, "mrr", "").Delta != "-0.1000" {
		t.Errorf("run is %s, mrr %+v", run.Status.Verdict, metric(t, run, "mrr", ""))
	}
}

// gauge reads a series of the suite's.
func gauge(t *testing.T, op *running, name string, labels ...string) float64 {
	t.Helper()
	families, err := op.registry.Gather()
	must(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
	next:
		for _, m := range f.GetMetric() {
			have := map[string]string{}
			for _, l := range m.GetLabel() {
				have[l.GetName()] = l.GetValue()
			}
			for i := 0; i < len(labels); i += 2 {
				if have[labels[i]] != labels[i+1] {
					continue next
				}
			}
			return m.GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no %s with %v", name, labels)
	return 0
}

func TestBaselinePolicies(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	use, _ := keeping(t)
	startOperator(t, ns, use)
	s, first := comparing(t, ns, stub)

	// Quality that bleeds away a little each time: only the drift shows it.
	update(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Baseline.Reference = first.Name })
	stub.behave(losing("a1"))
	second := another(t, s)
	stub.behave(losing("a1", "a2"))
	third := another(t, s)
	wantVerdict(t, third, v1alpha1.VerdictPassed, "ObjectivesMet")
	if m := metric(t, third, "hit_rate@5", ""); m.Delta != "-0.1000" || m.ReferenceDelta != "-0.2000" || third.Status.BaselineRun != second.Name {
		t.Errorf("compared with %s: %+v", third.Status.BaselineRun, m)
	}
	get(t, s)
	i := slices.IndexFunc(s.Status.LastRun.Metrics, func(m v1alpha1.SuiteMetric) bool { return m.Name == "hit_rate@5" && ptr.Deref(m.Tag, "") == "" })
	if m := s.Status.LastRun.Metrics[i]; m.ReferenceDelta != "-0.2000" {
		t.Errorf("the suite says %+v", m)
	}

	run := bySpec(t, s, func(s *v1alpha1.EvalSuite) {
		s.Spec.Baseline = v1alpha1.Baseline{Policy: v1alpha1.BaselinePinned, RunName: first.Name, Reference: "no-such-run"}
	})
	wantVerdict(t, run, v1alpha1.VerdictFailed, "ObjectivesMissed", "hit_rate@5 fell from 1.0000 to 0.8000", "more than maxDrop 0.10")
	wantComparable(t, run.Status.Conditions, metav1.ConditionTrue, "Comparable", "; there is no drift to report: the reference, run no-such-run, is not in the history")
	wantBaseline(t, s, first.Name)
	if m := metric(t, run, "hit_rate@5", ""); m.ReferenceDelta != "" {
		t.Errorf("a drift from nothing: %+v", m)
	}
	failed := run

	run = bySpec(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Baseline.MinConfidence = "0.95" })
	wantVerdict(t, run, v1alpha1.VerdictPassed, "ObjectivesMet")
	if o := drop(t, run); o.Outcome != v1alpha1.ObjectiveUnproven || !strings.Contains(o.Message, "not proven at minConfidence 0.95") {
		t.Errorf("the bound came out %+v", o)
	}
	wantBaseline(t, s, first.Name) // one that passes takes no pinned one's place

	run = bySpec(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Baseline = v1alpha1.Baseline{Policy: v1alpha1.BaselineNone} })
	wantVerdict(t, run, v1alpha1.VerdictPassed, "ObjectivesMet")
	if o := drop(t, run); o.Outcome != v1alpha1.ObjectiveNoBaseline || !strings.Contains(o.Message, "baseline.policy is None") || run.Status.BaselineRun != "" {
		t.Errorf("the bound came out %+v, against %q", o, run.Status.BaselineRun)
	}
	wantBaseline(t, s, "")
	if c := meta.FindStatusCondition(s.Status.Conditions, "BaselineComparable"); c != nil {
		t.Errorf("a suite without a baseline has %+v", c)
	}

	run = bySpec(t, s, func(s *v1alpha1.EvalSuite) {
		s.Spec.Baseline = v1alpha1.Baseline{Policy: v1alpha1.BaselineNone, OnNotComparable: v1alpha1.NotComparableInconclusive}
	})
	wantVerdict(t, run, v1alpha1.VerdictInconclusive, "NoBaseline", "baseline.policy is None")

	run = bySpec(t, s, func(s *v1alpha1.EvalSuite) {
		s.Spec.Baseline = v1alpha1.Baseline{Policy: v1alpha1.BaselinePinned, RunName: failed.Name}
	})
	wantVerdict(t, run, v1alpha1.VerdictInconclusive, "BaselineLost", "the baseline, run "+failed.Name+", cannot be used: it came out Failed, and only a run that passed is a baseline")
}

func TestAGoldenSetThatMovesAwayFromItsBaseline(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	use, _ := keeping(t)
	startOperator(t, ns, use)
	s, first := comparing(t, ns, stub)
	edited := func(n int, ids ...string) *v1alpha1.EvalRun {
		t.Helper()
		applyGolden(t, ns, "golden", goldenOf(ids...))
		runs := ended(t, ns, n)
		i := slices.IndexFunc(runs, func(r v1alpha1.EvalRun) bool {
			return r.Status.CompletionTime != nil && r.Status.Progress != nil && int(*r.Status.Progress.Total) == len(ids)
		})
		return known(t, s, &runs[i])
	}
	// Half of it is as it was.
	stub.behave(losing("b4", "b5"))
	run := edited(2, "b1", "b2", "b3", "b4", "b5", "c1", "c2", "c3", "c4")
	wantVerdict(t, run, v1alpha1.VerdictFailed, "ObjectivesMissed", "hit_rate@5 fell from 1.0000 to 0.6000 (on 5 cases")
	wantComparable(t, run.Status.Conditions, metav1.ConditionTrue, "Comparable", "on 5 of 9 cases; the golden set changed: 4 added, 0 edited, 5 removed")
	// Less than half.
	run = edited(3, "b1", "b2", "c1", "c2", "c3")
	wantVerdict(t, run, v1alpha1.VerdictPassed, "ObjectivesMet")
	if o := drop(t, run); o.Outcome != v1alpha1.ObjectiveNoBaseline || !strings.Contains(o.Message, "only 2 of 5 cases are the same in "+first.Name) {
		t.Errorf("the bound came out %+v", o)
	}
	if m := metric(t, run, "hit_rate@5", ""); m.Delta != "" || m.Baseline != "" {
		t.Errorf("compared all the same: %+v", m)
	}
	c := condition(t, s, "BaselineComparable", metav1.ConditionFalse, "TooFewInCommon")
	if !strings.Contains(c.Message, "only 2 of 5 cases are the same") {
		t.Errorf("the suite says %q", c.Message)
	}
	wantBaseline(t, s, run.Name) // of the new set
	// None of it.
	run = edited(4, "d1")
	wantComparable(t, run.Status.Conditions, metav1.ConditionFalse, "NothingInCommon", "none of 1 case is the same")
}

func TestABaselineOutlivesPruning(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	use, dsn := keeping(t)
	op := startOperator(t, ns, use)
	s, first := comparing(t, ns, stub, func(s *v1alpha1.EvalSuite) {
		s.Spec.History.PassedRuns, s.Spec.History.FailedRuns = ptr.To(int32(0)), ptr.To(int32(1))
	})
	stub.behave(losing(ten[:4]...))
	var failed []*v1alpha1.EvalRun
	for range 3 {
		failed = append(failed, another(t, s))
		wantVerdict(t, failed[len(failed)-1], v1alpha1.VerdictFailed, "ObjectivesMissed")
	}
	eventually(t, func() error {
		var names []string
		for _, r := range runsOf(t, ns) {
			names = append(names, r.Name)
		}
		want := []string{first.Name, failed[2].Name}
		slices.Sort(names)
		slices.Sort(want)
		if !slices.Equal(names, want) {
			return fmt.Errorf("the runs are %v, want the baseline and the newest failed: %v", names, want)
		}
		return nil
	})
	op.stop()
	store := openHistory(t, dsn)
	for _, run := range append(failed, first) {
		if _, err := store.Run(t.Context(), string(run.UID)); err != nil {
			t.Errorf("run %s is not in the history: %v", run.Name, err)
		}
	}
	// The keeper looks when it starts.
	startOperator(t, ns, use, func(o *operator.Options) { o.HistoryRetention = history.Retention{MaxRuns: 1} })
	eventually(t, func() error {
		page, err := store.Runs(t.Context(), ns, s.Name, history.RunQuery{})
		if err != nil {
			return err
		}
		var have []string
		for _, r := range page.Runs {
			have = append(have, r.Name)
		}
		if want := []string{failed[2].Name, first.Name}; !slices.Equal(have, want) {
			return fmt.Errorf("the history has %v, want %v", have, want)
		}
		return nil
	})
	if run := another(t, s); run.Status.BaselineRun != first.Name {
		t.Errorf("compared with %q, want %s", run.Status.BaselineRun, first.Name)
	}
}

func TestALostBaselineLeavesTheRunOpen(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	use, _ := keeping(t)
	op := startOperator(t, ns, use)
	s, first := comparing(t, ns, stub)
	wantBaseline(t, s, first.Name)
	op.stop()
	use, _ = keeping(t) // another, empty file
	op = startOperator(t, ns, use)
	run := another(t, s)
	wantVerdict(t, run, v1alpha1.VerdictInconclusive, "BaselineLost", "hit_rate@5 cannot be decided: the baseline was known and is lost: the baseline, run "+first.Name+", is not in the history; pin another run, or set baseline.policy to None until one has passed")
	wantComparable(t, run.Status.Conditions, metav1.ConditionUnknown, "BaselineLost", first.Name)
	condition(t, s, "BaselineComparable", metav1.ConditionUnknown, "BaselineLost")
	wantBaseline(t, s, first.Name)

	// As the message says.
	run = bySpec(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Baseline.Policy = v1alpha1.BaselineNone })
	wantVerdict(t, run, v1alpha1.VerdictPassed, "ObjectivesMet")
	passed := run
	run = bySpec(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Baseline.Policy = v1alpha1.BaselineLastPassed })
	wantVerdict(t, run, v1alpha1.VerdictPassed, "ObjectivesMet")
	if run.Status.BaselineRun != passed.Name {
		t.Errorf("compared with %q, want %s", run.Status.BaselineRun, passed.Name)
	}

	// Without any history, what was known is lost, too.
	op.stop()
	startOperator(t, ns)
	wantVerdict(t, another(t, s), v1alpha1.VerdictInconclusive, "BaselineLost", "the operator keeps no history to compare with: start it with --history")
}

func TestACanaryIsComparedAndBecomesNoBaseline(t *testing.T) {
	t.Parallel()
	ns, stub, canary := newNamespace(t), newStub(t), newStub(t)
	use, dsn := keeping(t)
	startOperator(t, ns, use)
	s, first := comparing(t, ns, stub, func(s *v1alpha1.EvalSuite) {
		s.Spec.Endpoints = []v1alpha1.Endpoint{{Name: "canary", RetrieverURL: canary.URL}}
	})
	at := func(r *v1alpha1.EvalRun) { r.Spec.Endpoint, r.Spec.Revision = "canary", "7d9f" }
	canary.behave(losing("a1", "b1"))
	run := another(t, s, at)
	wantVerdict(t, run, v1alpha1.VerdictFailed, "ObjectivesMissed", "hit_rate@5 fell from 1.0000 to 0.8000")
	if run.Status.BaselineRun != first.Name || metric(t, run, "mrr", "").Delta != "-0.2000" {
		t.Errorf("compared with %q", run.Status.BaselineRun)
	}
	canary.behave(perfect)
	run = another(t, s, at)
	wantVerdict(t, run, v1alpha1.VerdictPassed, "ObjectivesMet")
	wantBaseline(t, s, first.Name)
	// Nor does a part of the cases.
	part := newRun(ns, func(r *v1alpha1.EvalRun) { r.Spec.Tags = []string{"a"} })
	must(t, cluster.Create(t.Context(), part))
	eventually(t, func() error {
		if get(t, part).Status.Verdict != v1alpha1.VerdictPassed {
			return fmt.Errorf("not passed: %s %s", part.Status.Verdict, part.Status.Message)
		}
		return nil
	})
	if part.Status.BaselineRun != first.Name || metric(t, part, "mrr", "").Delta != "0.0000" {
		t.Errorf("a part was compared with %q: %+v", part.Status.BaselineRun, metric(t, part, "mrr", ""))
	}
	last, err := openHistory(t, dsn).LastPassed(t.Context(), string(s.UID))
	must(t, err)
	if last.Name != first.Name {
		t.Errorf("the last passed run in the history is %s, want %s", last.Name, first.Name)
	}
	stub.behave(losing("a1"))
	if run := another(t, s); run.Status.BaselineRun != first.Name {
		t.Errorf("compared with %q, want %s", run.Status.BaselineRun, first.Name)
	}
	// Pinned by hand, a canary's run is refused as well.
	wantVerdict(t, bySpec(t, s, func(s *v1alpha1.EvalSuite) {
		s.Spec.Baseline = v1alpha1.Baseline{Policy: v1alpha1.BaselinePinned, RunName: run.Name}
	}), v1alpha1.VerdictInconclusive, "BaselineLost", "only a run of all cases and stages against the suite's own URL is a baseline")
}

// The texts of the baseline are in the history: by them a document is known under
// another id.
func TestABaselineKnowsTextsUnderOtherIDs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		content bool
		rename  func(id string) string
		verdict v1alpha1.Verdict
		reason  string
		message string
	}{
		"the same text": {true, func(id string) string {
			if id[0] == 'a' {
				return "chunk-" + id[1:] + "-of-9"
			}
			return id
		}, v1alpha1.VerdictInconclusive, "LabelsStale", "case q-a1 wants a1, nearest retrieved is chunk-1-of-9 (same text)"},
		"no text is kept": {false, func(id string) string {
			if id[0] == 'a' {
				return "chunk-" + id[1:] + "-of-9"
			}
			return id
		}, v1alpha1.VerdictFailed, "ObjectivesMissed", "hit_rate@5 fell from 1.0000 to 0.5000"},
		"no text is kept, the same base name": {false, func(id string) string {
			if id[0] == 'a' {
				return "kb/v2/" + id
			}
			return id
		}, v1alpha1.VerdictInconclusive, "LabelsStale", "case q-a1 wants a1, nearest retrieved is kb/v2/a1 (same name)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns, stub := newNamespace(t), newStub(t)
			use, _ := keeping(t)
			startOperator(t, ns, use)
			s, _ := comparing(t, ns, stub, func(s *v1alpha1.EvalSuite) { s.Spec.History.StoreContent = ptr.To(tc.content) })
			stub.behave(renaming(tc.rename))
			wantVerdict(t, another(t, s), tc.verdict, tc.reason, tc.message)
		})
	}
}

// A run that a restart interrupts is compared on all of its cases, with the lists
// and the texts of those that the former process asked.
func TestAResumedRunIsComparedWhole(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	use, dsn := keeping(t)
	op := startOperator(t, ns, use)
	s, first := comparing(t, ns, stub, func(s *v1alpha1.EvalSuite) { s.Spec.Retriever.TimeoutSeconds = 300 })
	open := make(chan struct{})
	moved := renaming(func(id string) string {
		if id[0] == 'a' {
			return "chunk-" + id[1:] + "-of-9"
		}
		return id
	})
	stub.behave(func(w http.ResponseWriter, r *http.Request, question string, topK int) {
		if strings.HasPrefix(question, "where is b") {
			select {
			case <-open:
			case <-r.Context().Done():
				return
			}
		}
		moved(w, r, question, topK)
	})
	run := newRun(ns)
	must(t, cluster.Create(t.Context(), run))
	store := openHistory(t, dsn)
	eventually(t, func() error {
		kept, err := store.Checkpoint(t.Context(), string(run.UID))
		if err != nil || len(kept) != 5 {
			return fmt.Errorf("%d cases are kept while the run goes, want 5 (%w)", len(kept), err)
		}
		return nil
	})
	op.stop()
	close(open)
	startOperator(t, ns, use)
	known(t, s, run)
	wantVerdict(t, run, v1alpha1.VerdictInconclusive, "LabelsStale", "5 of 5 relevant ids that are not retrieved any more come back under another id", "case q-a5 wants a5, nearest retrieved is chunk-5-of-9 (same text)")
	if m := metric(t, run, "hit_rate@5", ""); m.Delta != "-0.5000" || run.Status.BaselineRun != first.Name {
		t.Errorf("against %q: %+v", run.Status.BaselineRun, m)
	}
	stub.mu.Lock()
	defer stub.mu.Unlock()
	if n := stub.asked["where is a1"]; n != 2 {
		t.Errorf("a1 was asked %d times in two runs", n)
	}
}

func TestADropThatIsTooFineDrawsAWarning(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	s, _ := comparing(t, ns, stub, func(s *v1alpha1.EvalSuite) { s.Spec.Objectives[0].MaxDrop = "0.05" })
	const of10 = "maxDrop 0.05 of hit_rate@5 is less than what one of its 10 cases weighs (0.1000)"
	wantEvent(t, ns, "DropTooFine", "EvalSuite", of10)
	applyGolden(t, ns, "golden", goldenOf(ten[:5]...))
	wantEvent(t, ns, "DropTooFine", "EvalSuite", "one of its 5 cases weighs (0.2000)")
	update(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Objectives[0].MaxDrop = "0.02" })
	wantEvent(t, ns, "DropTooFine", "EvalSuite", "maxDrop 0.02 of hit_rate@5")
	update(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Objectives[0].MaxDrop = "0.20" })
	ended(t, ns, 4)
	annotate(t, s, v1alpha1.AnnotationRunNow, "1") // no reason to say it again
	ended(t, ns, 5)
	list := &eventsv1.EventList{}
	must(t, cluster.List(t.Context(), list, client.InNamespace(ns)))
	said := 0
	for _, e := range list.Items {
		if e.Reason == "DropTooFine" {
			said++
			if e.Type != "Warning" || e.Series != nil {
				t.Errorf("the Event is %s, series %+v", e.Type, e.Series)
			}
		}
	}
	if said != 3 {
		t.Errorf("it was said %d times, want once for each change that is too fine", said)
	}
}
