package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

const (
	resamples = 1000
	// The seed is fixed, so that the same deltas always give the same interval.
	bootSeedHigh, bootSeedLow = 0x61737361792d636d, 0x702d626f6f747374
)

// resampler is a table of deltas, a row per case and a column per metric. Only
// the rows with a change are kept: in most comparisons they are few.
type resampler struct {
	columns int
	// cases counts all rows.
	cases int
	// changed has the rows one after another.
	changed []float64
}

// add takes in the deltas of one case.
func (r *resampler) add(row []float64) {
	r.cases++
	if slices.ContainsFunc(row, func(d float64) bool { return d != 0 }) {
		r.changed = append(r.changed, row...)
	}
}

// interval gives the percentile 95 % interval of every column's mean over
// resampled cases (Efron 1979). All columns share the same draws: how many of
// the drawn cases are ones with a change is binomial, and which is uniform.
func (r *resampler) interval() (low, high []float64) {
	low, high = make([]float64, r.columns), make([]float64, r.columns)
	if len(r.changed) == 0 {
		return low, high
	}
	rows := len(r.changed) / r.columns
	rng := rand.New(rand.NewPCG(bootSeedHigh, bootSeedLow))
	hits := newBinomial(r.cases, float64(rows)/float64(r.cases))
	means := make([]float64, r.columns*resamples)
	sums := make([]float64, r.columns)
	for b := range resamples {
		clear(sums)
		for range hits.draw(rng) {
			i := int(rng.Uint32N(uint32(rows))) * r.columns
			for j, d := range r.changed[i : i+r.columns] {
				sums[j] += d
			}
		}
		for j, sum := range sums {
			means[j*resamples+b] = sum / float64(r.cases)
		}
	}
	for j := range r.columns {
		column := means[j*resamples : (j+1)*resamples]
		slices.Sort(column)
		low[j], high[j] = nearestRank(column, 0.025), nearestRank(column, 0.975)
	}
	return low, high
}

// nearestRank is the smallest value with at least the share q of the sorted
// values at or below it.
func nearestRank(sorted []float64, q float64) float64 {
	// The tolerance keeps 0.95 × 20 from being taken for a hair above 19.
	i := int(math.Ceil(q*float64(len(sorted))-1e-9)) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// binomial draws numbers of successes in n trials.
type binomial struct {
	// first is the number that cumulative begins with.
	first int
	// cumulative probability; what lies outside would not be drawn in a lifetime.
	cumulative []float64
}

func newBinomial(n int, p float64) binomial {
	if p >= 1 {
		return binomial{first: n, cumulative: []float64{1}}
	}
	const negligible = 1e-18
	at := func(k int) float64 {
		return math.Exp(logChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	mode := min(int(float64(n+1)*p), n)
	first := mode
	for first > 0 && at(first-1) > negligible {
		first--
	}
	b := binomial{first: first}
	sum := 0.0
	for k := first; k <= n; k++ {
		share := at(k)
		if k > mode && share <= negligible {
			break
		}
		sum += share
		b.cumulative = append(b.cumulative, sum)
	}
	return b
}

func (b binomial) draw(rng *rand.Rand) int {
	u := rng.Float64() * b.cumulative[len(b.cumulative)-1]
	return b.first + sort.SearchFloat64s(b.cumulative, u)
}
