package controllers_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/operator"
)

// passed starts a suite that passes, and returns it with its first run behind it.
func passed(t *testing.T, ns string, stub *stub, change ...func(*v1alpha1.EvalSuite)) *v1alpha1.EvalSuite {
	t.Helper()
	applyGolden(t, ns, "golden", goldenOf("a1", "a2", "b1"))
	s := newSuite(ns, stub.URL, change...)
	must(t, cluster.Create(t.Context(), s))
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	return s
}

func annotate(t *testing.T, o client.Object, key, value string) {
	t.Helper()
	must(t, cluster.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value))))
}

func update(t *testing.T, s *v1alpha1.EvalSuite, change func(*v1alpha1.EvalSuite)) {
	t.Helper()
	eventually(t, func() error {
		get(t, s)
		change(s)
		return cluster.Update(t.Context(), s)
	})
}

func newRun(ns string, change ...func(*v1alpha1.EvalRun)) *v1alpha1.EvalRun {
	run := &v1alpha1.EvalRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "docs-bot-"},
		Spec:       v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "docs-bot"}},
	}
	for _, c := range change {
		c(run)
	}
	return run
}

func TestRunNowIsHandledOnce(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	s := passed(t, ns, stub)
	annotate(t, s, v1alpha1.AnnotationRunNow, "monday")
	runs := ended(t, ns, 2)
	if counts := byTrigger(runs); counts[v1alpha1.TriggerManual] != 1 {
		t.Errorf("triggers are %v, want one Manual", counts)
	}
	if got := get(t, s).Status.LastHandledRunNow; got != "monday" {
		t.Errorf("the token in status is %q, want monday", got)
	}
	annotate(t, s, "other", "annotation")
	annotate(t, s, v1alpha1.AnnotationRunNow, "tuesday")
	ended(t, ns, 3)
}

func TestChangesOfTheGoldenSetRunOnceEach(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	s := passed(t, ns, stub)
	first := s.Status.GoldenSet.Digest

	applyGolden(t, ns, "golden", goldenOf("a1", "a2"))
	ended(t, ns, 2)
	applyGolden(t, ns, "golden", goldenOf("a1", "a2", "b1")) // A, B, A
	runs := ended(t, ns, 3)
	if counts := byTrigger(runs); counts[v1alpha1.TriggerGoldenSet] != 2 {
		t.Errorf("triggers are %v, want two GoldenSet", counts)
	}
	applyGolden(t, ns, "golden", goldenOf("b1", "a2", "a1")) // only another order
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	if got := get(t, s).Status.GoldenSet.Digest; got != first {
		t.Errorf("the digest is %s after a reordering, want %s", got, first)
	}
	if runs := runsOf(t, ns); len(runs) != 3 {
		t.Errorf("a reordering started a run: %s", describe(runs))
	}
}

func TestGoldenSetChangesCanBeLeftToTheSchedule(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	s := passed(t, ns, stub, func(s *v1alpha1.EvalSuite) { s.Spec.OnGoldenSetChange = ptr.To(false) })
	applyGolden(t, ns, "golden", goldenOf("a1"))
	condition(t, s, "Passing", metav1.ConditionUnknown, "GoldenSetNotEvaluated")
	if runs := runsOf(t, ns); len(runs) != 1 {
		t.Errorf("runs are %s, want one", describe(runs))
	}
}

func TestOnlyChangesThatMatterRun(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	s := passed(t, ns, stub)
	digest := s.Status.EvaluationDigest

	update(t, s, func(s *v1alpha1.EvalSuite) {
		s.Spec.Schedule, s.Spec.TimeZone = "0 */6 * * *", "Asia/Seoul"
		s.Spec.History.PassedRuns = ptr.To(int32(7))
		s.Spec.Scoring.K = []int32{1, 3, 5} // what the default is
	})
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	if s.Status.EvaluationDigest != digest {
		t.Error("a schedule, a history limit and a written-out default changed the evaluation digest")
	}
	if s.Status.NextScheduleTime == "" {
		t.Error("no next time of the schedule in status")
	}
	if runs := runsOf(t, ns); len(runs) != 1 {
		t.Errorf("runs are %s, want one", describe(runs))
	}
	update(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Retriever.TopK = 6 })
	runs := ended(t, ns, 2)
	if counts := byTrigger(runs); counts[v1alpha1.TriggerSpec] != 2 {
		t.Errorf("triggers are %v, want two Spec", counts)
	}
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	if s.Status.EvaluationDigest == digest {
		t.Error("another topK left the evaluation digest as it was")
	}
}

