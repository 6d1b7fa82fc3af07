package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/assay-dev/assay/internal/score"
)

const scoredCases, scoredResults = 10_000, 100

// scoring is 10,000 cases of 100 results and up to five relevant ids, with every
// retrieval metric at three cut-offs.
type scoring struct {
	scorer   *score.Scorer
	relevant [][]score.Relevant
	lists    [][]score.Item
	values   []float64
}

func newScoring(tb testing.TB, unit score.Unit) *scoring {
	tb.Helper()
	scorer, err := score.NewScorer(score.Spec{TopK: scoredResults, K: []int{1, 10, 100}, Betas: []string{"0.5", "2"}, Unit: unit})
	if err != nil {
		tb.Fatal(err)
	}
	s := &scoring{scorer: scorer, values: make([]float64, scoredCases*len(scorer.Metrics()))}
	r := rand.New(rand.NewPCG(1, 2))
	for range scoredCases {
		var list []score.Item
		for range scoredResults {
			n := r.IntN(1000)
			list = append(list, score.Item{ID: fmt.Sprintf("docs/page-%03d.md#%d", n, n%7), Document: fmt.Sprintf("docs/page-%03d.md", n)})
		}
		var relevant []score.Relevant
		for i := range 1 + r.IntN(5) {
			id := list[r.IntN(scoredResults)].ID
			if unit == score.Document {
				id = list[r.IntN(scoredResults)].Document
			}
			relevant = append(relevant, score.Relevant{ID: id, Grade: float64(1 + i)})
		}
		s.lists, s.relevant = append(s.lists, list), append(s.relevant, relevant)
	}
	return s
}

// all scores every case into the values that were made for it.
func (s *scoring) all() {
	n := len(s.scorer.Metrics())
	for i := range s.lists {
		s.scorer.Score(s.relevant[i], s.lists[i], s.values[i*n:(i+1)*n])
	}
}

func BenchmarkScore(b *testing.B) {
	for _, unit := range []score.Unit{score.Chunk, score.Document} {
		b.Run(string(unit), func(b *testing.B) {
			s := newScoring(b, unit)
			s.all()
			b.ReportAllocs()
			for b.Loop() {
				s.all()
			}
			b.ReportMetric(float64(b.N*scoredCases)/b.Elapsed().Seconds(), "cases/s")
		})
	}
}

func TestScoringAllocatesNothingBeyondItsResult(t *testing.T) {
	for _, unit := range []score.Unit{score.Chunk, score.Document} {
		s := newScoring(t, unit)
		if n := testing.AllocsPerRun(1, s.all); n != 0 {
			t.Errorf("%s: %v allocations for %d cases", unit, n, scoredCases)
		}
	}
}
