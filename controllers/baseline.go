package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/stored"
)

// loadWithin bounds the reading of what a run is compared with.
const loadWithin = 2 * time.Minute

// Baselines finds the runs that others are compared with.
type Baselines interface {
	LastPassed(ctx context.Context, suiteUID string) (history.Run, error)
	RunByName(ctx context.Context, namespace, suite, name string) (history.Run, error)
	RetrievedTexts(ctx context.Context, uid string, cases []string, f func(caseID, text string)) error
	stored.Cases
}

// baselineOf loads what a run of the suite is compared with. That it cannot be read
// keeps no run from going.
func baselineOf(ctx context.Context, s *v1alpha1.EvalSuite, from Baselines) *eval.Baseline {
	spec := &s.Spec.Baseline
	b := &eval.Baseline{Policy: compare.Policy{
		MinConfidence:   spec.MinConfidence,
		OnNotComparable: compare.OnNotComparable(spec.OnNotComparable),
	}}
	ctx, cancel := context.WithTimeout(ctx, loadWithin)
	defer cancel()
	if spec.Policy == v1alpha1.BaselineNone {
		b.Policy.Missing = "the suite compares with none (baseline.policy is None)"
	} else {
		b.Base, b.Policy.Missing, b.Policy.Lost = base(ctx, s, from)
	}
	if spec.Reference != "" {
		var err error
		if b.Reference, err = runNamed(ctx, s, from, spec.Reference); err != nil {
			b.ReferenceMissing = unusable("the reference", spec.Reference, err)
		}
	}
	if from != nil {
		b.Texts = textsFrom(from, logf.FromContext(ctx))
	}
	return b
}

// errNoHistory is an operator that knows of no earlier runs.
var errNoHistory = errors.New("the operator keeps no history to compare with: start it with --history")

// base loads the baseline. Where there is none, missing says why, and lost that
// there was one.
func base(ctx context.Context, s *v1alpha1.EvalSuite, from Baselines) (side *compare.Side, missing string, lost bool) {
	name, pinned := known(s), s.Spec.Baseline.Policy == v1alpha1.BaselinePinned
	var err error
	if pinned {
		name = s.Spec.Baseline.RunName
		side, err = runNamed(ctx, s, from, name, mayBeBaseline)
	} else {
		side, err = lastPassed(ctx, s, from)
	}
	switch {
	case err == nil:
		return side, "", false
	case errors.Is(err, errNoHistory):
		return nil, err.Error(), name != ""
	case name == "" && errors.Is(err, history.ErrNotFound):
		return nil, "no full run of the suite has passed yet", false
	case name == "":
		return nil, "the history could not be asked for a run that passed: " + err.Error(), false
	case pinned:
		return nil, unusable("the baseline", name, err) + "; name another in baseline.runName", true
	}
	return nil, unusable("the baseline", name, err) + "; pin another run, or set baseline.policy to None until one has passed", true
}

// known is the run that the suite's status names as its baseline.
func known(s *v1alpha1.EvalSuite) string {
	if s.Status.Baseline == nil {
		return ""
	}
	return s.Status.Baseline.RunName
}

// unusable says why a run that is named is compared with by none.
func unusable(what, name string, err error) string {
	if errors.Is(err, history.ErrNotFound) {
		return fmt.Sprintf("%s, run %s, is not in the history", what, name)
	}
	return fmt.Sprintf("%s, run %s, cannot be used: %v", what, name, err)
}

func lastPassed(ctx context.Context, s *v1alpha1.EvalSuite, from Baselines) (*compare.Side, error) {
	if from == nil {
		return nil, errNoHistory
	}
	run, err := from.LastPassed(ctx, string(s.UID))
	if err != nil {
		return nil, err
	}
	return stored.Side(ctx, run, from)
}

// runNamed loads a run of the suite that all of the checks let pass.
func runNamed(ctx context.Context, s *v1alpha1.EvalSuite, from Baselines, name string, checks ...func(history.Run) error) (*compare.Side, error) {
	if from == nil {
		return nil, errNoHistory
	}
	run, err := from.RunByName(ctx, s.Namespace, s.Name, name)
	if err != nil {
		return nil, err
	}
	for _, check := range checks {
		if err := check(run); err != nil {
			return nil, err
		}
	}
	return stored.Side(ctx, run, from)
}

// mayBeBaseline refuses what LastPassed would never pick.
func mayBeBaseline(run history.Run) error {
	switch {
	case run.Verdict == "":
		return errors.New("it has not ended")
	case run.Verdict != string(v1alpha1.VerdictPassed):
		return fmt.Errorf("it came out %s, and only a run that passed is a baseline", run.Verdict)
	case !run.Full || run.Endpoint != "":
		return errors.New("only a run of all cases and stages against the suite's own URL is a baseline")
	}
	return nil
}

// textsFrom gives digests of stored texts. Without them, base names alone say
// whether labels still fit.
func textsFrom(from Baselines, log logr.Logger) func(context.Context, string, []string) map[string][]string {
	return func(ctx context.Context, run string, cases []string) map[string][]string {
		ctx, cancel := context.WithTimeout(ctx, loadWithin)
		defer cancel()
		texts := map[string][]string{}
		err := from.RetrievedTexts(ctx, run, cases, func(id, text string) { texts[id] = append(texts[id], eval.TextDigest(text)) })
		if err != nil {
			log.Error(err, "the texts of earlier results cannot be read, and labels are compared without", "baselineUID", run)
			return nil
		}
		return texts
	}
}
