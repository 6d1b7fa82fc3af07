package compare

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/assay-dev/assay/internal/score"
)

// largeRun is a run of ten metrics, of which three have a value of their own in
// every case, over 16 tags.
func largeRun(seed uint64, cases, tagsEach int) Side {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := side(fmt.Sprint("run-", seed))
	s.Judge = "j"
	for i := range cases {
		same := rand.New(rand.NewPCG(uint64(i), 2)) // what both runs have in common
		rank := same.IntN(11)
		if rng.IntN(5) == 0 {
			rank = rng.IntN(11)
		}
		c := ranked(fmt.Sprintf("case-%05d", i), rank)
		for _, name := range []string{"recall@5", "ndcg@5", "map@5"} {
			c.Values[name] = c.Values[score.MRR]
		}
		c = answered(c, same.IntN(20) > 0 == (rng.IntN(20) > 0), rng.IntN(20) > 0)
		c.Values[score.BLEU], c.Values[score.ContextRelevance] = rng.Float64(), 1+4*rng.Float64()
		c.Values[score.LatencyP95] = rng.Float64()
		for j := range tagsEach {
			c.Tags = append(c.Tags, fmt.Sprintf("tag-%02d", (i+j)%16))
		}
		c.Relevant = []string{fmt.Sprintf("docs/%d.md", i)}
		for j := range 10 {
			id := rng.IntN(cases)
			if j+1 == rank {
				id = i
			}
			c.Retrieved = append(c.Retrieved, fmt.Sprintf("docs/%d.md", id))
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

func BenchmarkCompare(b *testing.B) {
	for _, tags := range []int{2, 16} {
		b.Run(fmt.Sprintf("tags=%d", tags), func(b *testing.B) {
			base, head := largeRun(1, 20_000, tags), largeRun(2, 20_000, tags)
			for b.Loop() {
				Compare(base, head, Options{})
			}
		})
	}
}

func BenchmarkStaleLabels(b *testing.B) {
	base, head := largeRun(1, 20_000, 1), largeRun(2, 20_000, 1)
	moved := renamed(head, movedTo("kb/docs/"))
	for name, s := range map[string]Side{"failure": head, "moved": moved} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				StaleLabels(&base, s)
			}
		})
	}
}
