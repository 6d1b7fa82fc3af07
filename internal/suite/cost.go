package suite

import (
	"cmp"

	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
)

// Cost is what a run takes, before retries and before what is known from earlier
// runs.
type Cost struct {
	// Calls over HTTP: to the retriever, for embeddings, to the answer service and
	// to the judge.
	Calls int64
	// Tokens that the judge reads and writes, roughly; 0 without a model.
	Tokens int64
}

// What is not known before a run is taken for this many tokens: a text that is
// retrieved, and an answer.
const (
	contextTokens = 250
	answerTokens  = 150
)

// CostOf says what a run over these cases takes: a call to the retriever for each
// case, the warm-up, which asks some of these once more, one for the vector of
// each question, and those of answer and judge.
func CostOf(s *v1alpha1.EvalSuite, o RunOptions, cases *golden.Set, refs Referenced) Cost {
	spec := scoreSpec(s, cmp.Or(o.TopK, int(s.Spec.Retriever.TopK)), o)
	cost := Cost{Calls: retrievalCalls(s, cases, spec.Answer)}
	if !spec.Answer {
		return cost
	}
	cost.Calls += int64(len(cases.Cases))
	if s.Spec.Retriever.URL == "" {
		cost.Calls += int64(ptr.Deref(s.Spec.Retriever.WarmupRequests, 0))
	}
	if !spec.Judge || s.Spec.Judge.Provider == v1alpha1.JudgeLexical {
		return cost
	}
	perCase := int64(1)
	if spec.Relevance {
		perCase = 2
	}
	cost.Calls += perCase * int64(len(cases.Cases))
	contexts := int64(answerContexts(s.Spec.Answer, spec.PrimaryK)) * contextTokens
	verdict, relevance := judge.EstimateOverhead(refs.Prompt)
	for i := range cases.Cases {
		c := &cases.Cases[i]
		asked := judge.EstimateTokens(c.Question)
		cost.Tokens += verdict + contexts + asked + judge.EstimateTokens(c.ReferenceAnswer) + answerTokens
		if spec.Relevance {
			cost.Tokens += relevance + contexts + asked
		}
	}
	if labels := int64(len(refs.Labels)); labels > 0 {
		cost.Calls += labels
		for _, l := range refs.Labels {
			cost.Tokens += verdict + judge.EstimateTokens(l.Question+l.Reference+l.Answer)
			for _, c := range l.Contexts {
				cost.Tokens += judge.EstimateTokens(c)
			}
		}
	}
	return cost
}

// retrievalCalls counts those to the retriever and for embeddings. With answers
// every case is asked, else only those that retrieval metrics run over.
func retrievalCalls(s *v1alpha1.EvalSuite, cases *golden.Set, all bool) int64 {
	if s.Spec.Retriever.URL == "" {
		return 0
	}
	var asked int64
	questions := map[string]bool{}
	for i := range cases.Cases {
		if c := &cases.Cases[i]; all || c.Due() {
			asked++
			questions[c.Question] = true
		}
	}
	if asked == 0 {
		return 0
	}
	calls := asked + int64(ptr.Deref(s.Spec.Retriever.WarmupRequests, 0))
	if program, err := compile(s); err == nil && program.UsesVector() {
		calls += int64(len(questions))
	}
	return calls
}
