package api_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// kubectl is what a person types, with the rights of an administrator.
func kubectl(t *testing.T) func(args ...string) string {
	t.Helper()
	user, err := server.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	command, err := user.Kubectl()
	if err != nil {
		t.Fatal(err)
	}
	return func(args ...string) string {
		t.Helper()
		stdout, stderr, err := command.Run(args...)
		if err != nil {
			var message bytes.Buffer
			if stderr != nil {
				_, _ = message.ReadFrom(stderr)
			}
			t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, message.String())
		}
		var out bytes.Buffer
		if _, err := out.ReadFrom(stdout); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
}

func TestKubectlGet(t *testing.T) {
	ended := metav1.NewTime(time.Now().Add(-3 * time.Minute))
	// A column of type date shows <invalid> for what is yet to come.
	next := time.Now().Add(6 * time.Hour).UTC().Format(time.RFC3339)

	suite := typedSuite("columns")
	if err := create(t, suite); err != nil {
		t.Fatal(err)
	}
	suite.Status = v1alpha1.EvalSuiteStatus{
		ObservedGeneration: ptr.To[int64](1), HitRate: "0.9167", MRR: "0.7330", Accuracy: "0.8000", HallucinationRate: "0.0300", NextScheduleTime: next,
		LastRun: &v1alpha1.LastRun{Name: "columns-0123456789", CompletionTime: ptr.To(metav1.NewMicroTime(ended.Time))},
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionPassing, Status: metav1.ConditionTrue, Reason: "Passed", LastTransitionTime: ended},
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: ended},
		},
	}
	if err := cluster.Status().Update(t.Context(), suite); err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.EvalRun{
		ObjectMeta: metav1.ObjectMeta{Name: "columns-0123456789", Namespace: metav1.NamespaceDefault},
		Spec:       v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "columns"}, Trigger: v1alpha1.TriggerSchedule},
	}
	if err := create(t, run); err != nil {
		t.Fatal(err)
	}
	run.Status = v1alpha1.EvalRunStatus{
		Verdict: v1alpha1.VerdictPassed, ProgressText: "120/120", HitRate: "0.9167", MRR: "0.7330", Accuracy: "0.8000", HallucinationRate: "0.0300", Duration: "1m12s",
		Reason: "ObjectivesMet", Message: "all objectives are met",
	}
	if err := cluster.Status().Update(t.Context(), run); err != nil {
		t.Fatal(err)
	}

	get := kubectl(t)
	for _, row := range []struct {
		name          string
		args          []string
		header, cells []string
	}{
		{
			"suites", []string{"get", "evs", "columns"},
			[]string{"NAME", "PASSING", "HIT-RATE", "MRR", "ACCURACY", "HALLUCINATION", "LAST-RUN", "NEXT", "AGE"},
			[]string{"columns", "True", "0.9167", "0.7330", "0.8000", "0.0300", "3m", next},
		},
		{
			"runs", []string{"get", "evr", run.Name},
			[]string{"NAME", "SUITE", "TRIGGER", "VERDICT", "PROGRESS", "HIT-RATE", "MRR", "ACCURACY", "HALLUCINATION", "DURATION", "AGE"},
			[]string{run.Name, "columns", "Schedule", "Passed", "120/120", "0.9167", "0.7330", "0.8000", "0.0300", "1m12s"},
		},
		{
			"suites, wide", []string{"get", "evalsuites", "columns", "-o", "wide"},
			[]string{"NAME", "PASSING", "HIT-RATE", "MRR", "ACCURACY", "HALLUCINATION", "LAST-RUN", "NEXT", "AGE", "READY", "REASON"}, nil,
		},
		{
			"runs, wide", []string{"get", "evalruns", run.Name, "-o", "wide"},
			[]string{"NAME", "SUITE", "TRIGGER", "VERDICT", "PROGRESS", "HIT-RATE", "MRR", "ACCURACY", "HALLUCINATION", "DURATION", "AGE", "REASON", "MESSAGE"}, nil,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			lines := strings.Split(get(row.args...), "\n")
			if diff := cmp.Diff(row.header, strings.Fields(lines[0])); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if row.cells != nil {
				cells := strings.Fields(lines[1])
				for i, want := range row.cells {
					// An age may have its seconds behind it.
					if got := cells[i]; got != want && (want != "3m" || !strings.HasPrefix(got, want)) {
						t.Errorf("cell %s = %s, want %s", row.header[i], got, want)
					}
				}
			}
		})
	}
	t.Run("category", func(t *testing.T) {
		out := get("get", "assay", "-o", "name")
		for _, want := range []string{"evalsuite.assay.dev/columns", "evalrun.assay.dev/" + run.Name} {
			if !strings.Contains(out, want) {
				t.Errorf("kubectl get assay lacks %s:\n%s", want, out)
			}
		}
	})
}

func TestKubectlExplain(t *testing.T) {
	explain := kubectl(t)
	for field, want := range map[string]string{
		"evalsuite.spec.retriever.timeoutSeconds":          "in seconds; 10 by default",
		"evalsuite.spec.goldenSet.configMapRef.key":        "its ending picks the format",
		"evalsuite.spec.objectives.min":                    "as a decimal string",
		"evalsuite.spec.retriever.headers.valueFrom":       "from a Secret",
		"evalsuite.status.results.expiresAt":               "ceases to hold",
		"evalrun.spec.topK":                                "used instead of the suite's retriever.topK",
		"evalrun.status.worstCases.rank":                   "first relevant result",
		"evs.spec.retriever.auth.oauth2.clientIDSecretRef": "client id",
	} {
		t.Run(field, func(t *testing.T) {
			if out := strings.Join(strings.Fields(explain("explain", field)), " "); !strings.Contains(out, want) {
				t.Errorf("lacks %q:\n%s", want, out)
			}
		})
	}
}
