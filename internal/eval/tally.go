package eval

import (
	"context"
	"fmt"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/score"
)

// tally takes in cases as they end. What it keeps of each is small and does not
// depend on what the services returned.
type tally struct {
	plan     Plan
	parties  Parties
	metrics  []score.Metric
	scores   []score.CaseScore // by case
	ends     []end             // by case
	failures map[string]failure
	outcomes map[string]int
	trust    Trust
	corpus   string
	changed  bool
	calls    calls
	usage    judge.Usage
	done     int
	errored  int
	// retrieved and texts are the lists, by case: ids, and digests of their texts.
	retrieved, texts [][]string
	// ended says that the judge's quota or budget ended the run.
	ended bool
}

// end is how a case ended; without an outcome it was never asked.
type end struct {
	outcome string
	rank    int
	// bad is an answer that is wrong or made something up.
	bad bool
}

// failure is one way that cases failed, with the message of the first of them in
// the golden set's order.
type failure struct {
	count, index int
	message      string
}

func newTally(plan Plan, parties Parties, metrics []score.Metric) *tally {
	t := &tally{
		plan: plan, parties: parties, metrics: metrics,
		scores:    make([]score.CaseScore, len(plan.Cases)),
		ends:      make([]end, len(plan.Cases)),
		retrieved: make([][]string, len(plan.Cases)), texts: make([][]string, len(plan.Cases)),
		failures: map[string]failure{},
		outcomes: map[string]int{},
	}
	for i := range plan.Cases {
		t.scores[i] = score.CaseScore{
			Tags: plan.Cases[i].Tags, Unasked: true,
			Retrieval: score.StageScore{Due: plan.Cases[i].Due()}, Answer: score.StageScore{Due: plan.Score.Answer},
		}
	}
	return t
}

// add takes in one case.
func (t *tally) add(e ended) {
	t.calls = t.calls.add(e.calls)
	t.usage = t.usage.Add(e.result.Usage)
	t.ended = t.ended || e.stop != nil
	if !e.asked {
		return
	}
	r := &e.result
	t.done++
	t.outcomes[r.Outcome]++
	t.ends[e.index] = end{outcome: r.Outcome, rank: r.Rank, bad: bad(r.Verdict)}
	s := &t.scores[e.index]
	s.Unasked = false
	s.Values = r.Values
	s.Retrieval, s.Answer, s.Judge = t.fare(r)
	if r.Outcome != Scored {
		s.Failed = true
		t.errored++
		t.fail(e.index, r)
	}
	t.keepList(e.index, r.Retrieved)
	t.sawCorpus(r.CorpusVersion)
}

// bad says whether an answer is wrong or made something up.
func bad(v *judge.Verdict) bool {
	return v != nil && (!v.Grounded || v.Correct != nil && !*v.Correct)
}

func (t *tally) fail(index int, r *CaseResult) {
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
		Worst:                t.worst(),
		CorpusVersion:        t.corpus,
		CorpusVersionChanged: t.changed,
		RetrieverCalls:       t.calls.retriever,
		AnswerCalls:          t.calls.answer,
		Usage:                t.usage,
		Trust:                t.trust,
		Total:                len(t.plan.Cases),
		Done:                 t.done,
		Errored:              t.errored,
	}
	r.Summary.Evidence = score.CountEvidence(t.metrics, t.scores, t.plan.Score.PrimaryK)
	facts := score.Facts{
		Spec:        t.plan.Score,
		Summary:     r.Summary,
		Objectives:  t.plan.Objectives,
		MinCoverage: t.plan.MinCoverage,
		Scored:      t.outcomes[Scored],
		Total:       r.Total,
		Failures:    t.commonest(),
		Untrusted:   t.trust.Untrusted,
	}
	if u, ok := t.stopped(ctx); ok {
		facts.Undecided = append(facts.Undecided, u)
	}
	if t.plan.Check != nil {
		facts.Undecided = append(facts.Undecided, t.plan.Check(context.WithoutCancel(ctx))...)
	}
	if t.changed {
		facts.Undecided = append(facts.Undecided, score.Undecided{Reason: ReasonCorpusChanged,
			Message: fmt.Sprintf("the corpus changed while it was asked, last to version %s: the cases were not asked of one corpus", t.corpus)})
	}
	c := t.compare(context.WithoutCancel(ctx), facts.Open)
	facts.Relative = c.relative
	if c.stale != nil {
		r.Stale = c.stale
		facts.Stale, facts.StaleDetail = c.stale.Summary, c.stale.Message
	}
	r.Comparison, r.ReferenceComparison = c.baseline, c.reference
	r.Worst = regressionsFirst(r.Worst, c.baseline)
	r.Decision = score.Decide(facts)
	return r
}

// commonest tells of the most common failure of every stage. Where the answer
// service retrieves by itself, its failures are those of retrieval, too.
func (t *tally) commonest() map[score.Stage]string {
	outcomes := map[score.Stage]string{}
	for o, f := range t.failures {
		stage := failedIn(o)
		best, ok := outcomes[stage]
		if most := t.failures[best].count; !ok || f.count > most || f.count == most && o < best {
			outcomes[stage] = o
		}
	}
	if o, ok := outcomes[score.AnswerStage]; ok && t.parties.Retriever == nil {
		outcomes[score.RetrievalStage] = o
	}
	said := make(map[score.Stage]string, len(outcomes))
	for stage, o := range outcomes {
		said[stage] = t.failures[o].say(o)
	}
	return said
}

func (f failure) say(outcome string) string {
	if f.count == 1 {
		return fmt.Sprintf("1 case ended %s: %s", outcome, f.message)
	}
	return fmt.Sprintf("%d cases ended %s, the first: %s", f.count, outcome, f.message)
}
