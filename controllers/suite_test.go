package controllers_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
)

func TestANewSuiteRunsAndPasses(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	applyGolden(t, ns, "golden", goldenOf("a1", "a2", "b1"))
	s := newSuite(ns, stub.URL)
	must(t, cluster.Create(t.Context(), s))

	passing := condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	if want := "hit_rate@5"; !strings.Contains(passing.Message, want) {
		t.Errorf("Passing says %q, want it to name %s", passing.Message, want)
	}
	condition(t, s, "Ready", metav1.ConditionTrue, "Succeeded")
	condition(t, s, "Reconciling", metav1.ConditionFalse, "Succeeded")
	condition(t, s, "Stalled", metav1.ConditionFalse, "Succeeded")

	run := ended(t, ns, 1)[0]
	if run.Spec.Trigger != v1alpha1.TriggerSpec || run.Status.Verdict != v1alpha1.VerdictPassed {
		t.Errorf("run is %s %s, want Spec Passed", run.Spec.Trigger, run.Status.Verdict)
	}
	if !metav1.IsControlledBy(&run, s) {
		t.Error("the run is not owned by its suite")
	}
	if got := run.Status.ProgressText; got != "3/3" {
		t.Errorf("progress is %q, want 3/3", got)
	}
	st := s.Status
	if st.HitRate != "1.0000" || st.MRR != "1.0000" {
		t.Errorf("headline is %q, %q, want 1.0000 twice", st.HitRate, st.MRR)
	}
	if st.GoldenSet == nil || *st.GoldenSet.Cases != 3 || *st.GoldenSet.Tags != 2 || !strings.HasPrefix(st.GoldenSet.Digest, "sha256:") {
		t.Errorf("golden set is %+v", st.GoldenSet)
	}
	if st.Plan == nil || *st.Plan.Calls != 3 {
		t.Errorf("plan is %+v, want 3 calls", st.Plan)
	}
	if st.LastRun == nil || st.LastRun.Name != run.Name || st.LastRun.Coverage.Retrieval != "1.0000" || len(st.LastRun.Metrics) == 0 {
		t.Errorf("lastRun is %+v", st.LastRun)
	}
	if len(st.Results) != 1 || st.Results[0].Run != run.Name || st.Results[0].EvaluationDigest != st.EvaluationDigest {
		t.Errorf("results are %+v", st.Results)
	}
	if st.LastPassTime == nil || *st.ObservedGeneration != s.Generation {
		t.Errorf("lastPassTime %v, observedGeneration %v", st.LastPassTime, st.ObservedGeneration)
	}
	if complete := meta.FindStatusCondition(run.Status.Conditions, "Complete"); complete == nil || complete.Status != metav1.ConditionTrue {
		t.Errorf("the run's Complete is %+v", complete)
	}
	if stub.count() != 3 {
		t.Errorf("the retriever was asked %d times, want 3", stub.count())
	}
}

func TestAMissedObjectiveFailsAndIsNamed(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	stub.behave(wrong)
	startOperator(t, ns)
	applyGolden(t, ns, "golden", goldenOf("a1", "a2"))
	s := newSuite(ns, stub.URL)
	must(t, cluster.Create(t.Context(), s))

	c := condition(t, s, "Passing", metav1.ConditionFalse, "ObjectivesMissed")
	for _, want := range []string{"hit_rate@5", "0.5000", "0.90"} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("Passing says %q, want it to hold %q", c.Message, want)
		}
	}
	condition(t, s, "Ready", metav1.ConditionTrue, "Succeeded") // quality is not the operator's work on the spec
	run := ended(t, ns, 1)[0]
	if len(run.Status.WorstCases) != 2 || run.Status.WorstCases[0].Rank != nil {
		t.Errorf("worst cases are %+v, want two without a rank", run.Status.WorstCases)
	}
	wantEvent(t, ns, "RunFailed", "EvalSuite", "hit_rate@5")
}

// wantEvent waits for an Event about a kind whose note holds a text.
func wantEvent(t *testing.T, namespace, reason, kind, text string) {
	t.Helper()
	eventually(t, func() error {
		list := &eventsv1.EventList{}
		if err := cluster.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			return err
		}
		var have []string
		for _, e := range list.Items {
			if e.Reason == reason && e.Regarding.Kind == kind && strings.Contains(e.Note, text) {
				return nil
			}
			have = append(have, fmt.Sprintf("%s %s: %s", e.Regarding.Kind, e.Reason, e.Note))
		}
		return fmt.Errorf("no Event %s about the %s with %q; there are:\n%s", reason, kind, text, strings.Join(have, "\n"))
	})
}

