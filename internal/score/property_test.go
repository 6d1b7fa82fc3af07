package score

import (
	"slices"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// aCase draws a case whose ids often meet, in both normal forms.
func aCase(t *rapid.T) (relevant []Relevant, retrieved []Item) {
	id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "가", "\u1100\u1161", "é", "e\u0301", "G", "g", "x/y z", "\xff"})
	seen := map[string]bool{}
	for _, r := range rapid.SliceOfN(id, 1, 8).Draw(t, "relevant") {
		if n := norm.NFC.String(r); !seen[n] {
			seen[n] = true
			relevant = append(relevant, Relevant{ID: r, Grade: rapid.Float64Range(0.001, 1000).Draw(t, "grade")})
		}
	}
	for range rapid.IntRange(0, 30).Draw(t, "results") {
		retrieved = append(retrieved, Item{ID: id.Draw(t, "id"), Document: rapid.SampledFrom([]string{"", "", "a", "b", "가"}).Draw(t, "document")})
	}
	return relevant, retrieved
}

func aSpec(t *rapid.T) Spec {
	topK := rapid.IntRange(1, 25).Draw(t, "topK")
	return Spec{
		TopK:  topK,
		K:     rapid.SliceOfN(rapid.IntRange(1, topK), 1, 4).Draw(t, "k"),
		Betas: []string{"0.5", "2", "1000000"},
		Unit:  rapid.SampledFrom([]Unit{Chunk, Document}).Draw(t, "unit"),
		Named: []string{"mrr@1", "mrr@3", "hit_rate@2"},
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := aSpec(t)
		relevant, retrieved := aCase(t)
		s, err := NewScorer(spec)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]float64, len(s.Metrics()))
		rank := s.Score(relevant, retrieved, values)
		got := map[string]float64{}
		for i, m := range s.Metrics() {
			got[m.Name] = values[i]
			if !(values[i] >= 0 && values[i] <= 1) {
				t.Errorf("%s = %v is not in [0, 1]", m.Name, values[i])
			}
			if m.Binary && values[i] != 0 && values[i] != 1 {
				t.Errorf("%s = %v is neither 0 nor 1", m.Name, values[i])
			}
		}
		ranks(t, s, rank, got)
		grows(t, s, values)
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			sameAs(t, "another normal form", s, rank, values, inForm(form, relevant), itemsInForm(form, retrieved))
		}
		sameAs(t, "a longer list", s, rank, values, relevant, slices.Concat(cut(s, retrieved), tail(s, retrieved)))
		shuffled := slices.Clone(relevant)
		slices.Reverse(shuffled)
		sameAs(t, "another order of the relevant ids", s, rank, values, shuffled, retrieved)
	})
}

// ranks checks the rank against the metrics that follow from it.
func ranks(t *rapid.T, s *Scorer, rank int, got map[string]float64) {
	first := slices.IndexFunc(s.Ranked(), func(r Ranked) bool { return r.Relevant }) + 1
	if rank != first || rank > s.topK || len(s.Ranked()) > s.topK {
		t.Errorf("rank %d of %v, topK %d", rank, s.Ranked(), s.topK)
	}
	for _, m := range s.Metrics() {
		found := rank > 0 && (m.K == 0 || rank <= m.K)
		switch m.Family {
		case HitRate:
			if (got[m.Name] == 1) != found {
				t.Errorf("%s = %v with rank %d", m.Name, got[m.Name], rank)
			}
		case MRR:
			if found && got[m.Name] != 1/float64(rank) || !found && got[m.Name] != 0 {
				t.Errorf("%s = %v with rank %d", m.Name, got[m.Name], rank)
			}
		case RPrecision:
		default:
			if (got[m.Name] > 0) != found {
				t.Errorf("%s = %v with rank %d", m.Name, got[m.Name], rank)
			}
		}
	}
}

// grows checks that more results never lower what is a share of the relevant.
func grows(t *rapid.T, s *Scorer, values []float64) {
	last := map[string]float64{}
	for i, m := range s.Metrics() {
		switch m.Family {
		case HitRate, Recall, MAP, MRR:
			if m.K == 0 {
				continue
			}
			if values[i] < last[m.Family] {
				t.Errorf("%s = %v, less than %v at a smaller cut-off", m.Name, values[i], last[m.Family])
			}
			last[m.Family] = values[i]
		}
	}
}

// sameAs checks that a change which means nothing changes nothing. Sums in
// another order may differ in the last digits.
func sameAs(t *rapid.T, what string, s *Scorer, rank int, values []float64, relevant []Relevant, retrieved []Item) {
	again := make([]float64, len(values))
	if r := s.Score(relevant, retrieved, again); r != rank {
		t.Errorf("%s: rank %d, was %d", what, r, rank)
	}
	for i, m := range s.Metrics() {
		if d := again[i] - values[i]; d > 1e-12 || d < -1e-12 {
			t.Errorf("%s: %s = %v, was %v", what, m.Name, again[i], values[i])
		}
	}
}

func inForm(f norm.Form, relevant []Relevant) []Relevant {
	out := slices.Clone(relevant)
	for i := range out {
		out[i].ID = f.String(out[i].ID)
	}
	return out
}

func itemsInForm(f norm.Form, retrieved []Item) []Item {
	out := slices.Clone(retrieved)
	for i := range out {
		out[i].ID, out[i].Document = f.String(out[i].ID), f.String(out[i].Document)
	}
	return out
}

// cut and tail part a list behind the last result that was counted; what comes
// behind topK must not matter, so the tail is made of relevant ids.
func cut(s *Scorer, retrieved []Item) []Item {
	if len(s.Ranked()) < s.topK {
		return retrieved
	}
	return retrieved[:s.Ranked()[s.topK-1].Index+1]
}

func tail(s *Scorer, retrieved []Item) []Item {
	if len(s.Ranked()) < s.topK {
		return nil
	}
	return items("a", "b", "c", "d", "e", "f")
}
