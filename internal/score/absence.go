package score

import "fmt"

// leftOut says why the run does not compute a metric and what would make it;
// empty where it does.
func (f Facts) leftOut(o Objective) string {
	family := o.family()
	switch {
	case f.Summary.Cases[o.Tag] == 0 || f.Spec.Judge && f.Spec.Relevance:
		return ""
	case family.stage == AnswerStage && !f.Spec.Answer:
		return "no answers are asked for: give the suite an answer service (spec.answer), or the run the stage Answer (spec.stages)"
	case family.stage == JudgeStage && !f.Spec.Judge:
		return "nobody judges the answers: give the suite a judge (spec.judge), or the run the stage Judge (spec.stages)"
	case o.Metric == ContextRelevance && !f.Spec.Relevance:
		return "the judge does not grade contexts: set spec.judge.contextRelevance to true"
	}
	return ""
}

// absence says why a metric that the run computes has no value, and what to do;
// the stage is the one that gave no result, where that is why.
func (f Facts) absence(o Objective) (Stage, string) {
	family := o.family()
	coverage := f.Summary.Coverage(family.stage, o.Tag)
	switch {
	case o.Tag != "" && f.Summary.Cases[o.Tag] == 0:
		return "", fmt.Sprintf("no case carries the tag %s: add it to cases of the golden set, or change the objective", o.Tag)
	case f.Summary.Cases[o.Tag] == 0:
		return "", "the run has no cases"
	case o.Metric == ErrorRate:
		return "", "no case has ended"
	case o.Metric == LatencyP95:
		return "", "no call was answered or timed out"
	case o.Metric == AnswerLatencyP95:
		return "", "no call to the answer service was answered or timed out"
	case family.stage == JudgeStage && coverage.Due == 0:
		return AnswerStage, "no case got an answer that could be judged"
	case family.stage != "" && coverage.Due == 0:
		return "", "no case is answerable and has a relevant id: add relevant ids to cases of the golden set"
	case family.stage != "" && coverage.Scored == 0:
		return family.stage, fmt.Sprintf("none of %s due got %s", cases(coverage.Due), family.stage.gives())
	}
	switch o.Metric {
	case BLEU:
		return "", "no case that got an answer has a reference answer: add reference_answer to cases of the golden set"
	case Accuracy:
		return "", "no case that was judged is answerable and has a reference answer: add reference_answer to cases of the golden set"
	case AbstentionAccuracy:
		return "", "no case that was judged has answerable: false: add questions that the corpus has no answer to"
	case AbstentionRate:
		return "", "no case that was judged is answerable"
	case ContextRelevance:
		return "", "no answer that was judged came with contexts"
	}
	return "", "the run does not compute it: its cut-off is above the run's topK"
}