func TestARetrieverThatIsDownEndsAsError(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	stub.behave(broken)
	startOperator(t, ns)
	applyGolden(t, ns, "golden", goldenOf("a1", "a2"))
	s := newSuite(ns, stub.URL)
	must(t, cluster.Create(t.Context(), s))

	c := condition(t, s, "Passing", metav1.ConditionUnknown, "RunError")
	if !strings.Contains(c.Message, "500") {
		t.Errorf("Passing says %q, want the status 500 in it", c.Message)
	}
	run := ended(t, ns, 1)[0]
	if run.Status.Verdict != v1alpha1.VerdictError || run.Status.Reason != "NothingScored" {
		t.Errorf("verdict is %s %s, want Error NothingScored", run.Status.Verdict, run.Status.Reason)
	}
	if s.Status.HitRate != "" || s.Status.LastRun != nil {
		t.Errorf("a run that scored nothing left numbers: %q, %+v", s.Status.HitRate, s.Status.LastRun)
	}
	if o := run.Status.Outcomes; len(o) != 1 || o[0].Type != "RetrieverHTTPError" || *o[0].Count != 2 {
		t.Errorf("outcomes are %+v, want two RetrieverHTTPError", o)
	}
}

func TestALostCallKeepsTheScoresAndSaysTheCoverage(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	stub.behave(func(w http.ResponseWriter, r *http.Request, question string, topK int) {
		if question == "where is a1" {
			broken(w, r, question, topK)
			return
		}
		perfect(w, r, question, topK)
	})
	startOperator(t, ns)
	applyGolden(t, ns, "golden", goldenOf("a1", "a2", "a3", "a4"))
	s := newSuite(ns, stub.URL)
	must(t, cluster.Create(t.Context(), s))

	run := ended(t, ns, 1)[0]
	if run.Status.Verdict != v1alpha1.VerdictInconclusive || run.Status.Reason != "CoverageTooLow" {
		t.Errorf("verdict is %s %s, want Inconclusive CoverageTooLow", run.Status.Verdict, run.Status.Reason)
	}
	if run.Status.HitRate != "1.0000" || run.Status.Coverage.Retrieval != "0.7500" {
		t.Errorf("hit rate %q at coverage %q, want 1.0000 at 0.7500", run.Status.HitRate, run.Status.Coverage.Retrieval)
	}
	c := condition(t, s, "Passing", metav1.ConditionUnknown, "Inconclusive")
	if !strings.Contains(c.Message, "0.95") {
		t.Errorf("Passing says %q, want the coverage that is asked for in it", c.Message)
	}
}

func TestABadGoldenSetStallsAndLeavesTheResults(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	applyGolden(t, ns, "golden", goldenOf("a1", "a2"))
	s := newSuite(ns, stub.URL)
	must(t, cluster.Create(t.Context(), s))
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	digest := s.Status.GoldenSet.Digest

	applyGolden(t, ns, "golden", goldenOf("a1", "a1")+"- question: ''\n")
	c := condition(t, s, "Stalled", metav1.ConditionTrue, "GoldenSetInvalid")
	for _, want := range []string{"golden.yaml", "q-a1", "question"} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("Stalled says %q, want it to hold %q", c.Message, want)
		}
	}
	condition(t, s, "Ready", metav1.ConditionFalse, "GoldenSetInvalid")
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	if s.Status.GoldenSet.Digest != digest || s.Status.HitRate != "1.0000" {
		t.Errorf("the last results did not stay: %+v, %q", s.Status.GoldenSet, s.Status.HitRate)
	}
	wantEvent(t, ns, "GoldenSetInvalid", "EvalSuite", "golden.yaml")

	applyGolden(t, ns, "golden", goldenOf("a1", "a2"))
	condition(t, s, "Ready", metav1.ConditionTrue, "Succeeded")
	if runs := ended(t, ns, 1); runs[0].Spec.Trigger != v1alpha1.TriggerSpec {
		t.Errorf("the same golden set came back and started %s", runs[0].Spec.Trigger)
	}
}

