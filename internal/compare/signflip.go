package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

const (
	// exactBelow is how many sign patterns are too many to try them all.
	exactBelow = 1 << 14
	// draws of sign patterns where they are too many.
	draws = 10_000
	// chunk is how many deltas get their signs from one byte.
	chunk = 8
	// rounding of sums, as a share of what is summed up.
	rounding = 1e-11
	// The seed is fixed, so that the same deltas always give the same p.
	flipSeedHigh, flipSeedLow = 0x61737361792d636d, 0x702d7369676e666c
)

// SignFlip is the one-sided paired permutation test of "no worse": the share of
// the ways to give the deltas their signs that come to a sum as low as the real
// one, or lower (Fisher 1935; Smucker, Allan and Carterette 2007 for retrieval).
// A delta below 0 is a worsening. Those that are 0, or no finite number, say
// nothing; without any other, p is 1.
//
// Fewer than 2^14 patterns are all tried. Of more, 10,000 are drawn with a fixed
// seed, and p is (1 + those as low) / (1 + 10,000): the real pattern is one of
// them, so that p is never 0 (Phipson and Smyth 2010).
func SignFlip(deltas []float64) float64 { return newFlips(deltas).p() }

// flips is the distribution of a sum of deltas whose signs mean nothing.
type flips struct {
	// sums in order, in units of scale.
	sums []float64
	// observed is the sum with the signs as they are.
	observed, scale, tolerance float64
	// sampled says that sums are draws and not all there are.
	sampled bool
}

func newFlips(deltas []float64) flips {
	var changed []float64
	f := flips{}
	for _, d := range deltas {
		if d != 0 && finite(d) {
			changed = append(changed, d)
			f.scale = max(f.scale, math.Abs(d))
		}
	}
	weight := 0.0
	for i := range changed {
		changed[i] /= f.scale // so that no sum overflows
		f.observed += changed[i]
		weight += math.Abs(changed[i])
	}
	f.tolerance = rounding * weight
	// 1<<62 is as far as the shift goes, and long since too many.
	if f.sampled = 1<<min(len(changed), 62) >= exactBelow; f.sampled {
		f.sums = drawSums(changed)
	} else {
		f.sums = signedSums(changed)
	}
	slices.Sort(f.sums)
	return f
}

// p is the share of the sums that are as low as the observed one.
func (f flips) p() float64 {
	low := float64(f.upTo(f.observed))
	if f.sampled {
		return (low + 1) / float64(len(f.sums)+1)
	}
	return low / float64(len(f.sums))
}

// upTo counts the sums that are no higher.
func (f flips) upTo(sum float64) int {
	return sort.Search(len(f.sums), func(i int) bool { return f.sums[i] > sum+f.tolerance })
}

// smallestDrop is the smallest worsening of a mean over n cases that the test
// would have shown, had the deltas had other signs. It is nil where too few cases
// changed for any.
func (f flips) smallestDrop(n int) *float64 {
	most := int(level * float64(len(f.sums)))
	if f.sampled {
		most = int(level*float64(len(f.sums)+1)) - 1
	}
	// The sum at most is one too many, and so is each that equals it.
	i := sort.SearchFloat64s(f.sums, f.sums[most]-f.tolerance) - 1
	if i < 0 || f.sums[i] >= 0 {
		return nil
	}
	drop := -f.sums[i] * f.scale / float64(n)
	return &drop
}

// signedSums gives the sum for every way to give the values signs.
func signedSums(values []float64) []float64 {
	sums := make([]float64, 1, 1<<len(values))
	for _, v := range values {
		for i, s := range sums {
			sums[i] = s + v
			sums = append(sums, s-v)
		}
	}
	return sums
}

// drawSums gives the sums for random signs. It looks up what eight values come
// to under the eight signs in a byte, and goes through all draws with one such
// table before the next, which then never leaves the processor's cache.
func drawSums(values []float64) []float64 {
	rng := rand.New(rand.NewPCG(flipSeedHigh, flipSeedLow))
	sums := make([]float64, draws)
	for part := range slices.Chunk(values, chunk) {
		var padded [chunk]float64
		copy(padded[:], part)
		table := [1 << chunk]float64(signedSums(padded[:]))
		for i := 0; i < draws; i += chunk {
			bits := rng.Uint64()
			for j := range chunk {
				sums[i+j] += table[byte(bits>>(chunk*j))]
			}
		}
	}
	return sums
}

// finite says whether a value is a number that can be reckoned with.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
