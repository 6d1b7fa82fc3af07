package judge

import "unicode"

// settle applies what holds whatever a model says. An answer that abstains
// asserts nothing, so that it is grounded, and is right exactly where the case
// has no answer; one that does not abstain there is wrong. Without contexts
// nothing is grounded, and without a reference nothing is right or wrong.
func settle(raw RawVerdict, in *Input) Verdict {
	v := Verdict{Grounded: raw.Grounded, Abstained: raw.Abstained, Reason: raw.Reason}
	switch {
	case raw.Abstained:
		v.Grounded = true
		v.Correct = new(!in.Answerable)
	case !in.Answerable:
		v.Correct = new(false)
	case in.Reference != "":
		v.Correct = new(raw.Correct)
	}
	if !raw.Abstained && len(in.Contexts) == 0 {
		v.Grounded = false
	}
	return v
}

// emptyAnswer is the verdict on an answer with nothing in it.
func emptyAnswer(in *Input) Verdict {
	return settle(RawVerdict{Abstained: true, Reason: "the answer is empty"}, in)
}

// noneRelevant scores contexts that all have nothing in them.
func noneRelevant(contexts []string) (Relevance, error) {
	if len(contexts) == 0 {
		return Relevance{}, &Error{Outcome: Failed, Message: "there is no context to score"}
	}
	return Relevance{Reasoning: "the contexts are empty"}.spread(contexts), nil
}

// spread puts the scores of the contexts with text in the places of all
// contexts; the others score 1.
func (r Relevance) spread(contexts []string) Relevance {
	all := Relevance{Scores: make([]int, len(contexts)), Reasoning: r.Reasoning}
	next := 0
	for i, c := range contexts {
		all.Scores[i] = minScore
		if !blank(c) {
			all.Scores[i] = r.Scores[next]
			next++
		}
	}
	all.Average = average(all.Scores)
	return all
}

func validScores(scores []int, contexts int) bool {
	for _, s := range scores {
		if s < minScore || s > maxScore {
			return false
		}
	}
	return len(scores) == contexts
}

// blank says that a text has nothing to see.
func blank(s string) bool {
	for _, r := range s {
		if !unicode.IsSpace(r) && !zeroWidth(r) {
			return false
		}
	}
	return true
}

// zeroWidth says that a character shows nothing, though it is no white space.
func zeroWidth(r rune) bool {
	return r >= 0x200B && r <= 0x200D || r == 0x2060 || r == 0xFEFF
}