func TestAMissingSecretStallsUntilItAppears(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	stub.behave(func(w http.ResponseWriter, r *http.Request, question string, topK int) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		perfect(w, r, question, topK)
	})
	startOperator(t, ns)
	applyGolden(t, ns, "golden", goldenOf("a1"))
	s := newSuite(ns, stub.URL, func(s *v1alpha1.EvalSuite) {
		s.Spec.Retriever.Auth = &v1alpha1.Auth{BearerTokenSecretRef: &v1alpha1.SecretKeySelector{Name: "bot", Key: "token"}}
	})
	must(t, cluster.Create(t.Context(), s))
	c := condition(t, s, "Stalled", metav1.ConditionTrue, "SecretNotFound")
	if want := `the Secret "bot" of spec.retriever.auth.bearerTokenSecretRef does not exist`; !strings.Contains(c.Message, want) {
		t.Errorf("Stalled says %q, want %q in it", c.Message, want)
	}
	if runs := runsOf(t, ns); len(runs) != 0 {
		t.Errorf("a stalled suite started %s", describe(runs))
	}

	must(t, cluster.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "bot"},
		StringData: map[string]string{"token": "s3cret\n"},
	}))
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	wantEvent(t, ns, "Succeeded", "EvalSuite", "SecretNotFound is no more")
	wantEvent(t, ns, "RunCreated", "EvalSuite", "the suite is new")
}

func TestMistakesThatTheCRDCannotSeeStall(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	applyGolden(t, ns, "golden", goldenOf("a1"))
	for name, tc := range map[string]struct {
		change func(*v1alpha1.EvalSuite)
		reason string
		says   string
	}{
		"cron":    {func(s *v1alpha1.EvalSuite) { s.Spec.Schedule = "61 * * * *" }, "InvalidSchedule", "61"},
		"never":   {func(s *v1alpha1.EvalSuite) { s.Spec.Schedule = "0 0 31 2 *" }, "InvalidSchedule", "no date ever matches"},
		"zone":    {func(s *v1alpha1.EvalSuite) { s.Spec.Schedule, s.Spec.TimeZone = "0 0 * * *", "Asia/Soeul" }, "InvalidSchedule", "Asia/Soeul"},
		"mapping": {func(s *v1alpha1.EvalSuite) { s.Spec.Retriever.Results = "response.hits.map(h," }, "InvalidMapping", "results"},
		"costly":  {func(s *v1alpha1.EvalSuite) { s.Spec.Retriever.Request = costly }, "InvalidMapping", "request"},
		"params":  {func(s *v1alpha1.EvalSuite) { s.Spec.Retriever.Preset = v1alpha1.PresetOpenSearch }, "InvalidMapping", "params"},
		"tag":     {func(s *v1alpha1.EvalSuite) { s.Spec.Objectives[0].Tag = ptr.To("nobody") }, "InvalidObjective", "nobody"},
		"no map":  {func(s *v1alpha1.EvalSuite) { s.Spec.GoldenSet.ConfigMapRef.Name = "absent" }, "GoldenSetNotFound", "absent"},
		"no key":  {func(s *v1alpha1.EvalSuite) { s.Spec.GoldenSet.ConfigMapRef.Key = "absent.yaml" }, "GoldenSetNotFound", "absent.yaml"},
		"no case": {func(s *v1alpha1.EvalSuite) { s.Spec.GoldenSet.Tags = []string{"nobody"} }, "GoldenSetInvalid", "nobody"},
		"no match": {func(s *v1alpha1.EvalSuite) {
			s.Spec.GoldenSet = v1alpha1.GoldenSet{ConfigMapSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
		}, "GoldenSetNotFound", "a=b"},
		"certificate": {func(s *v1alpha1.EvalSuite) {
			s.Spec.Retriever.TLS = &v1alpha1.TLS{CABundleRef: &v1alpha1.CABundleReference{Name: "golden", Key: "golden.yaml"}}
		}, "InvalidTLS", "BEGIN CERTIFICATE"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(ns, stub.URL, tc.change)
			s.Name = "bad-" + strings.ReplaceAll(name, " ", "-")
			must(t, cluster.Create(t.Context(), s))
			c := condition(t, s, "Stalled", metav1.ConditionTrue, tc.reason)
			if !strings.Contains(c.Message, tc.says) {
				t.Errorf("it says %q, want %q in it", c.Message, tc.says)
			}
			condition(t, s, "Ready", metav1.ConditionFalse, tc.reason)
		})
	}
	if stub.count() != 0 || len(runsOf(t, ns)) != 0 {
		t.Errorf("stalled suites made %d calls and %d runs", stub.count(), len(runsOf(t, ns)))
	}
}

