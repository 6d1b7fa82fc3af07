package eval

import "github.com/assay-dev/assay/internal/score"

// resume takes over what an interrupted process has asked already and returns
// the indexes of the cases that are left. A case that has changed since, or
// whose metrics are not those of this plan, is asked again.
func (t *tally) resume() (left []int) {
	t.sawCorpus(t.plan.CorpusVersion)
	for i := range t.plan.Cases {
		c := &t.plan.Cases[i]
		f, ok := t.plan.Finished[c.ID]
		if !ok || f.Digest != c.Digest {
			left = append(left, i)
			continue
		}
		values, ok := f.values(t.metrics)
		if !ok {
			left = append(left, i)
			continue
		}
		attempts := 0
		if f.Called {
			attempts = 1 // how often it was tried is not known any more
		}
		t.add(ended{index: i, asked: true, attempts: attempts, result: CaseResult{
			Case: c, Outcome: f.Outcome, Message: f.Message, Rank: f.Rank, Values: values, Latency: f.Latency, Called: f.Called,
		}})
	}
	return left
}

// values puts the metrics into the order of the plan's columns. It reports
// false where a case that was scored lacks one.
func (f *Finished) values(columns []score.Metric) ([]float64, bool) {
	if f.Outcome != Scored || !f.Called {
		return nil, true
	}
	values := make([]float64, len(columns))
	for i, m := range columns {
		v, ok := f.Metrics[m.Name]
		if !ok {
			return nil, false
		}
		values[i] = v
	}
	return values, true
}

// Keep is what of a case is to be kept, so that a later process need not ask it again.
func (r *CaseResult) Keep(columns []score.Metric) Finished {
	f := Finished{Digest: r.Case.Digest, Outcome: r.Outcome, Message: r.Message, Rank: r.Rank, Latency: r.Latency, Called: r.Called}
	if r.Values != nil {
		f.Metrics = make(map[string]float64, len(columns))
		for i, m := range columns {
			f.Metrics[m.Name] = r.Values[i]
		}
	}
	return f
}
