package eval

import (
	"strings"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/score"
)

// An outcome of a failure begins with the stage that failed: AnswerTimeout.
var prefixes = map[score.Stage]string{
	score.RetrievalStage: "Retriever",
	score.AnswerStage:    "Answer",
	score.JudgeStage:     "Judge",
}

// outcome puts a failure into the words of its stage. Where it is none in
// particular, that is RetrieverError, AnswerError or JudgeError.
func outcome(stage score.Stage, failed string) string {
	how := strings.TrimPrefix(failed, prefixes[failedIn(failed)])
	if how == "" {
		how = "Error"
	}
	return prefixes[stage] + how
}

// failedIn gives the stage that an outcome is a failure of; empty for Scored.
func failedIn(outcome string) score.Stage {
	switch {
	case outcome == Scored:
		return ""
	case strings.HasPrefix(outcome, prefixes[score.AnswerStage]):
		return score.AnswerStage
	case strings.HasPrefix(outcome, prefixes[score.JudgeStage]):
		return score.JudgeStage
	}
	return score.RetrievalStage
}

// timedOut says whether a failed call counts with its limit as its latency. A
// refused one says nothing of how long the work takes, and would make a service
// that is down look fast.
func timedOut(outcome string) bool { return strings.HasSuffix(outcome, "Timeout") }

// Timed says whether the call of a stage counts for its latency, in a case that had
// it and ended so: it succeeded, or timed out.
func Timed(stage score.Stage, outcome string) bool {
	switch failedIn(outcome) {
	case stage:
		return timedOut(outcome)
	case score.RetrievalStage: // so no later stage made a call
		return false
	}
	return true
}

// endsRun says whether an outcome is one that no other case would fare better
// with. A process that takes the run over asks such a case again.
func endsRun(outcome string) bool {
	return outcome == string(judge.QuotaExceeded) || outcome == string(judge.BudgetExceeded)
}

// fare says how a case that ended fared in every stage.
func (t *tally) fare(r *CaseResult) (retrieval, answer, judging score.StageScore) {
	failed := failedIn(r.Outcome)
	retrieves := t.parties.Retriever != nil
	retrieval.Due = r.Case.Due()
	retrieval.Scored = retrieval.Due && failed != score.RetrievalStage && (retrieves || failed != score.AnswerStage)
	retrieval.Timed = retrieves && r.Called && Timed(score.RetrievalStage, r.Outcome)
	retrieval.Seconds = r.Latency.Seconds()
	if !t.plan.Score.Answer {
		return retrieval, answer, judging
	}
	answer.Due = true
	answer.Scored = r.Answer != nil
	answer.Timed = answer.Scored || failed == score.AnswerStage && Timed(score.AnswerStage, r.Outcome)
	answer.Seconds = r.AnswerLatency.Seconds()
	judging.Due = t.plan.Score.Judge && answer.Scored
	judging.Scored = judging.Due && r.Outcome == Scored
	return retrieval, answer, judging
}
