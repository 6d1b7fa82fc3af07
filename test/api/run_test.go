package api_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// Sentences of rules that speak of a change, not of an object.
var updateSentences = []string{
	"an EvalRun's spec cannot be changed: create another EvalRun instead",
	"a run's verdict is final: create another EvalRun instead",
}

// changes holds a change of every field of an EvalRun's spec.
var changes = map[string]string{
	"suiteRef": `{"spec":{"suiteRef":{"name":"other"}}}`,
	"trigger":  `{"spec":{"trigger":"Schedule"}}`,
	"endpoint": `{"spec":{"endpoint":"preview"}}`,
	"revision": `{"spec":{"revision":"other"}}`,
	"tags":     `{"spec":{"tags":["a"]}}`,
	"topK":     `{"spec":{"topK":4}}`,
	"stages":   `{"spec":{"stages":["Retrieval"]}}`,
}

func TestSpecOfARunCannotBeChanged(t *testing.T) {
	for field := range schemas(t)["EvalRun"].Properties["spec"].Properties {
		if changes[field] == "" {
			t.Errorf("this test changes every field of spec but %s", field)
		}
	}
	whole := `spec: {endpoint: canary, revision: 7d9f, tags: [a, b], topK: 3}`
	run := changed(t, minimalRun, whole)
	if err := create(t, run); err != nil {
		t.Fatal(err)
	}
	patches := map[string]string{"removed": `{"spec":{"tags":null}}`, "to the default": `{"spec":{"topK":null}}`}
	for field, patch := range changes {
		patches[field] = patch
	}
	for name, patch := range patches {
		t.Run(name, func(t *testing.T) {
			err := cluster.Patch(t.Context(), run.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
			if err == nil || !strings.Contains(err.Error(), updateSentences[0]) {
				t.Errorf("patched with %s: %v, want %q", patch, err, updateSentences[0])
			}
		})
	}
}

// A typed client drops empty fields when it writes an object back; that is no change.
func TestTypedClientMayUpdateARunWithEmptyFields(t *testing.T) {
	object := changed(t, minimalRun, `spec: {endpoint: "", revision: "", tags: [], topK: 0}`)
	if err := create(t, object); err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.EvalRun{}
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(object), run); err != nil {
		t.Fatal(err)
	}
	run.Labels = map[string]string{"seen": "true"}
	if err := cluster.Update(t.Context(), run); err != nil {
		t.Errorf("updating the labels: %v", err)
	}
}

