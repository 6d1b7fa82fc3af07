package score

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"math"
	"testing"
)

//go:embed testdata/retrieval.json
var retrievalVectors []byte

type vector struct {
	Name      string
	Unit      Unit
	TopK      int
	K         []int
	Betas     []string
	Relevant  []Relevant
	Retrieved []string
	Expect    map[string]float64
}

func TestConformance(t *testing.T) {
	var vectors []vector
	d := json.NewDecoder(bytes.NewReader(retrievalVectors))
	d.DisallowUnknownFields()
	if err := d.Decode(&vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 62 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			got, _ := scoreOne(t, Spec{TopK: v.TopK, K: v.K, Betas: v.Betas, Unit: v.Unit}, v.Relevant, items(v.Retrieved...))
			if len(got) != len(v.Expect) {
				t.Errorf("%d metrics, want %d", len(got), len(v.Expect))
			}
			for name, want := range v.Expect {
				if value, ok := got[name]; !ok || math.Abs(value-want) > 0.5000001e-6 {
					t.Errorf("%s = %v (%t), want %v", name, value, ok, want)
				}
			}
		})
	}
}

// scoreOne scores one case and gives its values by metric, and its rank.
func scoreOne(t testing.TB, spec Spec, relevant []Relevant, retrieved []Item) (map[string]float64, int) {
	t.Helper()
	s, err := NewScorer(spec)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float64, len(s.Metrics()))
	rank := s.Score(relevant, retrieved, values)
	out := map[string]float64{}
	for i, m := range s.Metrics() {
		out[m.Name] = values[i]
	}
	return out, rank
}

func items(ids ...string) []Item {
	out := make([]Item, 0, len(ids))
	for _, id := range ids {
		out = append(out, Item{ID: id})
	}
	return out
}

func graded(ids ...string) []Relevant {
	out := make([]Relevant, 0, len(ids))
	for _, id := range ids {
		out = append(out, Relevant{ID: id, Grade: 1})
	}
	return out
}
