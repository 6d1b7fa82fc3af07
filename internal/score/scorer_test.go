package score

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestColumnsAreInNaturalOrder(t *testing.T) {
	tests := []struct {
		name string
		spec Spec
		want []string
	}{
		{
			"cut-offs and betas are sorted, repeats dropped",
			Spec{TopK: 10, K: []int{3, 1, 3}, Betas: []string{"2", "0.5", "10"}},
			[]string{
				"hit_rate@1", "precision@1", "recall@1", "f1@1", "f0.5@1", "f2@1", "f10@1", "ndcg@1", "map@1",
				"hit_rate@3", "precision@3", "recall@3", "f1@3", "f0.5@3", "f2@3", "f10@3", "ndcg@3", "map@3",
				"mrr", "r_precision",
			},
		},
		{
			"a named metric adds one column only",
			Spec{TopK: 10, K: []int{1}, Named: []string{"hit_rate@5", "f3@1", "mrr@3", "mrr", "ndcg@5", "error_rate", "retrieval_latency_p95_seconds"}},
			[]string{
				"hit_rate@1", "precision@1", "recall@1", "f1@1", "f3@1", "ndcg@1", "map@1",
				"hit_rate@5", "ndcg@5",
				"mrr", "mrr@3", "r_precision",
			},
		},
		{
			"a named metric that is there already adds none",
			Spec{TopK: 10, K: []int{1}, Betas: []string{"2"}, Named: []string{"f2@1", "f1@1"}},
			[]string{"hit_rate@1", "precision@1", "recall@1", "f1@1", "f2@1", "ndcg@1", "map@1", "mrr", "r_precision"},
		},
		{
			"what is named above topK is left out",
			Spec{TopK: 3, PrimaryK: 5, Named: []string{"hit_rate@4", "f2@10", "map@3"}},
			[]string{"map@3", "mrr", "r_precision"},
		},
		{
			"an answer and a judge add theirs behind those of retrieval",
			Spec{TopK: 3, Answer: true, Judge: true, Named: []string{"accuracy", "bleu", "context_relevance", "answer_latency_p95_seconds"}},
			[]string{"mrr", "r_precision", "bleu", "accuracy", "hallucination_rate", "abstention_accuracy", "abstention_rate"},
		},
		{
			"and a judge of contexts one more",
			Spec{TopK: 3, Answer: true, Judge: true, Relevance: true},
			[]string{"mrr", "r_precision", "bleu", "accuracy", "hallucination_rate", "context_relevance", "abstention_accuracy", "abstention_rate"},
		},
		{
			"an objective's name brings no stage with it",
			Spec{TopK: 3, Named: []string{"accuracy", "bleu"}},
			[]string{"mrr", "r_precision"},
		},
		{
			"the headline hit rate is computed even if k lacks it",
			Spec{TopK: 10, PrimaryK: 5},
			[]string{"hit_rate@5", "mrr", "r_precision"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := NewScorer(tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range s.Metrics() {
				got = append(got, m.Name)
				parsed, err := ParseMetric(m.Name)
				if m.Family == BLEU {
					parsed.Tokenizer = Whitespace
				}
				if diff := cmp.Diff(m, parsed); diff != "" || err != nil {
					t.Errorf("ParseMetric(%q) differs from the column: %v\n%s", m.Name, err, diff)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseMetric(t *testing.T) {
	tests := map[string]Metric{
		"hit_rate@5":                    {Name: "hit_rate@5", Family: HitRate, K: 5, Binary: true, Stage: RetrievalStage},
		"f1@3":                          {Name: "f1@3", Family: F1, K: 3, Stage: RetrievalStage},
		"f0.5@3":                        {Name: "f0.5@3", Family: FBeta, K: 3, Beta: "0.5", Stage: RetrievalStage},
		"f11@3":                         {Name: "f11@3", Family: FBeta, K: 3, Beta: "11", Stage: RetrievalStage},
		"mrr":                           {Name: "mrr", Family: MRR, Stage: RetrievalStage},
		"mrr@3":                         {Name: "mrr@3", Family: MRR, K: 3, Stage: RetrievalStage},
		"bleu":                          {Name: "bleu", Family: BLEU, Stage: AnswerStage},
		"accuracy":                      {Name: "accuracy", Family: Accuracy, Binary: true, Stage: JudgeStage},
		"hallucination_rate":            {Name: "hallucination_rate", Family: HallucinationRate, Binary: true, Stage: JudgeStage},
		"context_relevance":             {Name: "context_relevance", Family: ContextRelevance, Stage: JudgeStage},
		"abstention_accuracy":           {Name: "abstention_accuracy", Family: AbstentionAccuracy, Binary: true, Stage: JudgeStage},
		"abstention_rate":               {Name: "abstention_rate", Family: AbstentionRate, Binary: true, Stage: JudgeStage},
		"error_rate":                    {Name: "error_rate", Family: ErrorRate, Binary: true},
		"retrieval_latency_p95_seconds": {Name: "retrieval_latency_p95_seconds", Family: LatencyP95, Stage: RetrievalStage},
		"answer_latency_p95_seconds":    {Name: "answer_latency_p95_seconds", Family: AnswerLatencyP95, Stage: AnswerStage},
	}
	for name, want := range tests {
		got, err := ParseMetric(name)
		if err != nil {
			t.Errorf("ParseMetric(%q): %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParseMetric(%q):\n%s", name, diff)
		}
	}
	for _, name := range []string{
		"", "@", "@5", "hit_rate", "hit_rate@", "hit_rate@0", "hit_rate@-1", "hit_rate@+5", "hit_rate@05", "hit_rate@5.0", "hit_rate@5@5", "Hit_Rate@5",
		"hit_rate @5", "r_precision@5", "error_rate@5", "f@5", "f0@5", "f-1@5", "f1.0@5", "f.5@5", "f1e3@5", "fNaN@5", "fInf@5", "f1e300@5",
		"bleu@4", "accuracy@1", "answer_latency_p95_seconds@5", "f_beta", "f_beta@5", "faithfulness", "recall@99999999999999999999",
	} {
		if m, err := ParseMetric(name); err == nil {
			t.Errorf("ParseMetric(%q) = %+v, want an error", name, m)
		}
	}
}

func FuzzParseMetric(f *testing.F) {
	for _, s := range []string{"hit_rate@5", "f0.5@3", "mrr", "f1@3", "error_rate", "f@", "f1e-400@1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		m, err := ParseMetric(name)
		if err != nil {
			return
		}
		if m.Name != name || m.Family == "" || m.K < 0 {
			t.Errorf("ParseMetric(%q) = %+v", name, m)
		}
		if m.K > 0 && m.K <= 1000 {
			got, _ := scoreOne(t, Spec{TopK: m.K, Named: []string{name}}, graded("a"), items("b", "a"))
			if v, ok := got[name]; !ok || !(v >= 0 && v <= 1) {
				t.Errorf("%s = %v (%t)", name, v, ok)
			}
		}
	})
}

func TestNewScorerRefusesNonsense(t *testing.T) {
	tests := map[string]struct {
		spec Spec
		says string
	}{
		"no topK":               {Spec{}, "topK is 0"},
		"negative topK":         {Spec{TopK: -1}, "topK is -1"},
		"cut-off above topK":    {Spec{TopK: 5, K: []int{10}}, "cut-off 10 is not from 1 to topK, which is 5"},
		"cut-off 0":             {Spec{TopK: 5, K: []int{0}}, "cut-off 0"},
		"negative primaryK":     {Spec{TopK: 5, PrimaryK: -1}, "primaryK is -1"},
		"beta no number":        {Spec{TopK: 5, Betas: []string{"two"}}, `beta "two" is no decimal number above 0`},
		"beta 0":                {Spec{TopK: 5, Betas: []string{"0"}}, `beta "0"`},
		"beta negative":         {Spec{TopK: 5, Betas: []string{"-2"}}, `beta "-2"`},
		"beta not finite":       {Spec{TopK: 5, Betas: []string{"Inf"}}, `beta "Inf"`},
		"beta too large":        {Spec{TopK: 5, Betas: []string{"1e200"}}, `beta "1e200"`},
		"beta in long form":     {Spec{TopK: 5, Betas: []string{"0.50"}}, `write "0.5"`},
		"beta 1":                {Spec{TopK: 5, Betas: []string{"1"}}, "is F1"},
		"unknown named metric":  {Spec{TopK: 5, Named: []string{"faithfulness"}}, `"faithfulness": unknown metric`},
		"named without cut-off": {Spec{TopK: 5, Named: []string{"recall"}}, `"recall": unknown metric`},
		"a judge of no answer":  {Spec{TopK: 5, Judge: true}, "a judge and no answer"},
		"relevance, no judge":   {Spec{TopK: 5, Answer: true, Relevance: true}, "there is no judge"},
		"unknown tokenizer":     {Spec{TopK: 5, Tokenizer: "Word"}, `tokenizer "Word" is neither Whitespace nor Char`},
		"unknown unit":          {Spec{TopK: 5, Unit: "Page"}, `unit "Page"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := NewScorer(tt.spec)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
}

func TestWorkedValues(t *testing.T) {
	t.Run("ranks 1, 5, 1 of one relevant file each", func(t *testing.T) {
		got := averages(t, Spec{TopK: 10, K: []int{1, 3, 5}},
			asked{graded("r"), items("r", "a", "b", "c", "d")},
			asked{graded("r"), items("a", "b", "c", "d", "r")},
			asked{graded("r"), items("r")})
		check(t, got, 3, map[string]string{"hit_rate@1": "0.667", "hit_rate@3": "0.667", "hit_rate@5": "1.000", "mrr": "0.733"})
	})
	t.Run("twelve questions, one with two relevant documents", func(t *testing.T) {
		twelve := []asked{{graded("r", "s"), items("r", "a", "b", "s", "c")}}
		for range 11 {
			twelve = append(twelve, asked{graded("r"), items("r", "a", "b", "c", "d")})
		}
		got := averages(t, Spec{TopK: 10, K: []int{1, 3, 5}, Betas: []string{"0.5", "2"}}, twelve...)
		check(t, got, 3, map[string]string{
			"precision@1": "1.000", "precision@3": "0.333", "precision@5": "0.217",
			"recall@1": "0.958", "recall@3": "0.958", "recall@5": "1.000",
			"f1@1": "0.972", "f1@3": "0.492", "f1@5": "0.353",
			"f0.5@3": "0.382", "f2@3": "0.693",
		})
	})
	t.Run("wrong, right", func(t *testing.T) {
		got := averages(t, Spec{TopK: 10, K: []int{1, 2}}, asked{graded("r"), items("w", "r")})
		check(t, got, 3, map[string]string{"precision@1": "0.000", "precision@2": "0.500"})
	})
	t.Run("grades a3 b2 c1", func(t *testing.T) {
		got := averages(t, Spec{TopK: 10, K: []int{3}},
			asked{[]Relevant{{"a", 3}, {"b", 2}, {"c", 1}}, items("c", "x", "a")})
		check(t, got, 4, map[string]string{"ndcg@3": "0.5250"})
	})
}

type asked struct {
	relevant  []Relevant
	retrieved []Item
}

func averages(t *testing.T, spec Spec, cases ...asked) Summary {
	t.Helper()
	s, err := NewScorer(spec)
	if err != nil {
		t.Fatal(err)
	}
	var scores []CaseScore
	for _, c := range cases {
		values := make([]float64, len(s.Metrics()))
		s.Score(c.relevant, c.retrieved, values)
		scores = append(scores, CaseScore{Retrieval: StageScore{Due: true, Scored: true}, Values: values})
	}
	return Summarize(s.Metrics(), scores)
}

func check(t *testing.T, s Summary, decimals int, want map[string]string) {
	t.Helper()
	for name, value := range want {
		m, ok := s.Mean(name, "")
		if got := fmt.Sprintf("%.*f", decimals, m.Value); !ok || got != value {
			t.Errorf("%s = %s (%t), want %s", name, got, ok, value)
		}
	}
}

func TestRankedIsTheListThatWasScored(t *testing.T) {
	list := []Item{{ID: "1", Document: "a"}, {ID: "2", Document: "a"}, {ID: "3"}, {ID: "4", Document: "b"}, {ID: "5", Document: "c"}}
	tests := []struct {
		name     string
		unit     Unit
		relevant []Relevant
		want     []Ranked
		rank     int
	}{
		{"chunks go by their own id", Chunk, graded("2", "5"), []Ranked{{Index: 0}, {Index: 1, Relevant: true}, {Index: 2}}, 2},
		{"documents collapse, then the list is cut", Document, graded("b", "c"), []Ranked{{Index: 0}, {Index: 2}, {Index: 3, Relevant: true}}, 3},
		{"a chunk that names no document is its own", Document, graded("3"), []Ranked{{Index: 0}, {Index: 2, Relevant: true}, {Index: 3}}, 2},
		{"a document's chunk ids mean nothing", Document, graded("1"), []Ranked{{Index: 0}, {Index: 2}, {Index: 3}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := NewScorer(Spec{TopK: 3, K: []int{1, 3}, Unit: tt.unit})
			if err != nil {
				t.Fatal(err)
			}
			values := make([]float64, len(s.Metrics()))
			if rank := s.Score(tt.relevant, list, values); rank != tt.rank {
				t.Errorf("rank %d, want %d", rank, tt.rank)
			}
			if diff := cmp.Diff(tt.want, s.Ranked()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARepeatedChunkIsRelevantOnce(t *testing.T) {
	s, err := NewScorer(Spec{TopK: 10, K: []int{2}})
	if err != nil {
		t.Fatal(err)
	}
	s.Score(graded("a"), items("a", "a"), make([]float64, len(s.Metrics())))
	if diff := cmp.Diff([]Ranked{{0, true}, {1, false}}, s.Ranked()); diff != "" {
		t.Error(diff)
	}
}

func TestMRRWithACutOff(t *testing.T) {
	got, _ := scoreOne(t, Spec{TopK: 5, Named: []string{"mrr@2", "mrr@3", "mrr@5"}}, graded("r"), items("a", "b", "r"))
	for name, want := range map[string]float64{"mrr@2": 0, "mrr@3": 1. / 3, "mrr@5": 1. / 3, "mrr": 1. / 3} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
}

func TestOddGradesKeepTheGainInRange(t *testing.T) {
	tests := map[string][]Relevant{
		"huge":                   {{"a", 1.7e308}, {"b", 1.7e308}},
		"infinite":               {{"a", math.Inf(1)}, {"b", 1}},
		"tiny":                   {{"a", 5e-324}, {"b", 5e-324}},
		"not above 0 is ignored": {{"a", 1}, {"x", 0}, {"y", -1}, {"z", math.NaN()}},
	}
	for name, relevant := range tests {
		got, _ := scoreOne(t, Spec{TopK: 2, K: []int{2}}, relevant, items("a", "b"))
		if got["ndcg@2"] != 1 {
			t.Errorf("%s: ndcg@2 = %v, want 1", name, got["ndcg@2"])
		}
	}
}

func TestACaseWithoutRelevantIdsHasNoValue(t *testing.T) {
	got, rank := scoreOne(t, Spec{TopK: 2, K: []int{1, 2}}, nil, items("a", "b"))
	for name, v := range got {
		if !math.IsNaN(v) {
			t.Errorf("%s = %v, want none", name, v)
		}
	}
	if rank != 0 {
		t.Errorf("rank %d, want 0", rank)
	}
}

// Scoring writes into the caller's values and scratch of its own, also where a
// retriever's ids are decomposed.
func TestScoreAllocatesNothing(t *testing.T) {
	lists := map[string]func(i int) string{
		"ascii":             func(i int) string { return fmt.Sprintf("doc-%03d", i) },
		"composed Korean":   func(i int) string { return fmt.Sprintf("문서/맥-%03d.txt", i) },
		"decomposed Korean": func(i int) string { return fmt.Sprintf("\u1106\u1162\u11a8-%03d.txt", i) },
	}
	for name, id := range lists {
		for _, unit := range []Unit{Chunk, Document} {
			if unit == Document && name == "decomposed Korean" {
				continue // a set of the documents seen has to hold them
			}
			t.Run(fmt.Sprintf("%s/%s", name, unit), func(t *testing.T) {
				var list []Item
				for i := range 100 {
					list = append(list, Item{ID: id(i)})
				}
				relevant := graded("맥-007.txt", "doc-050", "문서/맥-003.txt", "nowhere")
				s, err := NewScorer(Spec{TopK: 100, K: []int{1, 10, 100}, Betas: []string{"0.5", "2"}, Unit: unit, Named: []string{"mrr@10"}})
				if err != nil {
					t.Fatal(err)
				}
				values := make([]float64, len(s.Metrics()))
				if rank := s.Score(relevant, list, values); rank == 0 {
					t.Error("nothing was found")
				}
				if n := testing.AllocsPerRun(100, func() { s.Score(relevant, list, values) }); n != 0 {
					t.Errorf("%v allocations a case", n)
				}
			})
		}
	}
}

func TestClonesDoNotShareScratch(t *testing.T) {
	s, err := NewScorer(Spec{TopK: 2, K: []int{2}})
	if err != nil {
		t.Fatal(err)
	}
	s.Score(graded("a"), items("x", "y"), make([]float64, len(s.Metrics())))
	c := s.Clone()
	s.Score(graded("a"), items("a", "b"), make([]float64, len(s.Metrics())))
	c.Score(graded("b"), items("x", "b"), make([]float64, len(c.Metrics())))
	if diff := cmp.Diff([]Ranked{{0, true}, {1, false}}, s.Ranked()); diff != "" {
		t.Error(diff)
	}
}
