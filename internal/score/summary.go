package score

import (
	"maps"
	"slices"
)

// CaseScore is what a run knows about one case.
type CaseScore struct {
	// Tags of the case, without repeats.
	Tags []string
	// Due says that retrieval metrics run over the case: it is answerable and
	// has a relevant id.
	Due bool
	// Unasked says that the run ended before the case did.
	Unasked bool
	// Failed says that a stage failed for it, after retries.
	Failed bool
	// Called says that the case has a latency.
	Called bool
	// Latency of its call, in seconds.
	Latency float64
	// Values by metric; nil unless the case is due and was scored.
	Values []float64
}

// Mean is one metric over the cases of one tag.
type Mean struct {
	Name string
	// Tag of the cases; empty for all.
	Tag   string
	Value float64
	// Count is how many cases the mean is over.
	Count int
	// Low and High are the 95 % interval; nil where there is none: for a
	// quantile, and for a single case, which says nothing of the spread.
	Low, High *float64
}

// Coverage is how many of the cases that a stage was due for got a result.
type Coverage struct{ Scored, Due int }

// Ratio of scored to due cases, and whether any was due.
func (c Coverage) Ratio() (float64, bool) {
	if c.Due == 0 {
		return 0, false
	}
	return float64(c.Scored) / float64(c.Due), true
}

// Summary is what the cases of a run come to.
type Summary struct {
	// Means of all cases, then of each tag in order; within, metrics in the
	// order of the scorer, then error_rate and the latency.
	Means []Mean
	// Retrieval is the coverage of the retrieval stage by tag; empty for all.
	Retrieval map[string]Coverage
	// Cases counts the cases by tag; empty for all.
	Cases map[string]int
}

// Mean finds a metric of a tag. There is none where it would be over nothing.
func (s Summary) Mean(name, tag string) (Mean, bool) {
	for _, m := range s.Means {
		if m.Name == name && m.Tag == tag {
			return m, true
		}
	}
	return Mean{}, false
}

// Summarize averages the cases, all of them and those of each tag, with 95 %
// intervals: Wilson's for shares, else a percentile bootstrap of 1,000 resamples
// with a fixed seed. The same cases in the same order give the same summary.
func Summarize(metrics []Metric, cases []CaseScore) Summary {
	s := Summary{Retrieval: map[string]Coverage{}, Cases: map[string]int{}}
	byTag := map[string][]int{}
	for i, c := range cases {
		byTag[""] = append(byTag[""], i)
		for _, tag := range c.Tags {
			if tag != "" {
				byTag[tag] = append(byTag[tag], i)
			}
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(byTag)) {
		g := group{tag: tag, metrics: metrics, cases: cases, members: byTag[tag]}
		s.Cases[tag] = len(g.members)
		s.Retrieval[tag] = g.coverage()
		s.Means = append(s.Means, g.columns()...)
		if m, ok := g.errorRate(); ok {
			s.Means = append(s.Means, m)
		}
		if m, ok := g.latency(); ok {
			s.Means = append(s.Means, m)
		}
	}
	return s
}

// group is the cases of one tag.
type group struct {
	tag     string
	metrics []Metric
	cases   []CaseScore
	members []int
}

func (c CaseScore) scored() bool { return c.Due && !c.Failed && c.Values != nil }

func (g group) coverage() Coverage {
	var c Coverage
	for _, i := range g.members {
		if g.cases[i].Due {
			c.Due++
		}
		if g.cases[i].scored() {
			c.Scored++
		}
	}
	return c
}

// columns averages the metrics that every scored case has a value of.
func (g group) columns() []Mean {
	resampled := make([]int, 0, len(g.metrics))
	for j, m := range g.metrics {
		if !m.Binary {
			resampled = append(resampled, j)
		}
	}
	sums := make([]float64, len(g.metrics))
	table, row := newSample(len(resampled), len(g.members)), make([]float64, len(resampled))
	n := 0
	for _, i := range g.members {
		c := g.cases[i]
		if !c.scored() {
			continue
		}
		n++
		for j := range sums {
			sums[j] += c.Values[j]
		}
		for r, j := range resampled {
			row[r] = c.Values[j]
		}
		table.add(row)
	}
	if n == 0 {
		return nil
	}
	means := make([]Mean, len(g.metrics))
	for j, m := range g.metrics {
		means[j] = Mean{Name: m.Name, Tag: g.tag, Value: sums[j] / float64(n), Count: n}
		if m.Binary {
			means[j].bounds(wilson(means[j].Value, n))
		}
	}
	if n > 1 {
		low, high := table.bootstrap()
		for r, j := range resampled {
			means[j].bounds(low[r], high[r])
		}
	}
	return means
}

func (m *Mean) bounds(low, high float64) { m.Low, m.High = &low, &high }

// errorRate is over all cases that ended: of one that was never asked, nobody
// knows whether it would have failed.
func (g group) errorRate() (Mean, bool) {
	failed, n := 0, 0
	for _, i := range g.members {
		switch {
		case g.cases[i].Unasked:
			continue
		case g.cases[i].Failed:
			failed++
		}
		n++
	}
	if n == 0 {
		return Mean{}, false
	}
	m := Mean{Name: ErrorRate, Tag: g.tag, Value: float64(failed) / float64(n), Count: n}
	m.bounds(wilson(m.Value, n))
	return m, true
}

func (g group) latency() (Mean, bool) {
	var seconds []float64
	for _, i := range g.members {
		if g.cases[i].Called {
			seconds = append(seconds, g.cases[i].Latency)
		}
	}
	if len(seconds) == 0 {
		return Mean{}, false
	}
	slices.Sort(seconds)
	return Mean{Name: LatencyP95, Tag: g.tag, Value: nearestRank(seconds, 0.95), Count: len(seconds)}, true
}
