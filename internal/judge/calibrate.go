package judge

import (
	"context"
	"maps"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Calibration is how far a judge agrees with people.
type Calibration struct {
	// Labels is how many answers the judge was asked about.
	Labels int `json:"labels"`
	// Digest of the labels, as LabelsDigest gives it.
	Digest string `json:"digest"`
	// Correct and Grounded compare the verdicts, each over the labels that answer
	// the question and whose answer the judge graded on it.
	Correct  Confusion `json:"correct"`
	Grounded Confusion `json:"grounded"`
	// Ungraded counts the labels that got no verdict, by outcome.
	Ungraded map[Outcome]int `json:"ungraded,omitempty"`
	Usage    Usage           `json:"usage"`
	// Verdicts of the judge, one a label in their order; nil where it gave none.
	Verdicts []*Verdict `json:"-"`
}

// Calibrate has labelled answers judged, so many at a time, and compares. An
// answer that gets no verdict is counted and compared with nothing. Where the
// context ends, or a quota or budget does, the error says so, and the
// calibration so far comes beside it, for what it cost.
func Calibrate(ctx context.Context, j Judge, labels []Label, parallelism int) (*Calibration, error) {
	c := &Calibration{
		Labels: len(labels), Digest: LabelsDigest(labels),
		Ungraded: map[Outcome]int{}, Verdicts: make([]*Verdict, len(labels)),
	}
	var mu sync.Mutex
	workers, asking := errgroup.WithContext(ctx)
	workers.SetLimit(max(parallelism, 1))
	for i := range labels {
		workers.Go(func() error {
			if asking.Err() != nil {
				return nil
			}
			verdict, usage, err := j.Grade(asking, labels[i].Input())
			mu.Lock()
			defer mu.Unlock()
			c.Usage = c.Usage.Add(usage)
			if err != nil {
				return c.failed(asking, err)
			}
			c.Verdicts[i] = &verdict
			c.Correct.add(labels[i].Correct, verdict.Correct)
			c.Grounded.add(labels[i].Grounded, &verdict.Grounded)
			return nil
		})
	}
	err := workers.Wait()
	if err == nil && ctx.Err() != nil {
		err = interrupted(ctx)
	}
	return c, err
}

// failed counts an answer without a verdict, unless the calibration ended
// under it; its error ends the calibration.
func (c *Calibration) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	e := failure(err)
	if e.EndsRun {
		return e
	}
	c.Ungraded[e.Outcome]++
	return nil
}

// ungraded counts the labels that got no verdict.
func (c *Calibration) ungraded() (n int) {
	for count := range maps.Values(c.Ungraded) {
		n += count
	}
	return n
}
