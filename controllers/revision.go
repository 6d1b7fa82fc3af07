package controllers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/schedule"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/status"
	"github.com/assay-dev/assay/internal/suite"
)

// checkWithin bounds the look at the targets after a run.
const checkWithin = 30 * time.Second

// serve finds out which revision a run of the suite's own URL measures, and has
// the plan find out again once its cases have ended. What a named endpoint serves
// is taken as said.
func (r *RunReconciler) serve(ctx context.Context, run *v1alpha1.EvalRun, s *v1alpha1.EvalSuite, p *suite.Prepared) error {
	if s.Spec.OnDeploy == nil || run.Spec.Endpoint != "" {
		return nil
	}
	targets, revision, err := revisionNow(ctx, r.Live, s, r.Clock.Now())
	if err != nil {
		return err
	}
	p.Serves(revision, evidence(targets), targets.Seen.ConfigMaps)
	p.Plan.Check = func(ctx context.Context) []score.Undecided {
		ctx, cancel := context.WithTimeout(ctx, checkWithin)
		defer cancel()
		now, err := r.latestRevision(ctx, s)
		return revisionMoved(revision, now, err)
	}
	return nil
}

// latestRevision is the revision that runs now, by the suite's newest status.
func (r *RunReconciler) latestRevision(ctx context.Context, s *v1alpha1.EvalSuite) (string, error) {
	latest := s.DeepCopy()
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s), latest); err != nil {
		return "", fmt.Errorf("get EvalSuite %s: %w", s.Name, err)
	}
	latest.Spec.OnDeploy = s.Spec.OnDeploy // what the run began with
	_, revision, err := revisionNow(ctx, r.Live, latest, r.Clock.Now())
	return revision, err
}

// revisionMoved says what a rollout means for a run: measured was one revision
// before and another one after, or a mixture throughout.
func revisionMoved(before, after string, err error) []score.Undecided {
	u := score.Undecided{Reason: schedule.ReasonRevisionChanged, Void: true}
	switch {
	case err != nil:
		u.Message = "whether a rollout came into the run is not known: " + err.Error()
	case before == "":
		u.Message = "the run began while a rollout went, so that nobody knows which revision it measured"
	case after == "":
		u.Message = fmt.Sprintf("a rollout began while revision %s was measured", before)
	case before != after:
		u.Message = fmt.Sprintf("a rollout came into the run: revision %s ran when it began, %s when it ended", before, after)
	default:
		return nil
	}
	return []score.Undecided{u}
}

func named(revision string) string { return cmp.Or(revision, "that is not known") }

// evidence is what the targets run.
func evidence(t *status.Targets) []report.Target {
	var list []report.Target
	for _, w := range t.Seen.Workloads {
		list = append(list, report.Target{
			Kind: string(w.Kind), Name: w.Name, TemplateHash: w.State.TemplateHash,
			Images: append([]string{}, w.Images...), ImageIDs: t.ImageIDs[status.TargetKey(w.Kind, w.Name)],
		})
	}
	return list
}
