package eval

import (
	"math"

	"github.com/assay-dev/assay/internal/score"
)

// resume takes over what an interrupted process has asked already and returns
// the indexes of the cases that are left. A case that has changed since, or of
// which too little was kept for this plan, is asked again.
func (t *tally) resume() (left []int) {
	t.sawCorpus(t.plan.CorpusVersion)
	for i := range t.plan.Cases {
		c := &t.plan.Cases[i]
		f, ok := t.plan.Finished[c.ID]
		if !ok || f.Digest != c.Digest || endsRun(f.Outcome) {
			left = append(left, i)
			continue
		}
		r := CaseResult{
			Case: c, Outcome: f.Outcome, Message: f.Message, Rank: f.Rank, Values: f.values(t.metrics), Latency: f.Latency, AnswerLatency: f.AnswerLatency,
			Called: f.Called, Retrieved: f.Retrieved, Answer: f.Answer, Verdict: f.Verdict, Relevance: f.Relevance, Usage: f.Usage,
		}
		if r.AnswerLatency == 0 && r.Answer != nil {
			r.AnswerLatency = r.Answer.Latency
		}
		if !t.whole(&r) {
			left = append(left, i)
			continue
		}
		t.add(ended{index: i, asked: true, calls: t.callsOf(&r), result: r})
	}
	return left
}

// whole says whether what was kept of a case is all that its outcome promises.
func (t *tally) whole(r *CaseResult) bool {
	failed := failedIn(r.Outcome)
	retrieval, _, _ := t.fare(r)
	switch {
	case retrieval.Scored && !hasAll(t.metrics, r.Values, score.RetrievalStage):
		return false
	case t.plan.Score.Answer && r.Answer == nil && failed != score.RetrievalStage && failed != score.AnswerStage:
		return false
	case t.plan.Score.Judge && r.Verdict == nil && failed == "":
		return false
	}
	return true
}

func hasAll(columns []score.Metric, values []float64, stage score.Stage) bool {
	for i, m := range columns {
		if m.Stage == stage && (values == nil || math.IsNaN(values[i])) {
			return false
		}
	}
	return true
}

// callsOf is how many requests a case that was taken over took, as far as that is
// still known: one for each call that was made.
func (t *tally) callsOf(r *CaseResult) (c calls) {
	if !r.Called {
		return c
	}
	if t.parties.Retriever != nil {
		c.retriever = 1
	}
	switch {
	case r.Answer != nil:
		c.answer = int64(max(1, r.Answer.Attempts))
	case failedIn(r.Outcome) == score.AnswerStage:
		c.answer = 1
	}
	return c
}

// values puts the metrics into the order of the plan's columns; nil where none of
// them was kept.
func (f *Finished) values(columns []score.Metric) []float64 {
	if f.Metrics == nil {
		return nil
	}
	values := make([]float64, len(columns))
	for i, m := range columns {
		v, ok := f.Metrics[m.Name]
		if !ok {
			v = math.NaN()
		}
		values[i] = v
	}
	return values
}

// Keep is what of a case is to be kept, so that a later process need not ask it again.
func (r *CaseResult) Keep(columns []score.Metric) Finished {
	f := Finished{
		Digest: r.Case.Digest, Outcome: r.Outcome, Message: r.Message, Rank: r.Rank, Latency: r.Latency, AnswerLatency: r.AnswerLatency,
		Called: r.Called, Verdict: r.Verdict, Relevance: r.Relevance, Usage: r.Usage,
	}
	if r.Answer != nil {
		kept := *r.Answer
		kept.Contexts = nil
		f.Answer = &kept
	}
	for _, item := range r.Retrieved {
		item.Text = ""
		f.Retrieved = append(f.Retrieved, item)
	}
	if r.Values == nil {
		return f
	}
	f.Metrics = make(map[string]float64, len(columns))
	for i, m := range columns {
		if !math.IsNaN(r.Values[i]) {
			f.Metrics[m.Name] = r.Values[i]
		}
	}
	return f
}
