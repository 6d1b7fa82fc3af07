package controllers

import (
	"context"
	"errors"
	"fmt"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/score"
)

// Baselines finds the runs that others are compared with.
type Baselines interface {
	LastPassed(ctx context.Context, suiteUID string) (history.Run, error)
	RunByName(ctx context.Context, namespace, suite, name string) (history.Run, error)
	CompareCases(ctx context.Context, uid string, f func(history.CompareCase) error) error
}

// baselineOf loads what a run of the suite is compared with; nil where the suite
// compares with nothing. That a baseline cannot be read keeps no run from going.
func baselineOf(ctx context.Context, s *v1alpha1.EvalSuite, from Baselines) *eval.Baseline {
	spec := &s.Spec.Baseline
	if spec.Policy == v1alpha1.BaselineNone && spec.Reference == "" {
		return nil
	}
	b := &eval.Baseline{Policy: compare.Policy{
		MinConfidence:   spec.MinConfidence,
		OnNotComparable: compare.OnNotComparable(spec.OnNotComparable),
	}}
	if from == nil {
		b.Policy.Missing = "the operator keeps no history to compare with: start it with --history"
		b.Policy.Lost = known(s) != ""
		return b
	}
	if spec.Reference != "" {
		if side, err := sideByName(ctx, s, from, spec.Reference); err == nil {
			b.Reference = side
		}
	}
	switch spec.Policy {
	case v1alpha1.BaselineNone:
		b.Policy.Missing = "the suite compares with no baseline (baseline.policy is None)"
	case v1alpha1.BaselinePinned:
		side, err := sideByName(ctx, s, from, spec.RunName)
		if err != nil {
			b.Policy.Lost = true
			b.Policy.Missing = lost(spec.RunName, err)
		}
		b.Base = side
	default:
		side, err := lastPassed(ctx, s, from)
		if err != nil {
			b.Policy.Lost = known(s) != ""
			b.Policy.Missing = lost(known(s), err)
		}
		b.Base = side
	}
	return b
}

// known is the run that the suite's status names as its baseline.
func known(s *v1alpha1.EvalSuite) string {
	if s.Status.Baseline == nil {
		return ""
	}
	return s.Status.Baseline.RunName
}

// lost says why there is no baseline.
func lost(name string, err error) string {
	switch {
	case name == "" && errors.Is(err, history.ErrNotFound):
		return "no full run of the suite has passed yet"
	case name == "":
		return "the history could not be asked for a baseline: " + err.Error()
	case errors.Is(err, history.ErrNotFound):
		return fmt.Sprintf("the baseline, run %s, is not in the history: name another in baseline.runName, or let a run pass", name)
	}
	return fmt.Sprintf("the baseline, run %s, could not be read: %v", name, err)
}

func lastPassed(ctx context.Context, s *v1alpha1.EvalSuite, from Baselines) (*compare.Side, error) {
	run, err := from.LastPassed(ctx, string(s.UID))
	if err != nil {
		return nil, err
	}
	return sideOf(ctx, run, from)
}

func sideByName(ctx context.Context, s *v1alpha1.EvalSuite, from Baselines, name string) (*compare.Side, error) {
	run, err := from.RunByName(ctx, s.Namespace, s.Name, name)
	if err != nil {
		return nil, err
	}
	return sideOf(ctx, run, from)
}

// sideOf reads a run out of the history as one side of a comparison.
func sideOf(ctx context.Context, run history.Run, from Baselines) (*compare.Side, error) {
	d, err := report.Read(run.Document)
	if err != nil {
		return nil, fmt.Errorf("read the document of run %s: %w", run.Name, err)
	}
	side := d.Side()
	side.Run, side.UID, side.Revision = run.Name, run.UID, run.Revision
	side.GoldenSetDigest, side.EvaluationDigest, side.Total = run.GoldenSetDigest, run.EvaluationDigest, run.Total
	err = from.CompareCases(ctx, run.UID, func(c history.CompareCase) error {
		side.Cases = append(side.Cases, sideCase(&c))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &side, nil
}

func sideCase(c *history.CompareCase) compare.Case {
	values := c.Metrics
	if values == nil {
		values = map[string]float64{}
	}
	if c.Called && (c.Outcome == eval.Scored || c.Rank > 0 || len(c.Retrieved) > 0) {
		values[score.LatencyP95] = c.LatencySeconds
	}
	if c.AnswerSeconds != nil {
		values[score.AnswerLatencyP95] = *c.AnswerSeconds
	}
	return compare.Case{
		ID: c.ID, Digest: c.Digest, Tags: c.Tags, Outcome: c.Outcome, Rank: c.Rank,
		Values: values, Retrieved: c.Retrieved, Relevant: c.Relevant,
	}
}
