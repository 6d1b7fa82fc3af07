package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	binary1 = metricAt(HitRate, 5)
	mean1   = metric(MRR)

	due = StageScore{Due: true}
)

// took is a stage that gave a result after so many seconds.
func took(seconds float64) StageScore {
	return StageScore{Due: true, Scored: true, Timed: true, Seconds: seconds}
}

func TestSummarizeByTag(t *testing.T) {
	cases := []CaseScore{
		{Tags: []string{"ko", "howto"}, Retrieval: took(0.1), Values: []float64{1, 0.5}},
		{Tags: []string{"howto"}, Retrieval: took(0.3), Values: []float64{0, 0}},
		{Tags: []string{"howto"}, Failed: true, Retrieval: StageScore{Due: true, Timed: true, Seconds: 10}}, // timed out
		{Tags: []string{"ko"}, Retrieval: due},                                                              // gave nothing
		{Tags: []string{"none"}},                                                                            // unanswerable
		{Retrieval: took(0.2), Values: []float64{1, 1}},
	}
	s := Summarize([]Metric{binary1, mean1}, cases)

	want := []Mean{
		{Name: "hit_rate@5", Value: 2. / 3, Count: 3},
		{Name: "mrr", Value: 0.5, Count: 3},
		{Name: "error_rate", Value: 1. / 6, Count: 6},
		{Name: "retrieval_latency_p95_seconds", Value: 10, Count: 4},
		{Name: "hit_rate@5", Tag: "howto", Value: 0.5, Count: 2},
		{Name: "mrr", Tag: "howto", Value: 0.25, Count: 2},
		{Name: "error_rate", Tag: "howto", Value: 1. / 3, Count: 3},
		{Name: "retrieval_latency_p95_seconds", Tag: "howto", Value: 10, Count: 3},
		{Name: "hit_rate@5", Tag: "ko", Value: 1, Count: 1},
		{Name: "mrr", Tag: "ko", Value: 0.5, Count: 1},
		{Name: "error_rate", Tag: "ko", Value: 0, Count: 2},
		{Name: "retrieval_latency_p95_seconds", Tag: "ko", Value: 0.1, Count: 1},
		// A mean over nothing is absent: no metric, no latency.
		{Name: "error_rate", Tag: "none", Value: 0, Count: 1},
	}
	if diff := cmp.Diff(want, s.Means, cmpopts.IgnoreFields(Mean{}, "Low", "High"), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]Coverage{"": {3, 5}, "howto": {2, 3}, "ko": {1, 2}, "none": {0, 0}}, s.Retrieval); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"": 6, "howto": 3, "ko": 2, "none": 1}, s.Cases); diff != "" {
		t.Error(diff)
	}
	if r, ok := s.Retrieval[""].Ratio(); !ok || r != 0.6 {
		t.Errorf("ratio %v, %t", r, ok)
	}
	if _, ok := s.Retrieval["none"].Ratio(); ok {
		t.Error("a coverage over nothing has a ratio")
	}
	for _, m := range s.Means {
		alone := m.Name == "mrr" && m.Count == 1
		if has := m.Low != nil && m.High != nil; has == (alone || m.Name == LatencyP95) {
			t.Errorf("%s of %q over %d: interval present: %t", m.Name, m.Tag, m.Count, has)
		}
		if m.Low != nil && !(0 <= *m.Low && *m.Low <= m.Value && m.Value <= *m.High && *m.High <= 1) {
			t.Errorf("%s of %q = %v is not within [%v, %v]", m.Name, m.Tag, m.Value, *m.Low, *m.High)
		}
	}
}

func TestSummarizeNothing(t *testing.T) {
	s := Summarize([]Metric{mean1}, nil)
	if len(s.Means) != 0 || len(s.Cases) != 0 {
		t.Errorf("%+v", s)
	}
	if _, ok := s.Mean("mrr", ""); ok {
		t.Error("a mean over nothing is there")
	}
}

