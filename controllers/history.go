package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/schedule"
)

// prune deletes the finished runs beyond the suite's history limits. Their
// results are in the suite's status by then.
func (r *SuiteReconciler) prune(ctx context.Context, snap *snapshot) error {
	for _, run := range surplus(snap) {
		err := r.Delete(ctx, run, client.Preconditions{UID: &run.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete EvalRun %s, which spec.history no longer keeps: %w", run.Name, err)
		}
	}
	return nil
}

// surplus picks the oldest finished runs beyond what spec.history keeps. A run
// that is about to be tried once more stays until it was, and so does one that
// others are compared with.
func surplus(snap *snapshot) []*v1alpha1.EvalRun {
	h := &snap.suite.Spec.History
	var passed, failed []*v1alpha1.EvalRun
	for _, run := range snap.runs {
		switch {
		case run.Status.Verdict == "" || !run.DeletionTimestamp.IsZero() || awaitsRetry(snap, run):
		case run.Status.Verdict == v1alpha1.VerdictPassed:
			passed = append(passed, run)
		default:
			failed = append(failed, run)
		}
	}
	old := append(beyond(passed, int(ptr.Deref(h.PassedRuns, 5))), beyond(failed, int(ptr.Deref(h.FailedRuns, 10)))...)
	return slices.DeleteFunc(old, func(run *v1alpha1.EvalRun) bool { return comparedWith(snap.suite, run.Name) })
}

// comparedWith says whether other runs are compared with this one.
func comparedWith(s *v1alpha1.EvalSuite, run string) bool {
	return run == known(s) || run == s.Spec.Baseline.RunName || run == s.Spec.Baseline.Reference
}

func awaitsRetry(snap *snapshot, run *v1alpha1.EvalRun) bool {
	return run.Status.Verdict == v1alpha1.VerdictError &&
		run.Annotations[v1alpha1.AnnotationRetryOf] == "" &&
		run.Status.CompletionTime != nil &&
		snap.now.Before(run.Status.CompletionTime.Add(2*schedule.RetryDelay))
}

func beyond(runs []*v1alpha1.EvalRun, limit int) []*v1alpha1.EvalRun {
	slices.SortFunc(runs, func(a, b *v1alpha1.EvalRun) int {
		return cmp.Or(b.Status.CompletionTime.Compare(a.Status.CompletionTime.Time), cmp.Compare(a.Name, b.Name))
	})
	return runs[min(limit, len(runs)):]
}
