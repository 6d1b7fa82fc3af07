package eval

import (
	"cmp"
	"slices"
)

// maxWorst is how many of the worst cases a result names.
const maxWorst = 20

// badness orders what is worst.
type badness int

const (
	// fine is a case that nobody need look at.
	fine badness = iota
	foundLate
	answeredBadly
	failed
	notFound
)

// worst picks the cases that a person should look at first.
func (t *tally) worst() []WorstCase {
	var picked []int
	for i := range t.ends {
		if t.badness(i) != fine {
			picked = append(picked, i)
		}
	}
	slices.SortStableFunc(picked, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.badness(b), t.badness(a)), cmp.Compare(t.ends[b].rank, t.ends[a].rank))
	})
	var out []WorstCase
	for _, i := range picked[:min(len(picked), maxWorst)] {
		out = append(out, WorstCase{ID: t.plan.Cases[i].ID, Rank: t.ends[i].rank, Outcome: t.ends[i].outcome})
	}
	return out
}

func (t *tally) badness(i int) badness {
	e := t.ends[i]
	switch {
	case e.outcome == "":
		return fine
	case t.scores[i].Retrieval.Scored && e.rank == 0:
		return notFound
	case e.outcome != Scored:
		return failed
	case e.bad:
		return answeredBadly
	case e.rank > 1:
		return foundLate
	}
	return fine
}