func TestWilson(t *testing.T) {
	tests := []struct {
		hits, n   int
		low, high float64
	}{
		{11, 12, 0.646, 0.985},
		{0, 10, 0, 0.278},
		{10, 10, 0.722, 1},
		{15, 30, 0.332, 0.668},
		{1, 1, 0.207, 1},
	}
	for _, tt := range tests {
		low, high := wilson(float64(tt.hits)/float64(tt.n), tt.n)
		if math.Abs(low-tt.low) > 0.0005 || math.Abs(high-tt.high) > 0.0005 {
			t.Errorf("wilson(%d of %d) = [%.4f, %.4f], want [%.3f, %.3f]", tt.hits, tt.n, low, high, tt.low, tt.high)
		}
	}
}

// On many cases the bootstrap must agree with the normal approximation.
func TestBootstrapAgreesWithTheNormalApproximation(t *testing.T) {
	cases := synthetic(2000, 3, rand.New(rand.NewPCG(1, 2)))
	s := Summarize(columnsOf(3), cases)
	for j := range 3 {
		m, _ := s.Mean(columnsOf(3)[j].Name, "")
		var squares float64
		for _, c := range cases {
			squares += (c.Values[j] - m.Value) * (c.Values[j] - m.Value)
		}
		half := z95 * math.Sqrt(squares/float64(len(cases)*len(cases)))
		if math.Abs(*m.Low-(m.Value-half)) > 0.15*half || math.Abs(*m.High-(m.Value+half)) > 0.15*half {
			t.Errorf("%s: [%v, %v], the normal one is [%v, %v]", m.Name, *m.Low, *m.High, m.Value-half, m.Value+half)
		}
	}
}

func TestBootstrapIsTheSameEveryTimeAndForEveryColumn(t *testing.T) {
	cases := synthetic(60, 4, rand.New(rand.NewPCG(3, 4)))
	for i := range cases {
		cases[i].Values[3] = cases[i].Values[0]
	}
	s := Summarize(columnsOf(4), cases)
	if diff := cmp.Diff(s, Summarize(columnsOf(4), cases)); diff != "" {
		t.Errorf("a second time differs:\n%s", diff)
	}
	// All columns share the draws, so equal columns have equal intervals, and
	// another column changes none.
	same := cmpopts.IgnoreFields(Mean{}, "Name")
	if diff := cmp.Diff(s.Means[0], s.Means[3], same); diff != "" {
		t.Errorf("equal columns differ:\n%s", diff)
	}
	if diff := cmp.Diff(s.Means[0], Summarize(columnsOf(1), cases).Means[0]); diff != "" {
		t.Errorf("alone differs:\n%s", diff)
	}
	if *s.Means[0].Low >= s.Means[0].Value || *s.Means[0].High <= s.Means[0].Value {
		t.Errorf("no spread: %+v", s.Means[0])
	}
}

func TestNearestRank(t *testing.T) {
	for n, want := range map[int]float64{1: 1, 2: 2, 19: 19, 20: 19, 21: 20, 40: 38, 100: 95} {
		var sorted []float64
		for i := range n {
			sorted = append(sorted, float64(i+1))
		}
		if got := nearestRank(sorted, 0.95); got != want {
			t.Errorf("p95 of 1…%d = %v, want %v", n, got, want)
		}
	}
}

// synthetic makes cases whose rows hardly ever repeat, the bootstrap's worst
// case.
func synthetic(n, columns int, r *rand.Rand) []CaseScore {
	cases := make([]CaseScore, n)
	for i := range cases {
		values := make([]float64, columns)
		for j := range values {
			values[j] = r.Float64()
		}
		cases[i] = CaseScore{Retrieval: took(r.Float64()), Values: values}
	}
	return cases
}

func columnsOf(n int) []Metric {
	out := make([]Metric, n)
	for j := range out {
		out[j] = Metric{Name: string(rune('a' + j)), Family: NDCG}
	}
	return out
}

// BenchmarkSummarize averages 20,000 cases of 30 columns: with rows that all
// differ, and with rows that follow from one rank as where a case has one
// relevant id.
func BenchmarkSummarize(b *testing.B) {
	const n, columns = 20_000, 30
	r := rand.New(rand.NewPCG(5, 6))
	distinct := synthetic(n, columns, r)
	alike := make([]CaseScore, n)
	for i := range alike {
		alike[i] = distinct[r.IntN(11)]
	}
	for name, cases := range map[string][]CaseScore{"distinct": distinct, "alike": alike} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Summarize(columnsOf(columns), cases)
			}
		})
	}
}
