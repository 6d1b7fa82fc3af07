package score

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func judging(t testing.TB) *Scorer {
	t.Helper()
	s, err := NewScorer(Spec{TopK: 5, PrimaryK: 5, Answer: true, Judge: true, Relevance: true, Tokenizer: Char})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// present gives the values that are there, by metric.
func present(s *Scorer, values []float64) map[string]float64 {
	out := map[string]float64{}
	for i, m := range s.Metrics() {
		if !math.IsNaN(values[i]) {
			out[m.Name] = values[i]
		}
	}
	return out
}

func TestScoreVerdict(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		name   string
		graded Graded
		want   map[string]float64
	}{
		{"right", Graded{Answerable: true, Correct: &yes, Grounded: true}, map[string]float64{"accuracy": 1, "hallucination_rate": 0, "abstention_rate": 0}},
		{"wrong and made up", Graded{Answerable: true, Correct: &no}, map[string]float64{"accuracy": 0, "hallucination_rate": 1, "abstention_rate": 0}},
		{"no reference", Graded{Answerable: true, Grounded: true}, map[string]float64{"hallucination_rate": 0, "abstention_rate": 0}},
		{"refused what could be answered", Graded{Answerable: true, Correct: &no, Grounded: true, Abstained: true},
			map[string]float64{"accuracy": 0, "hallucination_rate": 0, "abstention_rate": 1}},
		{"rightly refused", Graded{Correct: &yes, Grounded: true, Abstained: true}, map[string]float64{"hallucination_rate": 0, "abstention_accuracy": 1}},
		{"answered what has no answer", Graded{Correct: &no}, map[string]float64{"hallucination_rate": 1, "abstention_accuracy": 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := judging(t)
			values := s.NewValues()
			s.ScoreVerdict(tt.graded, values)
			if diff := cmp.Diff(tt.want, present(s, values)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryStageFillsItsOwnColumns(t *testing.T) {
	s := judging(t)
	values := s.NewValues()
	if got := present(s, values); len(got) != 0 {
		t.Errorf("a new row has %v", got)
	}
	s.ScoreAnswer("", "an answer", values)
	if got := present(s, values); len(got) != 0 {
		t.Errorf("without a reference there is %v", got)
	}
	s.ScoreAnswer("수수료는 10%입니다", "수수료는 10%가 아닙니다", values)
	s.ScoreRelevance(4.5, values)
	got := present(s, values)
	if math.Abs(got["bleu"]-0.5707) > 1e-4 || got["context_relevance"] != 4.5 || len(got) != 2 {
		t.Errorf("%v", got)
	}
	i := slices.IndexFunc(s.Metrics(), func(m Metric) bool { return m.Family == BLEU })
	if m := s.Metrics()[i]; m.Tokenizer != Char {
		t.Errorf("bleu names the tokenizer %q", m.Tokenizer)
	}
	s.Score(graded("a"), items("x", "a"), values)
	if got := present(s, values); got["mrr"] != 0.5 || got["hit_rate@5"] != 1 || got["context_relevance"] != 4.5 {
		t.Errorf("%v", got)
	}
}

func TestColumnsThatAreNotThereTakeNothing(t *testing.T) {
	s, err := NewScorer(Spec{TopK: 5})
	if err != nil {
		t.Fatal(err)
	}
	values := s.NewValues()
	s.ScoreAnswer("a", "a", values)
	s.ScoreVerdict(Graded{Answerable: true, Grounded: true}, values)
	s.ScoreRelevance(3, values)
	if got := present(s, values); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestWhichWayIsBetter(t *testing.T) {
	inf := math.Inf(1)
	for name, want := range map[string]struct {
		lower     bool
		low, high float64
	}{
		"hit_rate@5": {false, 0, 1}, "f2@3": {false, 0, 1}, "mrr": {false, 0, 1}, "bleu": {false, 0, 1}, "accuracy": {false, 0, 1},
		"abstention_accuracy": {false, 0, 1}, "context_relevance": {false, 1, 5},
		"hallucination_rate": {true, 0, 1}, "abstention_rate": {true, 0, 1}, "error_rate": {true, 0, 1},
		"retrieval_latency_p95_seconds": {true, 0, inf}, "answer_latency_p95_seconds": {true, 0, inf},
	} {
		m, err := ParseMetric(name)
		if err != nil {
			t.Fatal(err)
		}
		if low, high := m.Range(); m.LowerIsBetter() != want.lower || low != want.low || high != want.high {
			t.Errorf("%s: lower is better %t, from %v to %v; want %+v", name, m.LowerIsBetter(), low, high, want)
		}
	}
}
