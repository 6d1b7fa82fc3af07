package telemetry

import (
	"time"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/schedule"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/status"
	assaysuite "github.com/assay-dev/assay/internal/suite"
)

// suiteKey names a suite.
type suiteKey struct{ namespace, name string }

// countUndecided counts, by suite, the full runs that ended without a verdict
// since the last one that passed or failed. A suite without any run that tells
// is left out.
func countUndecided(runs []v1alpha1.EvalRun) map[suiteKey]int {
	decided := map[suiteKey]time.Time{}
	counts := map[suiteKey]int{}
	for i := range runs {
		run := &runs[i]
		if key := ownerOf(run); tells(run) && isDecided(run) {
			counts[key] = 0
			if ended := run.Status.CompletionTime.Time; ended.After(decided[key]) {
				decided[key] = ended
			}
		}
	}
	for i := range runs {
		run := &runs[i]
		if key := ownerOf(run); tells(run) && !isDecided(run) && run.Status.CompletionTime.After(decided[key]) {
			counts[key]++
		}
	}
	return counts
}

func ownerOf(run *v1alpha1.EvalRun) suiteKey {
	return suiteKey{run.Namespace, run.Spec.SuiteRef.Name}
}

func isDecided(run *v1alpha1.EvalRun) bool {
	return run.Status.Verdict == v1alpha1.VerdictPassed || run.Status.Verdict == v1alpha1.VerdictFailed
}

// tells says whether how a run ended speaks of its suite as a whole. A run that
// something newer or somebody ended does not, and without objectives there is
// nothing to decide.
func tells(run *v1alpha1.EvalRun) bool {
	if run.Status.Verdict == "" || run.Status.CompletionTime == nil || !assaysuite.OptionsOf(&run.Spec).Full() {
		return false
	}
	switch run.Status.Reason {
	case status.ReasonCanceled, status.ReasonReplaced, status.ReasonQueueFull, status.ReasonSuiteChanged, status.ReasonSuiteDeleted,
		schedule.ReasonSuperseded, schedule.ReasonRevisionChanged, score.ReasonNoObjectives:
		return false
	}
	canceled := run.Annotations[v1alpha1.AnnotationCancel]
	return canceled == "" || run.Status.Reason != canceled
}
