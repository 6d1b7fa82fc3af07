package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// The defaults are those of the documentation; k and primaryK have theirs in
// code, because a default in the schema would refuse `topK: 5` alone.
func TestDefaultsOfASuite(t *testing.T) {
	object := changed(t, minimalSuite, "")
	if err := create(t, object); err != nil {
		t.Fatal(err)
	}
	suite := &v1alpha1.EvalSuite{}
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(object), suite); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.EvalSuiteSpec{
		GoldenSet: v1alpha1.GoldenSet{ConfigMapRef: &v1alpha1.GoldenConfigMapReference{Name: "golden"}},
		Retriever: v1alpha1.Retriever{
			URL:            "http://retriever.rag.svc:8080/search",
			Preset:         v1alpha1.PresetAssay,
			TopK:           10,
			Method:         "POST",
			TimeoutSeconds: 10,
			MaxRetries:     ptr.To[int32](2),
			WarmupRequests: ptr.To[int32](0),
		},
		Scoring:           v1alpha1.Scoring{Unit: v1alpha1.UnitChunk, BLEUTokenizer: v1alpha1.BLEUWhitespace, MinCoverage: "0.95"},
		Baseline:          v1alpha1.Baseline{Policy: v1alpha1.BaselineLastPassed, OnNotComparable: v1alpha1.NotComparableIgnore},
		JitterSeconds:     ptr.To[int32](0),
		Suspend:           ptr.To(false),
		ConcurrencyPolicy: v1alpha1.ForbidConcurrent,
		OnGoldenSetChange: ptr.To(true),
		Execution:         v1alpha1.Execution{Parallelism: 8, TimeoutSeconds: 1800},
		Gate:              v1alpha1.Gate{MaxAgeSeconds: 86400},
		History:           v1alpha1.History{PassedRuns: ptr.To[int32](5), FailedRuns: ptr.To[int32](10), StoreContent: ptr.To(true)},
	}
	if diff := cmp.Diff(want, suite.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	// -1: nobody must take a suite that was not looked at yet for done.
	if diff := cmp.Diff(v1alpha1.EvalSuiteStatus{ObservedGeneration: ptr.To[int64](-1)}, suite.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// An object that is given in part gets the rest of its defaults.
func TestDefaultsInsideAnObject(t *testing.T) {
	object := changed(t, minimalSuite, `
spec:
  scoring: {unit: Document}
  execution: {parallelism: 1}
  history: {passedRuns: 0}
  gate: {}
  retriever: {tls: {caBundleRef: {name: ca}}}
  objectives: [{metric: mrr, min: "0.9"}]`)
	if err := create(t, object); err != nil {
		t.Fatal(err)
	}
	suite := &v1alpha1.EvalSuite{}
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(object), suite); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name      string
		got, want any
	}{
		{"scoring", suite.Spec.Scoring, v1alpha1.Scoring{Unit: v1alpha1.UnitDocument, BLEUTokenizer: v1alpha1.BLEUWhitespace, MinCoverage: "0.95"}},
		{"execution", suite.Spec.Execution, v1alpha1.Execution{Parallelism: 1, TimeoutSeconds: 1800}},
		{"history", suite.Spec.History, v1alpha1.History{PassedRuns: ptr.To[int32](0), FailedRuns: ptr.To[int32](10), StoreContent: ptr.To(true)}},
		{"gate", suite.Spec.Gate, v1alpha1.Gate{MaxAgeSeconds: 86400}},
		{"caBundleRef", suite.Spec.Retriever.TLS.CABundleRef, &v1alpha1.CABundleReference{Kind: v1alpha1.CABundleConfigMap, Name: "ca", Key: "ca.crt"}},
		{"objectives", suite.Spec.Objectives, []v1alpha1.Objective{{Metric: "mrr", Tag: ptr.To(""), Min: "0.9"}}},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestDefaultsOfARun(t *testing.T) {
	object := changed(t, minimalRun, "")
	if err := create(t, object); err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.EvalRun{}
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(object), run); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "docs-bot"}, Trigger: v1alpha1.TriggerManual}
	if diff := cmp.Diff(want, run.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// A status that comes with the manifest is not taken: only the operator writes it.
func TestStatusOfAManifestIsDropped(t *testing.T) {
	suite := typedSuite("forged-status")
	suite.Status = v1alpha1.EvalSuiteStatus{ObservedGeneration: ptr.To[int64](1), HitRate: "1"}
	if err := create(t, suite); err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.EvalRun{
		ObjectMeta: metav1.ObjectMeta{Name: "forged-status", Namespace: metav1.NamespaceDefault},
		Spec:       v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "docs-bot"}},
		Status:     v1alpha1.EvalRunStatus{Verdict: v1alpha1.VerdictPassed},
	}
	if err := create(t, run); err != nil {
		t.Fatal(err)
	}
	if suite.Status.HitRate != "" || run.Status.Verdict != "" {
		t.Errorf("forged status was kept: %+v, %+v", suite.Status, run.Status)
	}
}
