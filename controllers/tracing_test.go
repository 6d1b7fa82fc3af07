package controllers_test

import (
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/operator"
	"github.com/assay-dev/assay/internal/tracing"
	"github.com/assay-dev/assay/internal/tracing/tracingtest"
)

// An operator traces its runs, and has sent all of them when it has stopped.
func TestRunsAreTraced(t *testing.T) {
	t.Parallel()
	ns, stub, to := newNamespace(t), newStub(t), tracingtest.New(t)
	op := startOperator(t, ns, func(o *operator.Options) { o.Tracing = tracing.Options{Endpoint: to.URL, SampleRatio: 1} })
	s := passed(t, ns, stub)
	run := runsOf(t, ns)[0]
	op.stop()
	got := to.Tree()
	for _, want := range []string{
		"run assay.cases=3 assay.cases.done=3 assay.cases.errored=0 assay.cases.stride=1 assay.namespace=" + ns,
		"assay.run=" + run.Name, "assay.suite=" + s.Name, "assay.trigger=" + string(run.Spec.Trigger), "assay.verdict=Passed",
		"  case assay.case.id=q-a1 assay.case.outcome=Scored assay.case.rank=1\n",
		"    retrieve assay.results=2 assay.top_k=5\n      POST (client) assay.service=retriever",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the trace lacks %q:\n%s", want, got)
		}
	}
}
