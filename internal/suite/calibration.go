package suite

import (
	"context"
	"errors"

	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/score"
)

// calibration holds a run's judge against labelled verdicts. Where the same
// judge was held against the same labels before, it takes that over.
type calibration struct {
	judge       judge.Judge
	labels      []judge.Label
	minKappa    float64
	digest      string
	known       *v1alpha1.JudgeStatus
	parallelism int

	found *v1alpha1.JudgeStatus
}

// noMinimum asks for no agreement: kappa is never below it.
const noMinimum = -1

func newCalibration(s *v1alpha1.EvalSuite, grader judge.Judge, identity judge.Identity, refs Referenced) (*calibration, *Error) {
	minimum, err := minKappa(s.Spec.Judge.Calibration)
	if err != nil {
		return nil, err
	}
	return &calibration{
		judge: grader, labels: refs.Labels, minKappa: minimum, known: s.Status.Judge, parallelism: int(s.Spec.Execution.Parallelism),
		digest: judge.CalibrationDigest(identity, refs.Digests.Labels+"/"+s.Spec.Judge.Calibration.MinKappa),
	}, nil
}

// minKappa is the agreement that the suite asks for.
func minKappa(c *v1alpha1.Calibration) (float64, *Error) {
	if c.MinKappa == "" {
		return noMinimum, nil
	}
	v, ok := decimal(c.MinKappa, 1)
	if !ok {
		return 0, errorf(ReasonInvalidJudge, "spec.judge.calibration.minKappa is %q: it must be a decimal string from \"0\" to \"1\"", c.MinKappa)
	}
	return v, nil
}

// run finds out how far the judge agrees with people. A judge that is down leaves
// that open; what it fails to judge then, the run's coverage says.
func (c *calibration) run(ctx context.Context) (eval.Trust, error) {
	if c.known != nil && c.known.Digest == c.digest {
		c.found = c.known
		return c.trust(judge.Usage{}), nil
	}
	result, err := judge.Calibrate(ctx, c.judge, c.labels, c.parallelism)
	var ends *judge.Error
	if errors.As(err, &ends) && ends.EndsRun || ctx.Err() != nil {
		return eval.Trust{Usage: result.Usage}, err
	}
	trust, message := result.Trusted(c.minKappa)
	c.found = &v1alpha1.JudgeStatus{Labels: ptr.To(int32(result.Labels)), Digest: c.digest, Trust: string(trust), Message: message}
	if len(result.Ungraded) > 0 {
		c.found.Digest = "" // to be tried again
	}
	if kappa, known := result.Correct.Kappa(); known {
		c.found.KappaCorrect = score.Format(kappa)
	}
	if kappa, known := result.Grounded.Kappa(); known {
		c.found.KappaGrounded = score.Format(kappa)
	}
	return c.trust(result.Usage), nil
}

func (c *calibration) trust(u judge.Usage) eval.Trust {
	t := eval.Trust{Usage: u}
	if c.found.Trust == string(judge.Untrusted) {
		t.Untrusted = c.found.Message
	}
	return t
}

// Calibrated is how far the judge agrees with people, once the run has found out;
// nil where it has not, or was not to.
func (p *Prepared) Calibrated() *v1alpha1.JudgeStatus {
	if p.calibration == nil {
		return nil
	}
	return p.calibration.found
}

// Grader is a suite's judge by itself, to be held against labelled verdicts.
type Grader struct {
	Judge    judge.Judge
	Identity judge.Identity
	Labels   []judge.Label
	// MinKappa that the suite asks for; -1 where it asks for none.
	MinKappa    float64
	Parallelism int

	prepared *Prepared
}

// PrepareGrader makes a suite's judge ready without a run. Labels, where given,
// stand in for those of the suite. Its error is an *Error.
func PrepareGrader(ctx context.Context, s *v1alpha1.EvalSuite, labels []judge.Label, src Source, d Deps) (*Grader, error) {
	if s.Spec.Judge == nil {
		return nil, errorf(ReasonInvalidJudge, "the suite %s has no judge: add spec.judge", s.Name)
	}
	if err := Check(s); err != nil {
		return nil, err
	}
	reading := s.DeepCopy()
	if len(labels) > 0 {
		reading.Spec.Judge.Calibration = nil
	}
	refs, err := LoadReferenced(ctx, reading, src)
	if err != nil {
		return nil, err
	}
	if len(labels) > 0 {
		refs.Labels, refs.Digests.Labels = labels, judge.LabelsDigest(labels)
	}
	if len(refs.Labels) == 0 {
		return nil, errorf(ReasonLabelsInvalid, "there are no labelled verdicts to hold the judge against: give --labels FILE, or judge.calibration in the suite")
	}
	c := newCredentials(ctx, s.Namespace, src)
	conn := c.model(s)
	if err := join(c.missing); err != nil {
		return nil, err
	}
	held := s.DeepCopy()
	if held.Spec.Judge.Calibration == nil {
		held.Spec.Judge.Calibration = &v1alpha1.Calibration{}
	}
	p := &Prepared{}
	if err := p.newJudge(held, conn, refs, d); err != nil {
		p.Close()
		return nil, err
	}
	return &Grader{
		Judge: p.Parties.Judge, Identity: *p.Judge, Labels: refs.Labels, MinKappa: p.calibration.minKappa,
		Parallelism: int(s.Spec.Execution.Parallelism), prepared: p,
	}, nil
}

// Close lets go of all connections.
func (g *Grader) Close() { g.prepared.Close() }
