package score

// Graded is what a judge said of the answer to a case.
type Graded struct {
	// Answerable as the case is.
	Answerable bool
	// Correct is nil where there is no reference to go by.
	Correct *bool
	// Grounded says that the contexts support all that the answer asserts.
	Grounded bool
	// Abstained says that it declines to answer.
	Abstained bool
}

// ScoreAnswer fills in the column of the answer stage. Without a reference there
// is no value.
func (s *Scorer) ScoreAnswer(reference, answer string, values []float64) {
	i, ok := s.place[BLEU]
	if !ok || reference == "" {
		return
	}
	values[i], _ = SentenceBLEU(reference, answer, s.tokenizer)
}

// ScoreVerdict fills in the judge's columns.
func (s *Scorer) ScoreVerdict(g Graded, values []float64) {
	s.put(values, HallucinationRate, !g.Grounded)
	if !g.Answerable {
		s.put(values, AbstentionAccuracy, g.Abstained)
		return
	}
	s.put(values, AbstentionRate, g.Abstained)
	if g.Correct != nil {
		s.put(values, Accuracy, *g.Correct)
	}
}

// ScoreRelevance fills in context_relevance: the average of what the judge gave
// the contexts, each from 1 to 5.
func (s *Scorer) ScoreRelevance(average float64, values []float64) {
	if i, ok := s.place[ContextRelevance]; ok {
		values[i] = average
	}
}

// put writes 1 for true and 0 for false.
func (s *Scorer) put(values []float64, family string, is bool) {
	i, ok := s.place[family]
	if !ok {
		return
	}
	values[i] = 0
	if is {
		values[i] = 1
	}
}
