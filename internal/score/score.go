// Package score computes the metrics of a run's three stages, their means and
// intervals, and the verdict over them. It is pure: no clock, no I/O.
//
// A Scorer plans the columns of a run and fills one row of values a case: Score
// those of retrieval, ScoreAnswer BLEU, ScoreVerdict and ScoreRelevance those of
// the judge. A value that a case does not have is NaN, and no mean counts it.
// Summarize averages the rows, Decide weighs the means against the objectives.
package score

// Unit is what counts as one result.
type Unit string

// The units of design: a chunk stands for itself, a document's chunks collapse
// into the first.
const (
	Chunk    Unit = "Chunk"
	Document Unit = "Document"
)

// Identity is the id that an item is known by in this unit: its own, or in
// Document that of its document where it names one.
func (u Unit) Identity(it Item) string {
	if u == Document && it.Document != "" {
		return it.Document
	}
	return it.ID
}

// Relevant is one relevant id with its grade, which is above 0.
type Relevant struct {
	ID    string
	Grade float64
}

// Item is the identity of one retrieved result.
type Item struct {
	ID string
	// Document that the item belongs to; empty: its own id.
	Document string
}

// Spec says which metrics are computed.
type Spec struct {
	// TopK is how many results are scored, at least 1.
	TopK int
	// K are the cut-offs, each from 1 to TopK.
	K []int
	// PrimaryK is the cut-off of the headline hit rate, which is computed even
	// if K lacks it; 0 for none. One above TopK is left out.
	PrimaryK int
	// Betas of F-beta beside 1, as decimal strings, shortest form ("0.5", "2").
	Betas []string
	// Unit is what counts as one result; empty is Chunk.
	Unit Unit
	// Named are metrics that objectives name; those of retrieval that K and Betas
	// do not already give are computed too, each as one column. One above TopK is
	// left out.
	Named []string
	// Answer adds the column of the answer stage, bleu.
	Answer bool
	// Judge adds those of the judge: accuracy and the rates of hallucination and
	// abstention. It needs Answer.
	Judge bool
	// Relevance adds context_relevance. It needs Judge.
	Relevance bool
	// Tokenizer of bleu; empty is Whitespace.
	Tokenizer Tokenizer
}

func (s Spec) tokenizer() Tokenizer {
	if s.Tokenizer == "" {
		return Whitespace
	}
	return s.Tokenizer
}

// Verdict is the outcome of a run.
type Verdict string

// The verdicts of a run.
const (
	Passed       Verdict = "Passed"
	Failed       Verdict = "Failed"
	Inconclusive Verdict = "Inconclusive"
	Error        Verdict = "Error"
)
