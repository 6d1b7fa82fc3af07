package telemetry

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// ended is a full run that ended at a second.
func ended(namespace, of string, second int64, verdict v1alpha1.Verdict, reason string) v1alpha1.EvalRun {
	run := v1alpha1.EvalRun{Spec: v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: of}}}
	run.Namespace = namespace
	run.Status.Verdict, run.Status.Reason = verdict, reason
	run.Status.CompletionTime = ptr.To(metav1.NewMicroTime(at(second).Time))
	return run
}

func TestCountUndecided(t *testing.T) {
	const passed, failed, inconclusive, broken = v1alpha1.VerdictPassed, v1alpha1.VerdictFailed, v1alpha1.VerdictInconclusive, v1alpha1.VerdictError
	run := func(second int64, verdict v1alpha1.Verdict, reason string, change ...func(*v1alpha1.EvalRun)) v1alpha1.EvalRun {
		r := ended("rag", "docs-bot", second, verdict, reason)
		for _, f := range change {
			f(&r)
		}
		return r
	}
	canary := func(r *v1alpha1.EvalRun) { r.Spec.Endpoint = "canary" }
	some := func(r *v1alpha1.EvalRun) { r.Spec.Tags = []string{"howto"} }
	going := func(r *v1alpha1.EvalRun) { r.Status.CompletionTime = nil }
	superseded := func(r *v1alpha1.EvalRun) {
		r.Annotations = map[string]string{v1alpha1.AnnotationCancel: "TeamMeeting"}
	}
	docsBot := suiteKey{"rag", "docs-bot"}
	for name, test := range map[string]struct {
		runs []v1alpha1.EvalRun
		want map[suiteKey]int
	}{
		"no run":              {nil, map[suiteKey]int{}},
		"decided alone":       {[]v1alpha1.EvalRun{run(1, passed, "")}, map[suiteKey]int{docsBot: 0}},
		"never decided":       {[]v1alpha1.EvalRun{run(1, inconclusive, "CoverageTooLow"), run(2, broken, "NothingScored")}, map[suiteKey]int{docsBot: 2}},
		"since one passed":    {[]v1alpha1.EvalRun{run(9, inconclusive, "DeadlineExceeded"), run(3, inconclusive, ""), run(5, passed, "")}, map[suiteKey]int{docsBot: 1}},
		"since one failed":    {[]v1alpha1.EvalRun{run(5, failed, ""), run(3, broken, ""), run(2, passed, ""), run(7, broken, ""), run(8, broken, "")}, map[suiteKey]int{docsBot: 2}},
		"before one passed":   {[]v1alpha1.EvalRun{run(1, inconclusive, ""), run(2, inconclusive, ""), run(3, passed, "")}, map[suiteKey]int{docsBot: 0}},
		"a canary that fails": {[]v1alpha1.EvalRun{run(1, passed, ""), run(2, inconclusive, "CoverageTooLow"), run(3, failed, "", canary)}, map[suiteKey]int{docsBot: 1}},
		"runs that measure something else": {
			[]v1alpha1.EvalRun{run(1, passed, ""), run(2, inconclusive, "", canary), run(3, broken, "", some)}, map[suiteKey]int{docsBot: 0},
		},
		"runs that go": {[]v1alpha1.EvalRun{run(1, "", "Running", going), run(2, inconclusive, "", going)}, map[suiteKey]int{}},
		"runs that were ended": {[]v1alpha1.EvalRun{
			run(1, inconclusive, "Canceled"), run(2, inconclusive, "Replaced"), run(3, inconclusive, "Superseded"), run(4, inconclusive, "RevisionChanged"),
			run(5, inconclusive, "SuiteChanged"), run(6, inconclusive, "QueueFull"), run(7, inconclusive, "TeamMeeting", superseded), run(8, inconclusive, "SuiteDeleted"),
		}, map[suiteKey]int{}},
		"nothing to decide": {[]v1alpha1.EvalRun{run(1, inconclusive, "NoObjectives")}, map[suiteKey]int{}},
		"of several suites": {
			[]v1alpha1.EvalRun{run(1, inconclusive, ""), ended("other", "docs-bot", 2, passed, ""), ended("rag", "other", 3, broken, "")},
			map[suiteKey]int{docsBot: 1, {"other", "docs-bot"}: 0, {"rag", "other"}: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, countUndecided(test.runs), cmp.AllowUnexported(suiteKey{})); diff != "" {
				t.Errorf("undecided runs (-want +got):\n%s", diff)
			}
		})
	}
}

// Runs of a suite that is gone, or that cannot be listed, give no series.
func TestUndecidedRunsAreOfSuitesThatAre(t *testing.T) {
	list := everything()
	list.runs = append(list.runs, ended("rag", "gone", 1, v1alpha1.VerdictError, ""))
	ofUndecided := func(line string) bool { return !strings.HasPrefix(line, "assay_undecided_runs{") }
	all := scrape(t, NewCollector(list, always))
	if got, want := slices.DeleteFunc(slices.Clone(all), ofUndecided), []string{`assay_undecided_runs{namespace="rag",suite="docs-bot"} 1`}; !slices.Equal(got, want) {
		t.Errorf("undecided runs are %q, want %q", got, want)
	}
	list.runs, list.runsErr = nil, errors.New("the cache has not started")
	if got := scrape(t, NewCollector(list, always)); len(got) != len(all)-1 {
		t.Errorf("without runs there are %d series, want %d", len(got), len(all)-1)
	}
}
