package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/assay-dev/assay/internal/score"
)

// Change is one case that got worse or better.
type Change struct {
	ID string
	// Rank of the first relevant result now, BaseRank then; 0 where there is none.
	Rank, BaseRank int
	// Outcome of the case now and then.
	Outcome, BaseOutcome string
	// Gain is the mean change of the case's values, each as a share of its metric's
	// range and positive where it is better.
	Gain float64
	// Values that are not what they were.
	Values []ValueChange
}

// ValueChange is a metric of one case, then and now.
type ValueChange struct {
	Metric     string
	Base, Head float64
}

// grade says how much a change matters, the most first.
type grade int

const (
	// turned is evidence lost or found, an answer that turned wrong or right,
	// supported or not.
	turned grade = iota
	// failed is a case that a stage fails for, and did not, or the other way round.
	failed
	// moved is evidence at another rank.
	moved
	// shifted is any other value.
	shifted
)

// graded is a pair with how it changed.
type graded struct {
	at    int
	grade grade
	// better is above 0 where the case got better, below 0 where it got worse.
	better int
	gain   float64
	// step is how far the evidence moved, in reciprocal ranks.
	step float64
}

// changes finds the cases that got worse and better, and keeps the first few.
func (c *Comparison) changes(pairs []pair, columns []column, most int) {
	var worse, better []graded
	for i, p := range pairs {
		switch g := grading(i, p, columns); {
		case g.better < 0:
			worse = append(worse, g)
		case g.better > 0:
			better = append(better, g)
		default:
			c.SameCount++
		}
	}
	c.WorseCount, c.BetterCount = len(worse), len(better)
	c.Worse = changed(worse, pairs, columns, most)
	c.Better = changed(better, pairs, columns, most)
}

// grading says how a case changed. The first thing that did decides whether it
// got better: what was found or said before what failed, before ranks, before
// the mean of the values.
func grading(i int, p pair, columns []column) graded {
	g := graded{at: i, grade: shifted}
	ranked := false
	turn, n := 0.0, 0.0
	for j := range columns {
		c := &columns[j]
		if !c.both(i) || c.latency() || c.metric.Family == score.ErrorRate {
			continue
		}
		low, high := c.metric.Range()
		g.gain += c.gain(i) / (high - low)
		n++
		ranked = ranked || retrieval(c.metric)
		if c.metric.Family == score.Accuracy || c.metric.Family == score.HallucinationRate {
			turn += c.gain(i)
		}
	}
	if n > 0 {
		g.gain /= n
	}
	found := 0
	if ranked {
		found = cmp.Compare(min(p.head.Rank, 1), min(p.base.Rank, 1))
		g.step = reciprocal(p.head.Rank) - reciprocal(p.base.Rank)
	}
	for _, by := range []struct {
		grade  grade
		better int
	}{
		{turned, found},
		{turned, cmp.Compare(turn, 0)},
		{failed, recovery(p)},
		{moved, cmp.Compare(g.step, 0)},
		{shifted, sign(g.gain)},
	} {
		if by.better != 0 {
			g.grade, g.better = by.grade, by.better
			return g
		}
	}
	return g
}

// recovery is below 0 where a stage fails for a case now and none did, above 0
// the other way round. Of a case that was never asked nothing is known.
func recovery(p pair) int {
	was, is := p.base.errors(), p.head.errors()
	if math.IsNaN(was) || math.IsNaN(is) {
		return 0
	}
	return cmp.Compare(was, is)
}

// sign of a sum of gains, whose last digits may be of rounding.
func sign(gain float64) int {
	if math.Abs(gain) <= noise {
		return 0
	}
	return cmp.Compare(gain, 0)
}

func reciprocal(rank int) float64 {
	if rank < 1 {
		return 0
	}
	return 1 / float64(rank)
}

// changed sorts cases by how much they changed and gives the first few.
func changed(all []graded, pairs []pair, columns []column, most int) []Change {
	slices.SortFunc(all, func(a, b graded) int {
		side := float64(a.better) // all have the same
		return cmp.Or(
			cmp.Compare(a.grade, b.grade),
			cmp.Compare(b.gain*side, a.gain*side),
			cmp.Compare(b.step*side, a.step*side),
			cmp.Compare(a.at, b.at), // pairs are sorted by id
		)
	})
	changes := make([]Change, 0, min(len(all), most))
	for _, g := range all[:min(len(all), most)] {
		p := pairs[g.at]
		change := Change{ID: p.head.ID, Rank: p.head.Rank, BaseRank: p.base.Rank, Outcome: p.head.Outcome, BaseOutcome: p.base.Outcome, Gain: g.gain}
		for j := range columns {
			if c := &columns[j]; c.both(g.at) && !c.latency() && c.metric.Family != score.ErrorRate && c.gain(g.at) != 0 {
				change.Values = append(change.Values, ValueChange{Metric: c.metric.Name, Base: c.base[g.at], Head: c.head[g.at]})
			}
		}
		changes = append(changes, change)
	}
	return changes
}