func TestASuspendedSuiteRunsByHandAlone(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	s := passed(t, ns, stub)
	update(t, s, func(s *v1alpha1.EvalSuite) {
		s.Spec.Suspend = ptr.To(true)
		s.Spec.Retriever.TopK = 6
	})
	condition(t, s, "Passing", metav1.ConditionUnknown, "SpecNotEvaluated")
	must(t, cluster.Create(t.Context(), newRun(ns, func(r *v1alpha1.EvalRun) { r.Spec.Tags = []string{"a"} })))
	ended(t, ns, 2)
	update(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Suspend = nil })
	runs := ended(t, ns, 3) // the change that happened meanwhile, once
	if counts := byTrigger(runs); counts[v1alpha1.TriggerSpec] != 2 || counts[v1alpha1.TriggerManual] != 1 {
		t.Errorf("triggers are %v, want two Spec and one Manual", counts)
	}
}

func TestRunsByHand(t *testing.T) {
	t.Parallel()
	ns, stub, canary := newNamespace(t), newStub(t), newStub(t)
	canary.behave(wrong)
	startOperator(t, ns)
	s := passed(t, ns, stub, func(s *v1alpha1.EvalSuite) {
		s.Spec.Endpoints = []v1alpha1.Endpoint{{Name: "canary", RetrieverURL: canary.URL}}
	})
	for name, tc := range map[string]struct {
		change  func(*v1alpha1.EvalRun)
		verdict v1alpha1.Verdict
		reason  string
		check   func(*testing.T, *v1alpha1.EvalRun)
	}{
		"whole": {func(*v1alpha1.EvalRun) {}, v1alpha1.VerdictPassed, "ObjectivesMet", nil},
		"endpoint": {
			func(r *v1alpha1.EvalRun) { r.Spec.Endpoint, r.Spec.Revision = "canary", "7d9f" },
			v1alpha1.VerdictFailed, "ObjectivesMissed",
			func(t *testing.T, r *v1alpha1.EvalRun) {
				if r.Status.Revision != "7d9f" || canary.count() != 3 {
					t.Errorf("revision %q, %d calls to the canary", r.Status.Revision, canary.count())
				}
			},
		},
		"tags": {
			func(r *v1alpha1.EvalRun) { r.Spec.Tags = []string{"b"} },
			v1alpha1.VerdictPassed, "ObjectivesMet",
			func(t *testing.T, r *v1alpha1.EvalRun) {
				if r.Status.ProgressText != "1/1" {
					t.Errorf("progress is %q, want 1/1", r.Status.ProgressText)
				}
			},
		},
		"topK": {
			func(r *v1alpha1.EvalRun) { r.Spec.TopK = ptr.To(int32(3)) },
			v1alpha1.VerdictInconclusive, "MetricAbsent",
			func(t *testing.T, r *v1alpha1.EvalRun) {
				if slices.ContainsFunc(r.Status.Metrics, func(m v1alpha1.RunMetric) bool { return m.Name == "hit_rate@5" }) {
					t.Error("there is a metric at 5 for a topK of 3")
				}
			},
		},
		"no endpoint": {
			func(r *v1alpha1.EvalRun) { r.Spec.Endpoint = "absent" },
			v1alpha1.VerdictError, "EndpointUnknown",
			func(t *testing.T, r *v1alpha1.EvalRun) {
				if r.Status.SuiteEvaluationDigest == "" {
					t.Error("a run that could not begin does not say of which suite as it was")
				}
			},
		},
		"no tag": {func(r *v1alpha1.EvalRun) { r.Spec.Tags = []string{"absent"} }, v1alpha1.VerdictError, "NoCases", nil},
	} {
		t.Run(name, func(t *testing.T) {
			run := newRun(ns, tc.change)
			must(t, cluster.Create(t.Context(), run))
			eventually(t, func() error {
				if get(t, run).Status.Verdict == "" {
					return fmt.Errorf("not ended: %+v", run.Status.Conditions)
				}
				return nil
			})
			if run.Status.Verdict != tc.verdict || run.Status.Reason != tc.reason {
				t.Errorf("verdict is %s %s (%s), want %s %s", run.Status.Verdict, run.Status.Reason, run.Status.Message, tc.verdict, tc.reason)
			}
			if !metav1.IsControlledBy(run, s) {
				t.Error("the run was not adopted")
			}
			if tc.check != nil {
				tc.check(t, run)
			}
		})
	}
	c := condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	if !strings.Contains(c.Message, "hit_rate@5") {
		t.Errorf("Passing says %q", c.Message)
	}
	eventually(t, func() error {
		var endpoints []string
		for _, r := range get(t, s).Status.Results {
			endpoints = append(endpoints, r.Endpoint+"/"+r.Revision)
		}
		slices.Sort(endpoints)
		if want := []string{"/none", "canary/7d9f"}; !slices.Equal(endpoints, want) {
			return fmt.Errorf("results are of %v, want %v", endpoints, want)
		}
		return nil
	})
}

