package compare

import (
	"fmt"
	"slices"

	"github.com/assay-dev/assay/internal/score"
)

// ranked is a case whose one relevant id stands at a rank; 0: it was not found.
func ranked(id string, rank int, tags ...string) Case {
	hit, rr := 0.0, 0.0
	if rank > 0 {
		rr = 1 / float64(rank)
	}
	if rank > 0 && rank <= 5 {
		hit = 1
	}
	return Case{
		ID: id, Digest: "d-" + id, Tags: tags, Outcome: Scored, Rank: rank,
		Values: map[string]float64{"hit_rate@5": hit, score.MRR: rr},
	}
}

// answered adds what a judge said.
func answered(c Case, correct, grounded bool) Case {
	number := map[bool]float64{true: 1}
	c.Values[score.Accuracy], c.Values[score.HallucinationRate] = number[correct], number[!grounded]
	return c
}

// broken is a case that a stage failed for.
func broken(id, outcome string, tags ...string) Case {
	return Case{ID: id, Digest: "d-" + id, Tags: tags, Outcome: outcome}
}

// side is a run of retrieval at topK 10.
func side(run string, cases ...Case) Side {
	return Side{Run: run, UID: "uid-" + run, Revision: "r1", GoldenSetDigest: "sha256:g1", EvaluationDigest: "sha256:e1", TopK: 10, Cases: cases}
}

// many makes n cases of one rank, named from a to z and so on.
func many(n, rank int, tags ...string) []Case {
	var all []Case
	for i := range n {
		all = append(all, ranked(fmt.Sprintf("case-%03d", i), rank, tags...))
	}
	return all
}

// with replaces the cases that have the ids of others.
func with(cases []Case, others ...Case) []Case {
	cases = slices.Clone(cases)
	for _, o := range others {
		i := slices.IndexFunc(cases, func(c Case) bool { return c.ID == o.ID })
		cases[i] = o
	}
	return cases
}

func at(i int) string { return fmt.Sprintf("case-%03d", i) }