// costly compiles and would take for ever.
const costly = `{"x": "` + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" + `".split("").map(a, question.split("").map(b, question.split("").map(c, question.split("").map(d, question.split("").map(e, a + b + c + d + e)))))}`

func TestWithoutObjectivesNothingPasses(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	applyGolden(t, ns, "golden", goldenOf("a1"))
	s := newSuite(ns, stub.URL, func(s *v1alpha1.EvalSuite) { s.Spec.Objectives = nil })
	must(t, cluster.Create(t.Context(), s))
	if run := ended(t, ns, 1)[0]; run.Status.Verdict != v1alpha1.VerdictInconclusive || run.Status.Reason != "NoObjectives" {
		t.Errorf("verdict is %s %s, want Inconclusive NoObjectives", run.Status.Verdict, run.Status.Reason)
	}
	condition(t, s, "Passing", metav1.ConditionUnknown, "NoObjectives")
}

func TestAVerdictExpires(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	applyGolden(t, ns, "golden", goldenOf("a1"))
	s := newSuite(ns, stub.URL, func(s *v1alpha1.EvalSuite) { s.Spec.Gate.MaxAgeSeconds = 1 })
	must(t, cluster.Create(t.Context(), s))
	c := condition(t, s, "Passing", metav1.ConditionUnknown, "Expired")
	if !strings.Contains(c.Message, "Passed") {
		t.Errorf("it says %q, want the verdict in it", c.Message)
	}
	must(t, cluster.Get(t.Context(), client.ObjectKeyFromObject(s), s))
	s.Spec.Gate.MaxAgeSeconds = 3600
	must(t, cluster.Update(t.Context(), s))
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	if runs := runsOf(t, ns); len(runs) != 1 {
		t.Errorf("another age started a run: %s", describe(runs))
	}
}

func TestGoldenSetsFromSeveralConfigMaps(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	startOperator(t, ns)
	labelled := func(name string, data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"assay.dev/golden-set": "docs-bot"}}, Data: data}
	}
	must(t, cluster.Create(t.Context(), labelled("part-1", map[string]string{"a.yaml": goldenOf("a1"), "b.jsonl": `{"question": "where is b1", "source_doc": "b1"}`})))
	s := newSuite(ns, stub.URL, func(s *v1alpha1.EvalSuite) {
		s.Spec.GoldenSet = v1alpha1.GoldenSet{ConfigMapSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"assay.dev/golden-set": "docs-bot"}}}
	})
	must(t, cluster.Create(t.Context(), s))
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	if *s.Status.GoldenSet.Cases != 2 {
		t.Errorf("%d cases, want 2", *s.Status.GoldenSet.Cases)
	}
	second := labelled("part-2", map[string]string{"c.csv": "question,relevant\nwhere is c1,c1;c2\n"})
	must(t, cluster.Create(t.Context(), second))
	cases := func(want int32) {
		t.Helper()
		eventually(t, func() error {
			if got := *get(t, s).Status.GoldenSet.Cases; got != want {
				return fmt.Errorf("%d cases, want %d", got, want)
			}
			return nil
		})
	}
	cases(3)
	ended(t, ns, 2)
	// A ConfigMap that loses the label leaves the set.
	second.Labels = nil
	must(t, cluster.Update(t.Context(), second))
	cases(2)
	if counts := byTrigger(ended(t, ns, 3)); counts[v1alpha1.TriggerGoldenSet] != 2 {
		t.Errorf("triggers are %v, want two GoldenSet", counts)
	}
}

func TestAGoldenSetOverHTTPIsPinned(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	content := []byte(goldenOf("a1", "a2"))
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }))
	t.Cleanup(files.Close)
	startOperator(t, ns)
	s := newSuite(ns, stub.URL, func(s *v1alpha1.EvalSuite) {
		s.Spec.GoldenSet = v1alpha1.GoldenSet{HTTP: &v1alpha1.GoldenHTTPSource{URL: files.URL + "/golden.yaml", SHA256: strings.Repeat("0", 64)}}
	})
	must(t, cluster.Create(t.Context(), s))
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	c := condition(t, s, "Stalled", metav1.ConditionTrue, "GoldenSetNotFound")
	if !strings.Contains(c.Message, sum) {
		t.Errorf("it says %q, want the digest that was served in it", c.Message)
	}
	update(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.GoldenSet.HTTP.SHA256 = sum })
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
}
