package eval

import (
	"context"
	"errors"

	"github.com/assay-dev/assay/internal/judge"
)

// calibrate finds out whether the judge may be trusted, where the run has one.
// What cannot be found out is no trust: a suite that asks for it gets no verdict
// on the word of a judge that could not show it.
func (t *tally) calibrate(ctx context.Context, endRun context.CancelCauseFunc) {
	if t.plan.Calibrate == nil || !t.plan.Score.Judge {
		return
	}
	err := survive(func() (err error) {
		t.trust, err = t.plan.Calibrate(ctx)
		return err
	})
	t.usage = t.usage.Add(t.trust.Usage)
	if err == nil {
		return
	}
	t.trust.Untrusted = "the judge could not be calibrated: " + err.Error()
	var failure *judge.Error
	if errors.As(err, &failure) && failure.EndsRun {
		t.ended = true
		endRun(&Stop{Reason: string(failure.Outcome), Message: failure.Message})
	}
}