func TestARunWaitsForItsSuite(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	run := newRun(ns)
	must(t, cluster.Create(t.Context(), run))
	eventually(t, func() error {
		c := meta.FindStatusCondition(get(t, run).Status.Conditions, "Complete")
		if c == nil || c.Reason != "SuiteNotFound" || !strings.Contains(c.Message, `"docs-bot"`) {
			return fmt.Errorf("condition is %+v", c)
		}
		return nil
	})
	passed(t, ns, stub)
	eventually(t, func() error {
		if v := get(t, run).Status.Verdict; v != v1alpha1.VerdictPassed {
			return fmt.Errorf("verdict is %q", v)
		}
		return nil
	})
}

// gate lets a test hold a retriever's answers back.
type gate struct {
	mu   sync.Mutex
	open chan struct{}
	gone int
}

func (g *gate) hold(w http.ResponseWriter, r *http.Request, question string, topK int) {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
		perfect(w, r, question, topK)
	case <-r.Context().Done():
		g.mu.Lock()
		g.gone++
		g.mu.Unlock()
	}
}

func (g *gate) left() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.gone
}

// held starts a suite whose first run is held at its calls.
func held(t *testing.T, ns string, stub *stub, change ...func(*v1alpha1.EvalSuite)) (*v1alpha1.EvalSuite, *gate) {
	t.Helper()
	g := &gate{open: make(chan struct{})}
	stub.behave(g.hold)
	applyGolden(t, ns, "golden", goldenOf("a1", "a2", "b1"))
	s := newSuite(ns, stub.URL, append(change, func(s *v1alpha1.EvalSuite) { s.Spec.Retriever.TimeoutSeconds = 300 })...)
	must(t, cluster.Create(t.Context(), s))
	eventually(t, func() error {
		if stub.count() != 3 {
			return fmt.Errorf("%d calls are held, want 3", stub.count())
		}
		return nil
	})
	return s, g
}

func TestDeletingARunStopsItAtOnce(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	s, g := held(t, ns, stub)
	run := runsOf(t, ns)[0]
	must(t, cluster.Delete(t.Context(), &run))
	eventually(t, func() error {
		if g.left() != 3 {
			return fmt.Errorf("%d of 3 calls were given up", g.left())
		}
		return nil
	})
	// It does not come back by itself; by hand it does.
	close(g.open)
	annotate(t, s, v1alpha1.AnnotationRunNow, "again")
	runs := ended(t, ns, 1)
	if runs[0].Spec.Trigger != v1alpha1.TriggerManual {
		t.Errorf("runs are %s, want the one by hand", describe(runs))
	}
}

func TestDeletingTheSuiteStopsItsRun(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	s, g := held(t, ns, stub)
	must(t, cluster.Delete(t.Context(), s))
	run := ended(t, ns, 1)[0] // no garbage collector runs here
	if run.Status.Verdict != v1alpha1.VerdictInconclusive || run.Status.Reason != "SuiteDeleted" {
		t.Errorf("verdict is %s %s, want Inconclusive SuiteDeleted", run.Status.Verdict, run.Status.Reason)
	}
	if g.left() != 3 {
		t.Errorf("%d of 3 calls were given up", g.left())
	}
	// A suite of the same name is another suite, and gets its run.
	close(g.open)
	s = newSuite(ns, stub.URL)
	must(t, cluster.Create(t.Context(), s))
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	ended(t, ns, 2)
}

func TestCancellingByAnnotation(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	held(t, ns, stub)
	run := runsOf(t, ns)[0]
	annotate(t, &run, v1alpha1.AnnotationCancel, "please")
	run = ended(t, ns, 1)[0]
	if run.Status.Verdict != v1alpha1.VerdictInconclusive || run.Status.Reason != "Canceled" {
		t.Errorf("verdict is %s %s, want Inconclusive Canceled", run.Status.Verdict, run.Status.Reason)
	}
}

