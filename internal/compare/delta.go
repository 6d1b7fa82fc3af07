package compare

import (
	"maps"
	"slices"
)

// Delta is how one metric moved, over the common cases of one tag.
type Delta struct {
	Metric string
	// Tag of the cases; empty for all.
	Tag string
	// Count is how many cases have a value on both sides; Base and Head are over
	// those alone.
	Count      int
	Base, Head float64
	// Delta is Head − Base, whichever way is better.
	Delta float64
	// LowerIsBetter says that a rise is a worsening.
	LowerIsBetter bool
	// Low and High are the 95 % interval of Delta; nil for a quantile, and for a
	// single case.
	Low, High *float64
	// P is the one-sided p-value of "no worse", uncorrected; nil for a quantile.
	P *float64
	// Corrected is P after Holm's correction over the suite's bounds on a drop; nil
	// where none is on this metric and tag.
	Corrected *float64
	// SmallestDrop is the smallest worsening that these cases could show at 5 %,
	// before a correction; nil where they could show none.
	SmallestDrop *float64
}

// Worsening is how much worse the metric got; below 0 it got better.
func (d Delta) Worsening() float64 {
	if d.LowerIsBetter {
		return d.Delta
	}
	return -d.Delta
}

// PValue is Corrected where there is one, else P.
func (d Delta) PValue() *float64 {
	if d.Corrected != nil {
		return d.Corrected
	}
	return d.P
}

// Delta finds a metric over a tag.
func (c *Comparison) Delta(metric, tag string) (Delta, bool) {
	i := slices.IndexFunc(c.Deltas, func(d Delta) bool { return d.Metric == metric && d.Tag == tag })
	if i < 0 {
		return Delta{}, false
	}
	return c.Deltas[i], true
}

// group is the common cases of one tag.
type group struct {
	tag     string
	columns []column
	members []int
}

// groupByTag gives the group of all cases, then those of the tags that the head's
// cases carry, in order.
func groupByTag(pairs []pair, columns []column) []group {
	members := map[string][]int{"": nil}
	for i, p := range pairs {
		members[""] = append(members[""], i)
		for j, tag := range p.head.Tags {
			if tag != "" && !slices.Contains(p.head.Tags[:j], tag) {
				members[tag] = append(members[tag], i)
			}
		}
	}
	groups := make([]group, 0, len(members))
	for _, tag := range slices.Sorted(maps.Keys(members)) {
		groups = append(groups, group{tag: tag, columns: columns, members: members[tag]})
	}
	return groups
}

// presences counts, for every metric and tag, the cases in which each side has a
// value.
func presences(groups []group) map[key]presence {
	have := map[key]presence{}
	for _, g := range groups {
		for j := range g.columns {
			c, p := &g.columns[j], presence{}
			for _, i := range g.members {
				if finite(c.base[i]) {
					p.base++
				}
				if finite(c.head[i]) {
					p.head++
				}
			}
			have[key{c.metric.Name, g.tag}] = p
		}
	}
	return have
}

// deltas of every column that has a case with a value on both sides.
func (g group) deltas() []Delta {
	var deltas []Delta
	place := make([]int, len(g.columns)) // of a column's delta
	var tested []int
	for j := range g.columns {
		d, ok := g.delta(&g.columns[j])
		if !ok {
			continue
		}
		place[j] = len(deltas)
		deltas = append(deltas, d)
		if !g.columns[j].latency() && d.Count > 1 {
			tested = append(tested, j)
		}
	}
	for _, columns := range g.alike(tested) {
		low, high := g.table(columns).interval()
		for r, j := range columns {
			deltas[place[j]].Low, deltas[place[j]].High = &low[r], &high[r]
		}
	}
	return deltas
}

// delta of one column, but for its interval.
func (g group) delta(c *column) (Delta, bool) {
	var base, head, gains []float64
	for _, i := range g.members {
		if c.both(i) {
			base, head, gains = append(base, c.base[i]), append(head, c.head[i]), append(gains, c.gain(i))
		}
	}
	if len(gains) == 0 {
		return Delta{}, false
	}
	d := Delta{Metric: c.metric.Name, Tag: g.tag, Count: len(gains), LowerIsBetter: c.metric.LowerIsBetter()}
	if c.latency() {
		slices.Sort(base)
		slices.Sort(head)
		d.Base, d.Head = nearestRank(base, 0.95), nearestRank(head, 0.95)
		d.Delta = d.Head - d.Base
		return d, true
	}
	d.Base, d.Head = mean(base), mean(head)
	d.Delta = d.Head - d.Base
	var p float64
	if c.metric.Binary {
		p = McNemar(count(gains, -1), count(gains, 1))
		d.SmallestDrop = smallestBinaryDrop(len(gains))
	} else {
		f := newFlips(gains)
		p = f.p()
		d.SmallestDrop = f.smallestDrop(len(gains))
	}
	d.P = &p
	return d, true
}

// alike parts columns into those that have values in the same cases, which can
// be resampled together.
func (g group) alike(columns []int) [][]int {
	var parts [][]int
next:
	for _, j := range columns {
		for p, part := range parts {
			first := &g.columns[part[0]]
			if !slices.ContainsFunc(g.members, func(i int) bool { return g.columns[j].both(i) != first.both(i) }) {
				parts[p] = append(part, j)
				continue next
			}
		}
		parts = append(parts, []int{j})
	}
	return parts
}

// table of the deltas of columns that are alike.
func (g group) table(columns []int) *resampler {
	r, row := &resampler{columns: len(columns)}, make([]float64, len(columns))
	for _, i := range g.members {
		if !g.columns[columns[0]].both(i) {
			continue
		}
		for k, j := range columns {
			row[k] = g.columns[j].head[i] - g.columns[j].base[i]
		}
		r.add(row)
	}
	return r
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// count counts the values on one side of 0.
func count(values []float64, side float64) int {
	n := 0
	for _, v := range values {
		if v*side > 0 {
			n++
		}
	}
	return n
}
