package controllers_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/operator"
)

// overHTTP has the suite's golden set come from a URL.
func overHTTP(name, url string, content []byte) func(*v1alpha1.EvalSuite) {
	return func(s *v1alpha1.EvalSuite) {
		s.Name = name
		s.Spec.GoldenSet = v1alpha1.GoldenSet{HTTP: &v1alpha1.GoldenHTTPSource{URL: url + "/golden.yaml", SHA256: fmt.Sprintf("%x", sha256.Sum256(content))}}
	}
}

func TestGoldenSetServersThatHangHoldUpNoOtherSuite(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(hanging.Close)
	startOperator(t, ns)
	for i := range 40 {
		must(t, cluster.Create(t.Context(), newSuite(ns, stub.URL, overHTTP(fmt.Sprintf("hangs-%d", i), hanging.URL, nil))))
	}
	passed(t, ns, stub)
}

func TestARunThatCannotBeginHoldsUpNoOtherSuite(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	content := []byte(goldenOf("a1"))
	var up atomic.Bool
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			http.Error(w, "out of order", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(files.Close)
	startOperator(t, ns, func(o *operator.Options) { o.MaxConcurrentRuns = 1 })

	waiting := newSuite(ns, stub.URL, overHTTP("waiting", files.URL, content))
	must(t, cluster.Create(t.Context(), waiting))
	condition(t, waiting, "Reconciling", metav1.ConditionTrue, "Retrying")
	run := newRun(ns, func(r *v1alpha1.EvalRun) { r.Spec.SuiteRef.Name = "waiting" })
	must(t, cluster.Create(t.Context(), run))
	eventually(t, func() error {
		for _, c := range get(t, run).Status.Conditions {
			if c.Reason == "Queued" && strings.Contains(c.Message, "503") {
				return nil
			}
		}
		return fmt.Errorf("it does not say why it waits: %+v", run.Status.Conditions)
	})
	passed(t, ns, stub)

	up.Store(true)
	eventually(t, func() error {
		if get(t, run).Status.Verdict != v1alpha1.VerdictPassed {
			return fmt.Errorf("verdict is %q: %+v", run.Status.Verdict, run.Status.Conditions)
		}
		return nil
	})
}
