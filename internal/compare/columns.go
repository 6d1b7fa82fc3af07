package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/assay-dev/assay/internal/score"
)

// column is one metric's values on the common cases, NaN where a side has none.
type column struct {
	metric     score.Metric
	base, head []float64
}

// latency says that the metric is a quantile of times, which no test is made of.
func (c *column) latency() bool {
	return c.metric.Family == score.LatencyP95 || c.metric.Family == score.AnswerLatencyP95
}

// both says whether a case has a value on both sides.
func (c *column) both(i int) bool { return finite(c.base[i]) && finite(c.head[i]) }

// noise is a difference that comes of rounding alone, on another processor say.
const noise = 1e-12

// gain is by how much a case got better; below 0 it got worse.
func (c *column) gain(i int) float64 {
	gain := c.head[i] - c.base[i]
	switch {
	case math.Abs(gain) <= noise:
		return 0
	case c.metric.LowerIsBetter():
		return -gain
	}
	return gain
}

// readColumns reads the metrics that either side has on the common cases.
func readColumns(pairs []pair) []column {
	names := map[string]bool{score.ErrorRate: true}
	for _, p := range pairs {
		for _, values := range []map[string]float64{p.base.Values, p.head.Values} {
			for name := range values {
				names[name] = true
			}
		}
	}
	var columns []column
	for name := range maps.Keys(names) {
		m, err := score.ParseMetric(name)
		if err != nil {
			continue // of another version: there is no telling which way it is better
		}
		col := column{metric: m, base: make([]float64, len(pairs)), head: make([]float64, len(pairs))}
		for i, p := range pairs {
			col.base[i], col.head[i] = p.base.value(m), p.head.value(m)
		}
		columns = append(columns, col)
	}
	slices.SortFunc(columns, inOrder)
	return columns
}

// value of a metric, NaN where there is none. What the metric cannot be is none.
func (c *Case) value(m score.Metric) float64 {
	if m.Family == score.ErrorRate {
		return c.errors()
	}
	v, ok := c.Values[m.Name]
	low, high := m.Range()
	if !ok || !finite(v) || v < low-tolerance || v > high+tolerance {
		return math.NaN()
	}
	return v
}

// errors is 1 where a stage failed, and NaN where the case was never asked, for
// nobody knows whether it would have.
func (c *Case) errors() float64 {
	switch c.Outcome {
	case "":
		return math.NaN()
	case Scored:
		return 0
	}
	return 1
}

// families in the order in which a run has them.
var families = []string{
	score.HitRate, score.Precision, score.Recall, score.F1, score.FBeta, score.NDCG, score.MAP,
	score.MRR, score.RPrecision, score.BLEU,
	score.Accuracy, score.HallucinationRate, score.ContextRelevance, score.AbstentionAccuracy, score.AbstentionRate,
	score.ErrorRate, score.LatencyP95, score.AnswerLatencyP95,
}

// inOrder sorts as a run's metrics are sorted: all of the first cut-off, then of
// the next, then what has none.
func inOrder(a, b column) int {
	cut := func(m score.Metric) int {
		if m.K == 0 || m.Family == score.MRR {
			return math.MaxInt
		}
		return m.K
	}
	return cmp.Or(
		cmp.Compare(cut(a.metric), cut(b.metric)),
		cmp.Compare(slices.Index(families, a.metric.Family), slices.Index(families, b.metric.Family)),
		cmp.Compare(a.metric.K, b.metric.K),
		cmp.Compare(beta(a.metric), beta(b.metric)),
		cmp.Compare(a.metric.Name, b.metric.Name),
	)
}

// beta of an F-beta, else 0.
func beta(m score.Metric) float64 {
	b, err := strconv.ParseFloat(m.Beta, 64)
	if err != nil {
		return 0
	}
	return b
}
