package eval

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// worker asks and scores one case at a time.
type worker struct {
	retriever Retriever
	topK      int
	scorer    *score.Scorer
	keepText  bool

	// Space that the next case reuses.
	relevant []score.Relevant
	items    []score.Item
}

// ended is a case that came to an end, or a call that counts for nothing else.
type ended struct {
	index  int
	result CaseResult
	// asked is false where the run ended while the case was in flight.
	asked bool
	// attempts is how many requests it took.
	attempts int
}

// ask puts one case to the retriever and scores its list. Of the reply, ids and
// scores are taken, and the texts where the plan asks for them: whoever observes
// the case may hand them on, but nobody here keeps them, for they would make the
// run grow with the corpus.
//
// A case that is not due has nothing that a list could be scored against, so no
// call is made for it.
func (w *worker) ask(ctx context.Context, index int, c *golden.Case) (e ended) {
	e = ended{index: index, asked: true, result: CaseResult{Case: c, Outcome: Scored}}
	if !c.Due() {
		return e
	}
	e.result.Called = true
	// A bug behind one reply must cost that case, not the operator.
	defer func() {
		if p := recover(); p != nil {
			e.result = CaseResult{Case: c, Called: true, Outcome: string(retriever.Failed),
				Message: fmt.Sprintf("handling the reply panicked: %v", p)}
		}
	}()
	reply, err := w.retriever.Retrieve(ctx, c, w.topK)
	if err != nil {
		e.fail(err)
		// The run ended under it: no fault of the retriever's.
		e.asked = ctx.Err() == nil
		return e
	}
	e.attempts = reply.Attempts
	e.result.CorpusVersion = strings.Clone(reply.CorpusVersion)
	e.result.Latency = reply.Latency
	w.score(&e.result, reply)
	return e
}

func (e *ended) fail(err error) {
	e.result.Outcome, e.result.Message = string(retriever.Failed), err.Error()
	var failure *retriever.Error
	if errors.As(err, &failure) {
		e.attempts = failure.Attempts
		e.result.Outcome, e.result.Message = string(failure.Outcome), failure.Message
		e.result.Latency = failure.Latency
	}
}

// score fills in rank, values and the scored list.
func (w *worker) score(r *CaseResult, reply *retriever.Reply) {
	w.relevant = w.relevant[:0]
	for _, rel := range r.Case.Relevant {
		w.relevant = append(w.relevant, score.Relevant{ID: rel.ID, Grade: rel.Grade})
	}
	w.items = w.items[:0]
	for _, res := range reply.Results {
		w.items = append(w.items, score.Item{ID: res.ID, Document: res.Document})
	}
	r.Values = make([]float64, len(w.scorer.Metrics()))
	r.Rank = w.scorer.Score(w.relevant, w.items, r.Values)

	ranked := w.scorer.Ranked()
	r.Retrieved = make([]Retrieved, len(ranked))
	var scores []float64
	for i, k := range ranked {
		// Ids and scores are copied: they may be part of a whole reply.
		r.Retrieved[i] = Retrieved{ID: strings.Clone(w.scorer.Unit().Identity(w.items[k.Index])), Relevant: k.Relevant}
		if w.keepText {
			r.Retrieved[i].Text = strings.Clone(reply.Results[k.Index].Text)
		}
		if s := reply.Results[k.Index].Score; s != nil {
			if scores == nil {
				scores = make([]float64, len(ranked))
			}
			scores[i] = *s
			r.Retrieved[i].Score = &scores[i]
		}
	}
	clear(w.items)
}
