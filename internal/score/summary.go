package score

import (
	"maps"
	"math"
	"slices"
)

// CaseScore is what a run knows about one case.
type CaseScore struct {
	// Tags of the case, without repeats.
	Tags []string
	// Unasked says that the run ended before the case did.
	Unasked bool
	// Failed says that a stage failed for it, after retries.
	Failed bool
	// Retrieval, Answer and Judge say how the case fared in each stage.
	Retrieval, Answer, Judge StageScore
	// Values by metric, NaN where one has none for the case; nil where nothing at
	// all was measured.
	Values []float64
}

// StageScore is how a case fared in one stage.
type StageScore struct {
	// Due says that the stage was to give a result for the case. For retrieval
	// that is an answerable case with a relevant id, for the answer every case,
	// for the judge every case that got an answer.
	Due bool
	// Scored says that it gave one, where it was due.
	Scored bool
	// Timed says that a call was made whose duration counts.
	Timed bool
	// Seconds that it took.
	Seconds float64
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
	// order of the scorer, then error_rate and the latencies.
	Means []Mean
	// Retrieval, Answer and Judge are the coverage of each stage by tag; empty for
	// all. In a stage that the run leaves out, no case is due.
	Retrieval, Answer, Judge map[string]Coverage
	// Cases counts the cases by tag; empty for all.
	Cases map[string]int
	// Evidence is nil where no case has both a hit rate and an accuracy.
	Evidence *Evidence
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

// Coverage of a stage over the cases of a tag.
func (s Summary) Coverage(stage Stage, tag string) Coverage {
	switch stage {
	case RetrievalStage:
		return s.Retrieval[tag]
	case AnswerStage:
		return s.Answer[tag]
	case JudgeStage:
		return s.Judge[tag]
	}
	return Coverage{}
}

// Summarize averages the cases, all of them and those of each tag, with 95 %
// intervals: Wilson's for shares, else a percentile bootstrap of 1,000 resamples
// with a fixed seed. A metric's mean is over the cases that have a value of it,
// and absent where none has. The same cases in the same order give the same
// summary. Evidence is left to CountEvidence.
func Summarize(metrics []Metric, cases []CaseScore) Summary {
	s := Summary{Retrieval: map[string]Coverage{}, Answer: map[string]Coverage{}, Judge: map[string]Coverage{}, Cases: map[string]int{}}
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
		s.Retrieval[tag] = g.coverage(CaseScore.retrieval)
		s.Answer[tag] = g.coverage(CaseScore.answer)
		s.Judge[tag] = g.coverage(CaseScore.judge)
		s.Means = append(s.Means, g.columns()...)
		if m, ok := g.errorRate(); ok {
			s.Means = append(s.Means, m)
		}
		if m, ok := g.latency(LatencyP95, CaseScore.retrieval); ok {
			s.Means = append(s.Means, m)
		}
		if m, ok := g.latency(AnswerLatencyP95, CaseScore.answer); ok {
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

func (c CaseScore) retrieval() StageScore { return c.Retrieval }
func (c CaseScore) answer() StageScore    { return c.Answer }
func (c CaseScore) judge() StageScore     { return c.Judge }

func (g group) coverage(stage func(CaseScore) StageScore) Coverage {
	var c Coverage
	for _, i := range g.members {
		s := stage(g.cases[i])
		if s.Due {
			c.Due++
		}
		if s.Due && s.Scored {
			c.Scored++
		}
	}
	return c
}

// has says whether a case has a value in a column.
func (g group) has(i, column int) bool {
	values := g.cases[i].Values
	return values != nil && !math.IsNaN(values[column])
}

// columns averages every metric over the cases that have a value of it.
func (g group) columns() []Mean {
	var means []Mean
	place := make([]int, len(g.metrics)) // of a column's mean
	var resampled []int
	for j, m := range g.metrics {
		sum, n := 0.0, 0
		for _, i := range g.members {
			if g.has(i, j) {
				sum += g.cases[i].Values[j]
				n++
			}
		}
		if n == 0 {
			continue
		}
		place[j] = len(means)
		mean := Mean{Name: m.Name, Tag: g.tag, Value: sum / float64(n), Count: n}
		switch {
		case m.Binary:
			mean.bounds(wilson(mean.Value, n))
		case n > 1:
			resampled = append(resampled, j)
		}
		means = append(means, mean)
	}
	for _, columns := range g.alike(resampled) {
		low, high := g.sample(columns).bootstrap()
		for r, j := range columns {
			means[place[j]].bounds(low[r], high[r])
		}
	}
	return means
}

// alike parts columns into those that have values in the same cases, which can
// be resampled together.
func (g group) alike(columns []int) [][]int {
	var parts [][]int
next:
	for _, j := range columns {
		for p, part := range parts {
			if !slices.ContainsFunc(g.members, func(i int) bool { return g.has(i, j) != g.has(i, part[0]) }) {
				parts[p] = append(part, j)
				continue next
			}
		}
		parts = append(parts, []int{j})
	}
	return parts
}

// sample makes the table of columns that are alike.
func (g group) sample(columns []int) *sample {
	table, row := newSample(len(columns), len(g.members)), make([]float64, len(columns))
	for _, i := range g.members {
		if !g.has(i, columns[0]) {
			continue
		}
		for r, j := range columns {
			row[r] = g.cases[i].Values[j]
		}
		table.add(row)
	}
	return table
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

func (g group) latency(name string, stage func(CaseScore) StageScore) (Mean, bool) {
	var seconds []float64
	for _, i := range g.members {
		if s := stage(g.cases[i]); s.Timed {
			seconds = append(seconds, s.Seconds)
		}
	}
	if len(seconds) == 0 {
		return Mean{}, false
	}
	slices.Sort(seconds)
	return Mean{Name: name, Tag: g.tag, Value: nearestRank(seconds, 0.95), Count: len(seconds)}, true
}
