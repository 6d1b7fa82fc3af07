package controllers_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/operator"
)

// keeping has the operator keep a history in a file of the test's own.
func keeping(t *testing.T) (use func(*operator.Options), dsn string) {
	t.Helper()
	dsn = "sqlite://" + filepath.Join(t.TempDir(), "history.db")
	return func(o *operator.Options) { o.History = dsn }, dsn
}

func openHistory(t *testing.T, dsn string) *history.Store {
	t.Helper()
	store, err := history.Open(t.Context(), dsn, history.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}

func TestARunIsKeptWithEveryCaseAndRank(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	use, dsn := keeping(t)
	startOperator(t, ns, use)
	s := passed(t, ns, stub)
	condition(t, s, "HistoryStored", metav1.ConditionTrue, "Stored")
	run := ended(t, ns, 1)[0]

	store := openHistory(t, dsn)
	kept, err := store.Run(t.Context(), string(run.UID))
	must(t, err)
	if kept.Verdict != "Passed" || kept.Suite != "docs-bot" || kept.HitRate == nil || *kept.HitRate != 1 || kept.CompletionTime == nil || !strings.Contains(string(kept.Document), `"hit_rate@5"`) {
		t.Errorf("the run is kept as %+v", kept)
	}
	if !kept.CompletionTime.Equal(run.Status.CompletionTime.Time) || !kept.StartTime.Equal(run.Status.StartTime.Time) {
		t.Errorf("kept from %s to %s, the status says %s to %s", kept.StartTime, kept.CompletionTime, run.Status.StartTime, run.Status.CompletionTime)
	}
	page, err := store.Cases(t.Context(), string(run.UID), history.CaseQuery{Limit: 10})
	must(t, err)
	if len(page.Cases) != 3 {
		t.Fatalf("%d cases are kept, want 3", len(page.Cases))
	}
	c := page.Cases[0]
	if c.ID != "q-a1" || c.Rank != 1 || len(c.Retrieved) != 2 || c.Retrieved[0].ID != "a1" || !c.Retrieved[0].Relevant || c.Retrieved[0].Text != "the text of a1" || c.Retrieved[1].Rank != 2 {
		t.Errorf("the first case is kept as %+v", c)
	}
	// Without the content, ids and ranks stay.
	update(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.History.StoreContent = ptr.To(false) })
	annotate(t, s, v1alpha1.AnnotationRunNow, "1")
	for _, r := range ended(t, ns, 2) {
		if r.Spec.Trigger != v1alpha1.TriggerManual {
			continue
		}
		page, err := store.Cases(t.Context(), string(r.UID), history.CaseQuery{Limit: 10})
		must(t, err)
		if c := page.Cases[0]; c.Retrieved[0].ID != "a1" || c.Retrieved[0].Text != "" {
			t.Errorf("with storeContent off the first case is kept as %+v", c)
		}
	}
}

func TestARestartAsksNoFinishedCaseAgain(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	use, dsn := keeping(t)
	first := startOperator(t, ns, use)
	open := make(chan struct{})
	stub.behave(func(w http.ResponseWriter, r *http.Request, question string, topK int) {
		if question == "where is b1" {
			select {
			case <-open:
			case <-r.Context().Done():
				return
			}
		}
		perfect(w, r, question, topK)
	})
	applyGolden(t, ns, "golden", goldenOf("a1", "a2", "b1"))
	s := newSuite(ns, stub.URL, func(s *v1alpha1.EvalSuite) { s.Spec.Retriever.TimeoutSeconds = 300 })
	must(t, cluster.Create(t.Context(), s))
	store := openHistory(t, dsn)
	var uid string
	eventually(t, func() error {
		runs := runsOf(t, ns)
		if len(runs) != 1 {
			return fmt.Errorf("%d runs", len(runs))
		}
		uid = string(runs[0].UID)
		kept, err := store.Checkpoint(t.Context(), uid)
		if err != nil || len(kept) != 2 {
			return fmt.Errorf("%d cases are kept while the run goes, want 2 (%w)", len(kept), err)
		}
		return nil
	})
	first.stop()
	close(open)
	startOperator(t, ns, use)
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	run := ended(t, ns, 1)[0]
	if ptr.Deref(run.Status.Attempts, 0) != 1 || run.Status.ProgressText != "3/3" || run.Status.HitRate != "1.0000" {
		t.Errorf("attempts %d, progress %q, hit rate %q; want 1 (an orderly shutdown is not counted), 3/3, 1.0000", ptr.Deref(run.Status.Attempts, 0), run.Status.ProgressText, run.Status.HitRate)
	}
	stub.mu.Lock()
	defer stub.mu.Unlock()
	if stub.asked["where is a1"] != 1 || stub.asked["where is a2"] != 1 || stub.asked["where is b1"] != 2 {
		t.Errorf("asked %v, want the finished cases once", stub.asked)
	}
}

func TestARunThatEndedTheOperatorThreeTimesIsGivenUp(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	use, _ := keeping(t)
	op := startOperator(t, ns, use)
	held(t, ns, stub)
	op.stop()
	// As three operators leave it that were killed: an orderly end is not counted.
	run := &runsOf(t, ns)[0]
	if got := ptr.Deref(run.Status.Attempts, -1); got != 0 {
		t.Errorf("after an orderly shutdown attempts is %d, want 0", got)
	}
	run.Status.Attempts = ptr.To(int32(3))
	must(t, cluster.Status().Update(t.Context(), run))
	startOperator(t, ns, use)
	ended := ended(t, ns, 1)[0]
	if ended.Status.Verdict != v1alpha1.VerdictError || ended.Status.Reason != "AttemptsExceeded" {
		t.Errorf("verdict is %s %s, want Error AttemptsExceeded", ended.Status.Verdict, ended.Status.Reason)
	}
}

func TestAStoreThatCannotBeOpenedStopsNoRun(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte("in the way"), 0o600))
	startOperator(t, ns, func(o *operator.Options) { o.History = "sqlite://" + filepath.Join(file, "history.db") })
	s := passed(t, ns, stub)
	c := condition(t, s, "HistoryStored", metav1.ConditionFalse, "StoreFailed")
	if !strings.Contains(c.Message, "3 cases could not be written") {
		t.Errorf("it says %q, want what is not kept", c.Message)
	}
	wantEvent(t, ns, "StoreFailed", "EvalRun", "its verdict counts all the same")
	wantEvent(t, ns, "StoreFailed", "EvalSuite", "3 cases could not be written")
}
