package report

import (
	"fmt"
	"maps"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/score"
)

// Side gives the run as one of the two that are compared.
func (d *Document) Side() compare.Side {
	s := compare.Side{
		Run: d.Run.Name, UID: d.Run.UID, Revision: d.Run.Revision,
		GoldenSetDigest: d.Run.GoldenSetDigest, EvaluationDigest: d.Settings.EvaluationDigest,
		TopK: d.Settings.TopK, Unit: d.Settings.Unit, Tokenizer: d.Settings.BLEUTokenizer, Judge: d.Settings.Judge.Fingerprint(),
		Total: d.Total,
		Cases: make([]compare.Case, len(d.Cases)),
	}
	for i := range d.Cases {
		s.Cases[i] = d.Cases[i].side()
	}
	return s
}

func (c *Case) side() compare.Case {
	side := compare.Case{
		ID: c.ID, Digest: c.Digest, Tags: c.Tags, Outcome: c.Outcome, Rank: c.Rank,
		Values:    maps.Clone(c.Metrics),
		Retrieved: make([]string, len(c.Retrieved)),
	}
	if side.Values == nil {
		side.Values = map[string]float64{}
	}
	// Where the answer service retrieves by itself, no call took a time of its own.
	if s := c.LatencySeconds; s != nil && *s > 0 && eval.Timed(score.RetrievalStage, c.Outcome) {
		side.Values[score.LatencyP95] = *s
	}
	if s := c.AnswerLatencySeconds; s != nil && eval.Timed(score.AnswerStage, c.Outcome) {
		side.Values[score.AnswerLatencyP95] = *s
	}
	for i, r := range c.Retrieved {
		side.Retrieved[i] = r.ID
		if digest := eval.TextDigest(r.Text); digest != "" {
			if side.Texts == nil {
				side.Texts = make([]string, len(c.Retrieved))
			}
			side.Texts[i] = digest
		}
	}
	// Retrieval is not due for a case that has no answer in the corpus.
	if c.Answerable == nil || *c.Answerable {
		for _, r := range c.Relevant {
			side.Relevant = append(side.Relevant, r.ID)
		}
	}
	return side
}

// CompareDocuments sets the head against the base. It refuses documents that are
// only a page of their run.
func CompareDocuments(base, head *Document, o compare.Options) (*compare.Comparison, error) {
	for _, d := range []*Document{base, head} {
		if d.Next != "" {
			return nil, fmt.Errorf("the document of run %s is a page of it, which another follows: get the whole run", d.Run.Name)
		}
	}
	return compare.Compare(base.Side(), head.Side(), o), nil
}
