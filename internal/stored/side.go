package stored

import (
	"context"
	"errors"
	"fmt"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/score"
)

// Cases reads what a comparison needs of a run's cases: a *history.Store.
type Cases interface {
	CompareCases(ctx context.Context, uid string, f func(history.CompareCase) error) error
}

// ErrNothingMeasured is a run that ended before it measured anything, or has not
// ended.
var ErrNothingMeasured = errors.New("the run has measured nothing")

// Side gives a run as one side of a comparison.
func Side(ctx context.Context, run history.Run, from Cases) (*compare.Side, error) {
	if len(run.Document) == 0 {
		return nil, fmt.Errorf("read run %s: %w", run.Name, ErrNothingMeasured)
	}
	d, err := Document(run)
	if err != nil {
		return nil, err
	}
	side := d.Side()
	names := interned{}
	err = from.CompareCases(ctx, run.UID, func(c history.CompareCase) error {
		side.Cases = append(side.Cases, names.sideCase(&c))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &side, nil
}

// interned keeps one copy of what every case says again: a run may have 100,000
// of them.
type interned map[string]string

func (n interned) of(text string) string {
	kept, known := n[text]
	if !known {
		n[text], kept = text, text
	}
	return kept
}

func (n interned) sideCase(c *history.CompareCase) compare.Case {
	values := make(map[string]float64, len(c.Metrics)+2)
	for name, value := range c.Metrics {
		values[n.of(name)] = value
	}
	// Where the answer service retrieves by itself, no call took a time of its own.
	if c.Called && c.LatencySeconds > 0 && eval.Timed(score.RetrievalStage, c.Outcome) {
		values[score.LatencyP95] = c.LatencySeconds
	}
	if c.AnswerSeconds != nil && eval.Timed(score.AnswerStage, c.Outcome) {
		values[score.AnswerLatencyP95] = *c.AnswerSeconds
	}
	for i, tag := range c.Tags {
		c.Tags[i] = n.of(tag)
	}
	side := compare.Case{
		ID: c.ID, Digest: c.Digest, Tags: c.Tags, Outcome: n.of(c.Outcome), Rank: c.Rank,
		Values: values, Retrieved: c.Retrieved,
	}
	// What has no score was not due: its list is held against no ids.
	if _, scored := values[score.MRR]; scored || len(c.Retrieved) == 0 {
		side.Relevant = c.Relevant
	}
	return side
}
