package score

import (
	"iter"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tokenizer cuts a text into what BLEU counts.
type Tokenizer string

// The tokenizers of BLEU.
const (
	// Whitespace cuts at white space.
	Whitespace Tokenizer = "Whitespace"
	// Char takes code points and drops white space, for languages whose words
	// take many endings or have no space between them.
	Char Tokenizer = "Char"
)

// longestGram is how many tokens BLEU looks at together, at most.
const longestGram = 4

// SentenceBLEU compares a text with one reference: the geometric mean of the
// clipped n-gram precisions for n from 1 to 4, over those n that have any match,
// times the brevity penalty exp(1 − reference/hypothesis) where the hypothesis
// is the shorter (Papineni et al. 2002, for one sentence and without smoothing).
// Both numbers lie in [0, 1]; an empty hypothesis has 0 for both.
//
// Time and memory grow with the two lengths and not faster.
func SentenceBLEU(reference, hypothesis string, t Tokenizer) (bleu, brevityPenalty float64) {
	v := vocabulary{}
	ref := v.learn(t.tokens(reference))
	hyp := v.look(t.tokens(hypothesis))
	if len(hyp) == 0 {
		return 0, 0
	}
	brevityPenalty = math.Exp(min(0, 1-float64(len(ref))/float64(len(hyp))))
	logs, matching := 0.0, 0
	counts := map[gram]int32{}
	for n := 1; n <= min(longestGram, len(hyp), len(ref)); n++ {
		clear(counts)
		eachGram(ref, n, func(g gram) { counts[g]++ })
		matches := 0
		eachGram(hyp, n, func(g gram) {
			if left := counts[g]; left > 0 {
				counts[g] = left - 1
				matches++
			}
		})
		if matches == 0 {
			break // no longer gram can match either
		}
		logs += math.Log(float64(matches) / float64(len(hyp)-n+1))
		matching++
	}
	if matching == 0 {
		return 0, brevityPenalty
	}
	return brevityPenalty * math.Exp(logs/float64(matching)), brevityPenalty
}

// tokens yields the tokens of a text. Under Char, a byte that is no UTF-8 is one.
func (t Tokenizer) tokens(text string) iter.Seq[string] {
	if t != Char {
		return strings.FieldsSeq(text)
	}
	return func(yield func(string) bool) {
		for len(text) > 0 {
			r, size := utf8.DecodeRuneInString(text)
			token := text[:size]
			text = text[size:]
			if !unicode.IsSpace(r) && !yield(token) {
				return
			}
		}
	}
}

// vocabulary numbers the tokens of a reference from 1.
type vocabulary map[string]uint32

func (v vocabulary) learn(tokens iter.Seq[string]) (ids []uint32) {
	for token := range tokens {
		id, ok := v[token]
		if !ok {
			id = uint32(len(v) + 1)
			v[token] = id
		}
		ids = append(ids, id)
	}
	return ids
}

// look numbers the tokens of another text; one that the reference lacks is 0.
func (v vocabulary) look(tokens iter.Seq[string]) (ids []uint32) {
	for token := range tokens {
		ids = append(ids, v[token])
	}
	return ids
}

// gram is up to four tokens in a row.
type gram [longestGram]uint32

func eachGram(ids []uint32, n int, do func(gram)) {
	for i := range len(ids) - n + 1 {
		var g gram
		copy(g[:], ids[i:i+n])
		do(g)
	}
}
