package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// maxWorst is how many of the worst cases a result names.
const maxWorst = 20

// tally takes in cases as they end. What it keeps of each is small and does not
// depend on what the retriever returned.
type tally struct {
	plan     Plan
	metrics  []score.Metric
	scores   []score.CaseScore // by case
	ends     []end             // by case
	failures map[string]failure
	outcomes map[string]int
	corpus   string
	changed  bool
	calls    int64
	done     int
	errored  int
}

// end is how a case ended; without an outcome it was never asked.
type end struct {
	outcome string
	rank    int
}

// failure is one way that cases failed, with the message of the first of them in
// the golden set's order.
type failure struct {
	count, index int
	message      string
}

func newTally(plan Plan, metrics []score.Metric) *tally {
	t := &tally{
		plan: plan, metrics: metrics,
		scores:   make([]score.CaseScore, len(plan.Cases)),
		ends:     make([]end, len(plan.Cases)),
		failures: map[string]failure{},
		outcomes: map[string]int{},
	}
	for i := range plan.Cases {
		t.scores[i] = score.CaseScore{Tags: plan.Cases[i].Tags, Due: plan.Cases[i].Due(), Unasked: true}
	}
	return t
}

// add takes in one case.
func (t *tally) add(e ended) {
	t.calls += int64(e.attempts)
	if !e.asked {
		return
	}
	r := e.result
	t.done++
	t.outcomes[r.Outcome]++
	t.ends[e.index] = end{outcome: r.Outcome, rank: r.Rank}
	s := &t.scores[e.index]
	s.Unasked = false
	s.Values = r.Values
	s.Latency = r.Latency.Seconds()
	s.Called = r.Called && hasLatency(r.Outcome)
	if r.Outcome != Scored {
		s.Failed = true
		t.errored++
		t.fail(e.index, r)
	}
	t.sawCorpus(r.CorpusVersion)
}

// hasLatency says whether a call's duration is one of retrieval. A call that
// timed out counts with its limit; a refused one says nothing of how long
// retrieval takes, and would make a retriever that is down look fast.
func hasLatency(outcome string) bool {
	return outcome == Scored || outcome == string(retriever.Timeout)
}

func (t *tally) fail(index int, r CaseResult) {
	f, ok := t.failures[r.Outcome]
	if !ok || index < f.index {
		f.index, f.message = index, r.Message
	}
	f.count++
	t.failures[r.Outcome] = f
}

func (t *tally) sawCorpus(version string) {
	if version == "" {
		return
	}
	t.changed = t.changed || t.corpus != "" && t.corpus != version
	t.corpus = version
}

// result sums up the run, which ctx may have ended early.
func (t *tally) result(ctx context.Context) *Result {
	r := &Result{
		Metrics:              t.metrics,
		Summary:              score.Summarize(t.metrics, t.scores),
		Outcomes:             t.outcomes,
		Worst:                worst(t.plan.Cases, t.ends),
		CorpusVersion:        t.corpus,
		CorpusVersionChanged: t.changed,
		RetrieverCalls:       t.calls,
		Total:                len(t.plan.Cases),
		Done:                 t.done,
		Errored:              t.errored,
	}
	facts := score.Facts{
		Summary:      r.Summary,
		Objectives:   t.plan.Objectives,
		MinCoverage:  t.plan.MinCoverage,
		Scored:       t.outcomes[Scored],
		Total:        r.Total,
		FirstFailure: t.commonest(),
	}
	if u, ok := stopped(ctx, t.plan, t.done); ok {
		facts.Undecided = append(facts.Undecided, u)
	}
	if t.changed {
		facts.Undecided = append(facts.Undecided, score.Undecided{Reason: ReasonCorpusChanged,
			Message: fmt.Sprintf("the corpus changed while it was asked, last to version %s: the cases were not asked of one corpus", t.corpus)})
	}
	r.Decision = score.Decide(facts)
	return r
}

// commonest tells of the most common failure.
func (t *tally) commonest() string {
	outcome, most := "", failure{}
	for o, f := range t.failures {
		if f.count > most.count || f.count == most.count && o < outcome {
			outcome, most = o, f
		}
	}
	switch most.count {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 case ended %s: %s", outcome, most.message)
	}
	return fmt.Sprintf("%d cases ended %s, the first: %s", most.count, outcome, most.message)
}

// worst picks the cases that a person should look at first.
func worst(cases []golden.Case, ends []end) []WorstCase {
	var picked []int
	for i, e := range ends {
		if e.outcome != "" && cases[i].Due() && e.rank != 1 {
			picked = append(picked, i)
		}
	}
	slices.SortStableFunc(picked, func(a, b int) int {
		return cmp.Or(cmp.Compare(ends[a].badness(), ends[b].badness()), cmp.Compare(ends[b].rank, ends[a].rank))
	})
	var out []WorstCase
	for _, i := range picked[:min(len(picked), maxWorst)] {
		out = append(out, WorstCase{ID: cases[i].ID, Rank: ends[i].rank, Outcome: ends[i].outcome})
	}
	return out
}

// badness orders what is worst: not found, then failed, then found late.
func (e end) badness() int {
	switch {
	case e.outcome == Scored && e.rank == 0:
		return 0
	case e.outcome != Scored:
		return 1
	}
	return 2
}