func TestVerdictIsFinal(t *testing.T) {
	run := changed(t, minimalRun, "")
	if err := create(t, run); err != nil {
		t.Fatal(err)
	}
	patchStatus := func(patch string) error {
		return cluster.Status().Patch(t.Context(), run.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	for _, patch := range []string{
		`{"status":{"progressText":"1/2"}}`,
		`{"status":null}`,
		`{"status":{"progressText":"2/2","verdict":"Failed","reason":"ObjectivesMissed"}}`,
		`{"status":{"message":"mrr is 0.5, below min 0.9"}}`,
	} {
		if err := patchStatus(patch); err != nil {
			t.Fatalf("status patch %s: %v", patch, err)
		}
	}
	for name, patch := range map[string]string{
		"another":        `{"status":{"verdict":"Passed"}}`,
		"none":           `{"status":{"verdict":null}}`,
		"no status":      `{"status":null}`,
		"status of less": `{"status":{"verdict":null,"reason":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := patchStatus(patch); err == nil || !strings.Contains(err.Error(), updateSentences[1]) {
				t.Errorf("status patch %s: %v, want %q", patch, err, updateSentences[1])
			}
		})
	}
	t.Run("whole object without status", func(t *testing.T) {
		current := run.DeepCopy()
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(run), current); err != nil {
			t.Fatal(err)
		}
		unstructured.RemoveNestedField(current.Object, "status")
		if err := cluster.Status().Update(t.Context(), current); err == nil || !strings.Contains(err.Error(), updateSentences[1]) {
			t.Errorf("status update without status: %v, want %q", err, updateSentences[1])
		}
	})
	t.Run("labels still change", func(t *testing.T) {
		if err := cluster.Patch(t.Context(), run.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))); err != nil {
			t.Error(err)
		}
	})
}

// What a controller writes at its fullest is accepted by both schemas.
func TestFullStatusIsAccepted(t *testing.T) {
	now, micro := metav1.Now().Rfc3339Copy(), metav1.NowMicro()
	tag, count, calls := "", int32(12), int64(36)
	objectives := []v1alpha1.ObjectiveResult{{Metric: "mrr", Bound: "min 0.9", Value: "0.7330", Outcome: v1alpha1.ObjectiveMissed, Message: "mrr is 0.7330, below min 0.9"}}
	conditions := []metav1.Condition{{Type: v1alpha1.ConditionPassing, Status: metav1.ConditionFalse, Reason: "ObjectivesMissed", Message: "mrr", LastTransitionTime: now}}

	run := &v1alpha1.EvalRun{ObjectMeta: metav1.ObjectMeta{Name: "full-status", Namespace: metav1.NamespaceDefault}, Spec: v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "docs-bot"}}}
	if err := create(t, run); err != nil {
		t.Fatal(err)
	}
	run.Status = v1alpha1.EvalRunStatus{
		Conditions: conditions, Verdict: v1alpha1.VerdictFailed, Reason: "ObjectivesMissed", Message: strings.Repeat("m", 32768),
		Progress: &v1alpha1.Progress{}, Coverage: &v1alpha1.Coverage{}, Usage: &v1alpha1.Usage{RetrieverCalls: &calls}, StartTime: &micro, CompletionTime: &micro,
		Metrics:    []v1alpha1.RunMetric{{Name: "mrr", Tag: &tag, Value: "0.7330", Count: &count, Low: "0.6", High: "0.8"}},
		Objectives: objectives,
		Outcomes:   []v1alpha1.OutcomeCount{{Type: "Scored", Count: &count}},
		WorstCases: []v1alpha1.WorstCase{{ID: "q01", Outcome: "Scored"}},
	}
	if err := cluster.Status().Update(t.Context(), run); err != nil {
		t.Errorf("status of an EvalRun: %v", err)
	}

	suite := typedSuite("full-status")
	if err := create(t, suite); err != nil {
		t.Fatal(err)
	}
	suite.Status = v1alpha1.EvalSuiteStatus{
		Conditions: conditions, ObservedGeneration: &suite.Generation, HitRate: "0.9167", MRR: "0.7330", NextScheduleTime: "2030-01-01T00:00:00+09:00",
		GoldenSet: &v1alpha1.GoldenSetStatus{}, Plan: &v1alpha1.Plan{Calls: &calls}, CountedSchedule: &v1alpha1.CountedSchedule{Since: now}, LastTriggered: &v1alpha1.TriggeredKey{},
		LastRun: &v1alpha1.LastRun{
			Name: run.Name, UID: string(run.UID), Trigger: v1alpha1.TriggerManual, Verdict: v1alpha1.VerdictFailed, CompletionTime: &micro, Objectives: objectives,
			Metrics: []v1alpha1.SuiteMetric{{Name: "mrr", Tag: &tag, Value: "0.7330", Count: &count}},
		},
		Results: []v1alpha1.Result{{Run: run.Name, Time: micro, ExpiresAt: now, Verdict: v1alpha1.VerdictFailed, Message: strings.Repeat("m", 32768)}},
	}
	if err := cluster.Status().Update(t.Context(), suite); err != nil {
		t.Errorf("status of an EvalSuite: %v", err)
	}
}

func typedSuite(name string) *v1alpha1.EvalSuite {
	return &v1alpha1.EvalSuite{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: v1alpha1.EvalSuiteSpec{
			GoldenSet: v1alpha1.GoldenSet{ConfigMapRef: &v1alpha1.GoldenConfigMapReference{Name: "golden"}},
			Retriever: v1alpha1.Retriever{URL: "http://retriever.rag.svc:8080/search"},
		},
	}
}