func TestAConfigMapDeletedDuringARun(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	s, g := held(t, ns, stub)
	must(t, cluster.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "golden"}}))
	condition(t, s, "Stalled", metav1.ConditionTrue, "GoldenSetNotFound")
	close(g.open)
	if run := ended(t, ns, 1)[0]; run.Status.Verdict != v1alpha1.VerdictPassed {
		t.Errorf("verdict is %s (%s), want Passed: the run has its cases", run.Status.Verdict, run.Status.Message)
	}
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
}

func TestASuiteEditedDuringARun(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	s, g := held(t, ns, stub)
	before := get(t, s).Status.EvaluationDigest
	update(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Objectives[0].Min = "0.5" })
	close(g.open)
	runs := ended(t, ns, 2)
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	digests := []string{runs[0].Status.SuiteEvaluationDigest, runs[1].Status.SuiteEvaluationDigest}
	if !slices.Contains(digests, before) || !slices.Contains(digests, s.Status.EvaluationDigest) || digests[0] == digests[1] {
		t.Errorf("the runs carry %v, want the old digest %s and the new one %s", digests, before, s.Status.EvaluationDigest)
	}
}

func TestProgressIsWrittenWhileTheRunGoes(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	// Every answer takes as long as the progress that the test waits for.
	steps := make(chan struct{})
	stub.behave(func(w http.ResponseWriter, r *http.Request, question string, topK int) {
		select {
		case <-steps:
			perfect(w, r, question, topK)
		case <-r.Context().Done():
		}
	})
	var ids []string
	for i := range 400 {
		ids = append(ids, fmt.Sprintf("a%d", i))
	}
	applyGolden(t, ns, "golden", goldenOf(ids...))
	must(t, cluster.Create(t.Context(), newSuite(ns, stub.URL, func(s *v1alpha1.EvalSuite) { s.Spec.Execution.Parallelism = 1 })))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			select {
			case steps <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	eventually(t, func() error {
		runs := runsOf(t, ns)
		if len(runs) != 1 || runs[0].Status.Progress == nil {
			return fmt.Errorf("no progress: %s", describe(runs))
		}
		p := runs[0].Status.Progress
		if *p.Done == 0 || *p.Done == *p.Total {
			return fmt.Errorf("progress is %s", runs[0].Status.ProgressText)
		}
		return nil
	})
	run := runsOf(t, ns)[0]
	must(t, cluster.Delete(t.Context(), &run))
}

func TestTheQueueHoldsTen(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	_, g := held(t, ns, stub)
	for range 11 {
		must(t, cluster.Create(t.Context(), newRun(ns)))
	}
	eventually(t, func() error {
		full, queued := 0, 0
		for _, r := range runsOf(t, ns) {
			if r.Status.Reason == "QueueFull" {
				full++
			} else if c := meta.FindStatusCondition(r.Status.Conditions, "Complete"); c != nil && c.Reason == "Queued" {
				queued++
			}
		}
		if full != 1 || queued != 10 {
			return fmt.Errorf("%d full and %d queued, want 1 and 10", full, queued)
		}
		return nil
	})
	close(g.open)
	eventually(t, func() error {
		for _, r := range runsOf(t, ns) {
			if r.Status.Verdict == "" {
				return fmt.Errorf("waits: %s", r.Name)
			}
		}
		return nil
	})
}

func TestHistoryIsPruned(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	s := passed(t, ns, stub, func(s *v1alpha1.EvalSuite) {
		s.Spec.History = v1alpha1.History{PassedRuns: ptr.To(int32(2)), FailedRuns: ptr.To(int32(0))}
	})
	for i := range 3 {
		annotate(t, s, v1alpha1.AnnotationRunNow, fmt.Sprint(i))
		eventually(t, func() error {
			get(t, s)
			if s.Status.LastHandledRunNow != fmt.Sprint(i) {
				return fmt.Errorf("token is %q", s.Status.LastHandledRunNow)
			}
			for _, r := range runsOf(t, ns) {
				if r.Status.Verdict == "" {
					return fmt.Errorf("%s goes on", r.Name)
				}
			}
			return nil
		})
	}
	ended(t, ns, 2)
	stub.behave(wrong)
	annotate(t, s, v1alpha1.AnnotationRunNow, "fail")
	condition(t, s, "Passing", metav1.ConditionFalse, "ObjectivesMissed")
	runs := ended(t, ns, 2)
	for _, r := range runs {
		if r.Status.Verdict != v1alpha1.VerdictPassed {
			t.Errorf("failedRuns is 0, but %s is kept", describe(runs))
		}
	}
	if get(t, s).Status.HitRate != "0.3333" {
		t.Error("the numbers of a run went with its object")
	}
}

func TestARestartRunsOnceMoreAndStartsNothingNew(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	first := startOperator(t, ns)
	s, g := held(t, ns, stub)
	first.stop()
	if run := runsOf(t, ns)[0]; run.Status.Verdict != "" {
		t.Fatalf("a shutdown gave a verdict: %s", describe([]v1alpha1.EvalRun{run}))
	}
	close(g.open)
	startOperator(t, ns)
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	ended(t, ns, 1)
	if stub.count() != 6 {
		t.Errorf("%d calls, want 3 before and 3 after", stub.count())
	}
}

func TestARunInterruptedByARestartAndAnEdit(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	first := startOperator(t, ns)
	s, g := held(t, ns, stub)
	first.stop()
	update(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Retriever.TopK = 7 })
	close(g.open)
	startOperator(t, ns)
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	reasons := map[string]int{}
	for _, r := range ended(t, ns, 2) {
		reasons[r.Status.Reason]++
	}
	if reasons["SuiteChanged"] != 1 || reasons["ObjectivesMet"] != 1 {
		t.Errorf("reasons are %v, want SuiteChanged and ObjectivesMet", reasons)
	}
}

