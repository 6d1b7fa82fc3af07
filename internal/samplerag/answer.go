package samplerag

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// NoAnswer is what the service says where its contexts have nothing to say.
const NoAnswer = "I could not find an answer to this in the documents."

const (
	// answerSentences is how many sentences make an answer.
	answerSentences = 2
	// minOverlap is the share of a question's words that the best sentence must
	// have for there to be an answer.
	minOverlap = 0.15
	// maxSentenceRunes cuts what has no full stop, such as a table.
	maxSentenceRunes = 400
)

// Answer is an extractive answer: sentences of the contexts, word for word.
type Answer struct {
	// Text is the sentences, or NoAnswer.
	Text string
	// Contexts are those that the sentences are of.
	Contexts []string
}

// Extract answers a question with the sentences of the contexts that share most
// words with it: words of English by their stem, of Korean by pairs of
// syllables. Words that few sentences have count for more, as in BM25. Equal
// sentences go by their place, so the same input gives the same answer.
func (ix *Index) Extract(ctx context.Context, question string, contexts []string) (Answer, error) {
	if err := checkQuery(question, 1); err != nil {
		return Answer{}, err
	}
	wanted := ix.words(question)
	var all []sentence
	frequency := map[string]int{}
	for i, text := range contexts {
		if err := ctx.Err(); err != nil {
			return Answer{}, err
		}
		for _, s := range sentences(text) {
			words := ix.words(s)
			for w := range wanted {
				if words[w] {
					frequency[w]++
				}
			}
			all = append(all, sentence{text: s, context: i, place: len(all), words: words})
		}
	}
	total := 0.0
	for w := range wanted {
		total += weight(frequency[w], len(all))
	}
	for i := range all {
		for w := range wanted {
			if all[i].words[w] {
				all[i].score += weight(frequency[w], len(all))
			}
		}
	}
	slices.SortFunc(all, func(a, b sentence) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.place, b.place))
	})
	if len(all) == 0 || total == 0 || all[0].score < minOverlap*total {
		return Answer{Text: NoAnswer}, nil
	}
	best := all[:1]
	for _, s := range all[1:min(len(all), answerSentences)] {
		if s.score >= all[0].score/2 {
			best = append(best, s)
		}
	}
	slices.SortFunc(best, func(a, b sentence) int { return cmp.Compare(a.place, b.place) })
	var a Answer
	var said []string
	used := map[int]bool{}
	for _, s := range best {
		said = append(said, s.text)
		if !used[s.context] {
			used[s.context] = true
			a.Contexts = append(a.Contexts, contexts[s.context])
		}
	}
	a.Text = strings.Join(said, " ")
	return a, nil
}

// sentence is one of a context's.
type sentence struct {
	text    string
	context int
	place   int
	words   map[string]bool
	score   float64
}

// weight is how much a word counts that so many of n sentences have: one that
// none has counts as one that a single sentence has, since it was asked for.
func weight(frequency, n int) float64 {
	return float64(n+1) / float64(max(frequency, 1)+1)
}

// words gives the text's terms in both analyses.
func (ix *Index) words(text string) map[string]bool {
	text = norm.NFC.String(text)
	words := map[string]bool{}
	for _, name := range []string{analyzerEnglish, analyzerCJK} {
		for _, token := range ix.mapping.AnalyzerNamed(name).Analyze([]byte(text)) {
			words[string(token.Term)] = true
		}
	}
	return words
}

// sentences cuts a text at line ends and behind full stops. Markup that opens a
// line is no part of a sentence, a heading is no sentence.
func sentences(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "```") || strings.Trim(line, "|-: ") == "" {
			continue
		}
		line = strings.TrimSpace(strings.TrimLeft(line, "*->| "))
		for line != "" {
			end := sentenceEnd(line)
			if s := strings.TrimSpace(line[:end]); s != "" {
				out = append(out, s)
			}
			line = line[end:]
		}
	}
	return out
}

// sentenceEnd is where the first sentence of a line ends, in bytes.
func sentenceEnd(line string) int {
	runes := 0
	stop := false
	for i, r := range line {
		if stop && unicode.IsSpace(r) || runes == maxSentenceRunes {
			return i
		}
		stop = strings.ContainsRune(".!?。", r)
		runes++
	}
	return len(line)
}
