package judge

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
)

// LexicalProvider is the provider's name of the judge that NewLexical gives.
const LexicalProvider = "Lexical"

// lexicalVersion goes up when the lexical judge decides otherwise than before.
const lexicalVersion = 1

// LexicalIdentity is who the lexical judge is: the same everywhere.
func LexicalIdentity() Identity {
	return Identity{Provider: LexicalProvider, ParserVersion: lexicalVersion}
}

// NewLexical gives the judge that needs no model: it counts the words that
// answer, reference and contexts have in common. It is deterministic, costs
// nothing, and sees no meaning: not a negation, not another word for the same.
// docs/lexical-judge.md has the definition and its limits.
func NewLexical() Judge { return lexical{} }

type lexical struct{}

// Grade judges an answer by its words. It takes no history into account.
func (lexical) Grade(ctx context.Context, in Input) (Verdict, Usage, error) {
	if ctx.Err() != nil {
		return Verdict{}, Usage{}, interrupted(ctx)
	}
	if blank(in.Answer) {
		return emptyAnswer(&in), Usage{}, nil
	}
	if blank(in.Reference) {
		in.Reference = ""
	}
	in.Contexts = withText(in.Contexts)
	if abstains(in.Answer) {
		return settle(RawVerdict{Abstained: true, Reason: "lexical: the answer begins with a phrase that declines"}, &in), Usage{}, nil
	}
	var raw RawVerdict
	var reasons []string
	answer := wordsOf(withoutCitations(in.Answer))
	if in.Reference != "" {
		var reason string
		raw.Correct, reason = covers(wordsOf(withoutCitations(in.Reference)), answer, "the reference", "the answer")
		reasons = append(reasons, reason)
	}
	grounded, reason := covers(answer, wordsOf(strings.Join(in.Contexts, "\n")), "the answer", "the contexts")
	raw.Grounded = grounded
	raw.Reason = "lexical: " + strings.Join(append(reasons, reason), "; ")
	return settle(raw, &in), Usage{}, nil
}

// covers says whether the whole has more than half of the part's words, and
// every number of it. Half is not enough: "three years" is not "two years".
func covers(part, whole words, partName, wholeName string) (bool, string) {
	found, of := part.share(whole)
	reason := fmt.Sprintf("%d of %d words of %s are in %s", found, of, partName, wholeName)
	if number := part.lacks(whole); number != "" {
		return false, fmt.Sprintf("%s, but not the number %s", reason, number)
	}
	return 2*found > of, reason
}

// Relevance scores each context by how many of the question's words it has:
// none is 1, all is 5.
func (lexical) Relevance(ctx context.Context, question string, _ []golden.Turn, contexts []string) (Relevance, Usage, error) {
	if ctx.Err() != nil {
		return Relevance{}, Usage{}, interrupted(ctx)
	}
	if len(withText(contexts)) == 0 {
		relevance, err := noneRelevant(contexts)
		return relevance, Usage{}, err
	}
	asked := wordsOf(question)
	r := Relevance{Scores: make([]int, len(contexts))}
	found := make([]string, len(contexts))
	for i, c := range contexts {
		n, of := asked.share(wordsOf(c))
		found[i] = fmt.Sprint(n)
		r.Scores[i] = minScore
		if of > 0 {
			// Half steps up, in whole numbers, so that it is the same everywhere.
			r.Scores[i] += (2*n*(maxScore-minScore) + of) / (2 * of)
		}
	}
	r.Average = average(r.Scores)
	r.Reasoning = fmt.Sprintf("lexical: of %d words of the question, the contexts have %s", len(asked.all), strings.Join(found, ", "))
	return r, Usage{}, nil
}