func TestTwoOperatorsStartEachRunOnce(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	elect := func(o *operator.Options) { o.LeaderElect, o.LeaderElectNamespace = true, ns }
	first := startOperator(t, ns, elect)
	startOperator(t, ns, elect)
	s := passed(t, ns, stub)
	annotate(t, s, v1alpha1.AnnotationRunNow, "1")
	ended(t, ns, 2)
	first.stop() // the other takes over
	annotate(t, s, v1alpha1.AnnotationRunNow, "2")
	ended(t, ns, 3)
	if stub.count() != 9 {
		t.Errorf("%d calls for 3 runs of 3 cases, want 9", stub.count())
	}
}

func TestARunsNameThatIsTaken(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	op := startOperator(t, ns)
	s := passed(t, ns, stub)
	op.stop()
	// Somebody makes a run of the name that the next one by hand will have.
	name := nameOf(s, "Manual", "run-now:x")
	must(t, cluster.Create(t.Context(), newRun(ns, func(r *v1alpha1.EvalRun) {
		r.GenerateName, r.Name, r.Spec.Tags = "", name, []string{"a"}
	})))
	annotate(t, s, v1alpha1.AnnotationRunNow, "x")
	startOperator(t, ns)
	wantEvent(t, ns, "RunNameTaken", "EvalSuite", name)
}

func TestARunCannotBeEdited(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	passed(t, ns, stub)
	run := &runsOf(t, ns)[0]
	run.Status.Verdict = v1alpha1.VerdictFailed
	if err := cluster.Status().Update(t.Context(), run); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "final") {
		t.Errorf("changing a verdict gave %v", err)
	}
}

func TestARunEndsAtItsDeadlineAndKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	stub.behave(func(w http.ResponseWriter, r *http.Request, question string, topK int) {
		if question == "where is b1" {
			<-r.Context().Done()
			return
		}
		perfect(w, r, question, topK)
	})
	startOperator(t, ns)
	applyGolden(t, ns, "golden", goldenOf("a1", "a2", "b1"))
	must(t, cluster.Create(t.Context(), newSuite(ns, stub.URL, func(s *v1alpha1.EvalSuite) {
		s.Spec.Execution.TimeoutSeconds = 1
		s.Spec.Retriever.TimeoutSeconds = 300
	})))
	run := ended(t, ns, 1)[0]
	if run.Status.Verdict != v1alpha1.VerdictInconclusive || run.Status.Reason != "DeadlineExceeded" {
		t.Errorf("verdict is %s %s (%s), want Inconclusive DeadlineExceeded", run.Status.Verdict, run.Status.Reason, run.Status.Message)
	}
	if run.Status.ProgressText != "2/3" || run.Status.HitRate != "1.0000" || run.Status.Coverage.Retrieval != "0.6667" {
		t.Errorf("progress %q, hit rate %q, coverage %q; want 2/3, 1.0000, 0.6667", run.Status.ProgressText, run.Status.HitRate, run.Status.Coverage.Retrieval)
	}
}
