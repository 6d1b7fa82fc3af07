package score

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
)

// z95 is the two-sided 95 % quantile of the normal distribution.
const z95 = 1.959963984540054

// wilson gives the 95 % score interval of a share of n cases (Wilson 1927). It
// stays within [0, 1] and does not collapse at 0 and 1.
func wilson(share float64, n int) (low, high float64) {
	count, z2 := float64(n), float64(z95*z95)
	centre := share + z2/(2*count)
	spread := z95 * math.Sqrt(share*(1-share)/count+z2/(4*count*count))
	scale := 1 + z2/count
	return max(0, (centre-spread)/scale), min(1, (centre+spread)/scale)
}

const (
	resamples = 1000
	// The seed is fixed, so that the same cases always give the same interval.
	seedHigh, seedLow = 0x61737361792d6576, 0x616c2d626f6f7473
)

// sample is a table of values, a row per case and a column per metric, in which
// equal rows are kept once: most retrieval cases are alike in where their first
// hit is.
type sample struct {
	columns  int
	distinct []float64
	// row of the distinct ones that a case has.
	row []uint32

	known map[string]uint32
	key   []byte
}

func newSample(columns, cases int) *sample {
	return &sample{columns: columns, row: make([]uint32, 0, cases), known: map[string]uint32{}}
}

// add takes in the values of one case.
func (s *sample) add(values []float64) {
	s.key = s.key[:0]
	for _, v := range values {
		s.key = binary.LittleEndian.AppendUint64(s.key, math.Float64bits(v))
	}
	row, ok := s.known[string(s.key)]
	if !ok {
		row = uint32(len(s.known))
		s.known[string(s.key)] = row
		s.distinct = append(s.distinct, values...)
	}
	s.row = append(s.row, row)
}

// bootstrap gives the percentile 95 % interval of every column's mean. All
// columns share the same draws of cases: each resample counts how often a row is
// drawn and then sums the rows once, in the order in which they lie in memory.
func (s *sample) bootstrap() (low, high []float64) {
	low, high = make([]float64, s.columns), make([]float64, s.columns)
	n := len(s.row)
	if n == 0 || s.columns == 0 {
		return low, high
	}
	rng := rand.New(rand.NewPCG(seedHigh, seedLow))
	drawn := make([]uint32, len(s.known))
	sums := make([]float64, s.columns)
	means := make([]float64, s.columns*resamples)
	for b := range resamples {
		clear(drawn)
		for range n {
			drawn[s.row[rng.Uint32N(uint32(n))]]++
		}
		clear(sums)
		for i, times := range drawn {
			if times == 0 {
				continue
			}
			addTimes(sums, s.distinct[i*s.columns:(i+1)*s.columns], float64(times))
		}
		for j, sum := range sums {
			means[j*resamples+b] = sum / float64(n)
		}
	}
	for j := range s.columns {
		column := means[j*resamples : (j+1)*resamples]
		slices.Sort(column)
		low[j], high[j] = nearestRank(column, 0.025), nearestRank(column, 0.975)
	}
	return low, high
}

func addTimes(sums, row []float64, times float64) {
	row = row[:len(sums)]
	for j := range sums {
		sums[j] += float64(times * row[j])
	}
}

// nearestRank is the smallest value with at least the share q of the sorted
// values at or below it.
func nearestRank(sorted []float64, q float64) float64 {
	// The tolerance keeps 0.95 × 20 from being taken for a hair above 19.
	i := int(math.Ceil(q*float64(len(sorted))-1e-9)) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}
