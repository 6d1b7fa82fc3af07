package status

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/rollout"
	"github.com/assay-dev/assay/internal/suite"
	"github.com/assay-dev/assay/internal/workload"
)

// noon is when the tests take place, with a fraction that whole seconds lose.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

const goldenDigest = "sha256:golden"

// newSuite gives a suite with one objective, as the API server has it before
// anybody looked at it.
func newSuite() *v1alpha1.EvalSuite {
	return &v1alpha1.EvalSuite{
		ObjectMeta: metav1.ObjectMeta{Name: "docs-bot", Namespace: "rag", UID: "suite", Generation: 1},
		Spec: v1alpha1.EvalSuiteSpec{
			Retriever:  v1alpha1.Retriever{URL: "http://bot/search", TopK: 10},
			Objectives: []v1alpha1.Objective{{Metric: "hit_rate@5", Min: "0.90"}},
			Gate:       v1alpha1.Gate{MaxAgeSeconds: 3600},
		},
		Status: v1alpha1.EvalSuiteStatus{ObservedGeneration: ptr.To[int64](-1)},
	}
}

// facts are those of a suite that is fine, at noon.
func facts(runs ...*v1alpha1.EvalRun) SuiteFacts {
	return SuiteFacts{Golden: &GoldenSummary{Digest: goldenDigest, Cases: 12, Tags: 4, Calls: 14}, Runs: runs, Now: noon, Targets: serving("r1")}
}

// edit changes a run.
type edit func(*v1alpha1.EvalRun)

// ended gives a passed full run of newSuite that ended that long before noon.
func ended(name string, ago time.Duration, edits ...edit) *v1alpha1.EvalRun {
	at := noon.Add(-ago)
	run := &v1alpha1.EvalRun{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "rag", UID: types.UID("uid-" + name), Generation: 1},
		Spec:       v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "docs-bot"}, Trigger: v1alpha1.TriggerSpec},
		Status: v1alpha1.EvalRunStatus{
			Revision: "r1", SuiteEvaluationDigest: suite.EvaluationDigest(newSuite(), "", suite.Digests{}), GoldenSetDigest: goldenDigest,
			Verdict: v1alpha1.VerdictPassed, Reason: "ObjectivesMet", Message: "hit_rate@5 is 0.9167 (min 0.90)",
			HitRate: "0.9167", MRR: "0.7330",
			StartTime: ptr.To(metav1.NewMicroTime(at.Add(-time.Minute))), CompletionTime: ptr.To(metav1.NewMicroTime(at)),
			Coverage:   &v1alpha1.Coverage{Retrieval: "1.0000"},
			Metrics:    []v1alpha1.RunMetric{{Name: "mrr", Tag: ptr.To(""), Value: "0.7330", Count: ptr.To[int32](12), Low: "0.5", High: "0.9"}},
			Objectives: []v1alpha1.ObjectiveResult{{Metric: "hit_rate@5", Bound: "min 0.90", Value: "0.9167", Outcome: v1alpha1.ObjectiveMet}},
		},
	}
	for _, e := range edits {
		e(run)
	}
	return run
}

func verdict(v v1alpha1.Verdict, reason, message string) edit {
	return func(run *v1alpha1.EvalRun) {
		run.Status.Verdict, run.Status.Reason, run.Status.Message = v, reason, message
	}
}

func numbers(hitRate, mrr string) edit {
	return func(run *v1alpha1.EvalRun) { run.Status.HitRate, run.Status.MRR = hitRate, mrr }
}

func endpoint(name string) edit { return func(run *v1alpha1.EvalRun) { run.Spec.Endpoint = name } }

func revision(r string) edit { return func(run *v1alpha1.EvalRun) { run.Status.Revision = r } }

func corpus(v string) edit { return func(run *v1alpha1.EvalRun) { run.Status.CorpusVersion = v } }

func evaluation(d string) edit {
	return func(run *v1alpha1.EvalRun) { run.Status.SuiteEvaluationDigest = d }
}

func ofGolden(d string) edit { return func(run *v1alpha1.EvalRun) { run.Status.GoldenSetDigest = d } }

func ofTags(tags ...string) edit { return func(run *v1alpha1.EvalRun) { run.Spec.Tags = tags } }

func ofTopK(k int32) edit { return func(run *v1alpha1.EvalRun) { run.Spec.TopK = &k } }

func ofStages(stages ...v1alpha1.Stage) edit {
	return func(run *v1alpha1.EvalRun) { run.Spec.Stages = stages }
}

// failing is a run that missed its objective.
var failing = verdict(v1alpha1.VerdictFailed, "ObjectivesMissed", "hit_rate@5 is 0.5000 (min 0.90)")

// names lists the runs behind the results.
func names(results []v1alpha1.Result) []string {
	var names []string
	for _, r := range results {
		names = append(names, r.Run)
	}
	return names
}

// wantCondition checks one condition and gives its message.
func wantCondition(t *testing.T, conditions []metav1.Condition, kind string, status metav1.ConditionStatus, reason string) string {
	t.Helper()
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		t.Fatalf("there is no condition %s among %+v", kind, conditions)
	}
	if c.Status != status || c.Reason != reason {
		t.Errorf("%s is %s %s, want %s %s: %s", kind, c.Status, c.Reason, status, reason, c.Message)
	}
	return c.Message
}

// stored gives a value as the API server gives it back.
func stored[T any](t interface{ Fatal(...any) }, v *T) *T {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	back := new(T)
	if err := json.Unmarshal(raw, back); err != nil {
		t.Fatal(err)
	}
	return back
}

// same compares values as the operator does before it writes: empty lists are
// none, and times are compared as instants.
func same(a, b any) string {
	return cmp.Diff(a, b, cmpopts.EquateEmpty())
}

// serving are targets that have rolled out a revision.
func serving(revision string) *Targets {
	at := noon.Add(-time.Hour).Truncate(time.Second)
	return &Targets{Seen: &workload.Snapshot{Revision: revision}, Progress: rollout.Progress{Revision: revision, RolledOutAt: &at}}
}

// fold is Suite with the digest of the suite as it is.
func fold(s *v1alpha1.EvalSuite, f SuiteFacts) {
	f.EvaluationDigest = suite.EvaluationDigest(s, "", suite.Digests{})
	Suite(s, f)
}
