package compare

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b, by float64) bool { return math.Abs(a-b) <= by }

func isProbability(p float64) bool { return p >= 0 && p <= 1 }

func TestMcNemarProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		worse, better := rapid.IntRange(0, 3000).Draw(t, "worse"), rapid.IntRange(0, 3000).Draw(t, "better")
		p := McNemar(worse, better)
		if !isProbability(p) {
			t.Fatalf("p = %v", p)
		}
		if more := McNemar(worse+1, better); more > p+1e-9 {
			t.Errorf("one more got worse, and p rose from %v to %v", p, more)
		}
		if more := McNemar(worse, better+1); more < p-1e-9 {
			t.Errorf("one more got better, and p fell from %v to %v", p, more)
		}
		// Both tails are the whole, with what lies in both counted twice.
		n := worse + better
		both := math.Exp(logChoose(n, worse) - float64(n)*math.Ln2)
		if sum := McNemar(worse, better) + McNemar(better, worse); !near(sum, 1+both, 1e-8) {
			t.Errorf("the two sides add up to %v, want %v", sum, 1+both)
		}
	})
}

func TestMcNemarIsExact(t *testing.T) {
	for _, n := range []int{1, 2, 10, 61, 400} {
		all := new(big.Float).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(n)))
		for worse := 0; worse <= n; worse += 1 + n/7 {
			ways := new(big.Int)
			for k := worse; k <= n; k++ {
				ways.Add(ways, new(big.Int).Binomial(int64(n), int64(k)))
			}
			want, _ := new(big.Float).Quo(new(big.Float).SetInt(ways), all).Float64()
			if got := McNemar(worse, n-worse); !near(got, want, 1e-9*want+1e-15) {
				t.Errorf("McNemar(%d, %d) = %v, want %v", worse, n-worse, got, want)
			}
		}
	}
}

func TestMcNemarOfManyCases(t *testing.T) {
	for _, c := range []struct {
		worse, better int
		low, high     float64
	}{
		{0, 100_000, 1, 1},
		{100_000, 0, 0, 0},
		{50_000, 50_000, 0.5, 0.51},
		{-3, -1, 1, 1},
	} {
		if p := McNemar(c.worse, c.better); p < c.low || p > c.high {
			t.Errorf("McNemar(%d, %d) = %v, want from %v to %v", c.worse, c.better, p, c.low, c.high)
		}
	}
}

func TestSignFlipProperties(t *testing.T) {
	delta := rapid.OneOf(rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, 0.5, -0.5, 1.0 / 3, -1.0 / 3, 0.2, math.NaN(), math.Inf(1), math.Inf(-1)}))
	rapid.Check(t, func(t *rapid.T) {
		deltas := rapid.SliceOfN(delta, 0, 24).Draw(t, "deltas")
		p := SignFlip(deltas)
		if !isProbability(p) || p == 0 {
			t.Fatalf("p = %v", p)
		}
		if again := SignFlip(deltas); again != p {
			t.Errorf("p is %v, and then %v", p, again)
		}
		negated, scaled := make([]float64, len(deltas)), make([]float64, len(deltas))
		for i, d := range deltas {
			negated[i], scaled[i] = -d, 4*d
		}
		if sum := p + SignFlip(negated); sum < 1-0.03 {
			t.Errorf("the two sides add up to %v, less than 1", sum)
		}
		if by4 := SignFlip(scaled); by4 != p {
			t.Errorf("p is %v, and %v of four times as much", p, by4)
		}
		for i, d := range deltas {
			if d > 0 && finite(d) {
				worse := slices.Clone(deltas)
				worse[i] = -d
				if lower := SignFlip(worse); lower > p+0.03 {
					t.Errorf("a case got worse, and p rose from %v to %v", p, lower)
				}
				break
			}
		}
	})
}

// With one size of delta, the permutation test is McNemar's.
func TestSignFlipAgreesWithMcNemar(t *testing.T) {
	for _, c := range []struct {
		worse, better int
		by            float64
	}{
		{5, 0, 1e-12}, {7, 6, 1e-12}, {13, 0, 1e-12}, // all 2^13 patterns
		{9, 5, 0.02}, {40, 30, 0.02}, {620, 600, 0.02}, // 10,000 draws
	} {
		deltas := slices.Concat(slices.Repeat([]float64{-0.25}, c.worse), slices.Repeat([]float64{0.25}, c.better), make([]float64, 7))
		if got, want := SignFlip(deltas), McNemar(c.worse, c.better); !near(got, want, c.by) {
			t.Errorf("%d worse, %d better: p = %v, McNemar's is %v", c.worse, c.better, got, want)
		}
	}
}

func TestSignFlipOfDrawsIsNeverZero(t *testing.T) {
	if p, want := SignFlip(slices.Repeat([]float64{-1}, 60)), 1.0/10_001; p != want {
		t.Errorf("p = %v, want %v: the real pattern is one of the draws", p, want)
	}
	// The boundary: 2^13 patterns are tried, 2^14 are drawn from.
	if p, want := SignFlip(slices.Repeat([]float64{-1}, 13)), 1.0/8192; !near(p, want, 1e-12) {
		t.Errorf("p = %v, want %v", p, want)
	}
	if p := SignFlip(slices.Repeat([]float64{-1}, 14)); math.Mod(p*10_001, 1) > 1e-6 && math.Mod(p*10_001, 1) < 1-1e-6 {
		t.Errorf("p = %v is no multiple of 1/10,001", p)
	}
}

func TestSignFlipOfHugeDeltas(t *testing.T) {
	if p := SignFlip([]float64{-math.MaxFloat64, -math.MaxFloat64, -math.MaxFloat64}); p != 0.125 {
		t.Errorf("p = %v, want 0.125", p)
	}
}

func TestHolmProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 32).Draw(t, "p")
		adjusted := Holm(p)
		if len(adjusted) != len(p) {
			t.Fatalf("%d values, want %d", len(adjusted), len(p))
		}
		for i := range p {
			if !isProbability(adjusted[i]) || adjusted[i] < p[i] {
				t.Errorf("%v became %v", p[i], adjusted[i])
			}
			if adjusted[i] > min(1, p[i]*float64(len(p)))+1e-12 {
				t.Errorf("%v became %v, more than Bonferroni's", p[i], adjusted[i])
			}
			for j := range p {
				if p[i] < p[j] && adjusted[i] > adjusted[j] {
					t.Errorf("%v < %v became %v > %v", p[i], p[j], adjusted[i], adjusted[j])
				}
			}
		}
		if len(p) > 0 && !near(slices.Min(adjusted), min(1, slices.Min(p)*float64(len(p))), 1e-12) {
			t.Errorf("the smallest of %v became %v", p, slices.Min(adjusted))
		}
	})
}

func TestSmallestDrop(t *testing.T) {
	for n, want := range map[int]float64{5: 1, 12: 5.0 / 12, 100: 0.05, 1000: 0.005} {
		got := smallestBinaryDrop(n)
		if got == nil || !near(*got, want, 1e-12) {
			t.Errorf("of %d cases: %v, want %v", n, got, want)
			continue
		}
		worse := int(math.Round(*got * float64(n)))
		if McNemar(worse, 0) > level || McNemar(worse-1, 0) <= level {
			t.Errorf("%d worse of %d is not the fewest that show", worse, n)
		}
	}
	if got := smallestBinaryDrop(4); got != nil {
		t.Errorf("four cases can show a drop of %v", *got)
	}
}

func TestSmallestDropOfOtherMetrics(t *testing.T) {
	// Five of one size: only all five worse is rare enough, 1/32.
	if got := newFlips([]float64{0.2, -0.2, 0.2, 0.2, -0.2, 0, 0, 0, 0, 0}).smallestDrop(10); got == nil || !near(*got, 0.1, 1e-12) {
		t.Errorf("%v, want 0.1", got)
	}
	for _, deltas := range [][]float64{nil, {0, 0}, {-1, -1, -1, -1}} {
		if got := newFlips(deltas).smallestDrop(100); got != nil {
			t.Errorf("deltas %v can show a drop of %v", deltas, *got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		deltas := rapid.SliceOfN(rapid.Float64Range(0.01, 1), 5, 40).Draw(t, "deltas")
		f := newFlips(deltas)
		drop := f.smallestDrop(1)
		if drop == nil {
			t.Fatal("five changes can show a drop")
		}
		share := func(sum float64) float64 {
			f.observed = sum
			return f.p()
		}
		if shown := share(-*drop / f.scale); shown > level {
			t.Errorf("a drop of %v has p %v", *drop, shown)
		}
		i := f.upTo(-*drop / f.scale)
		if next := share(f.sums[i]); next <= level {
			t.Errorf("a drop of %v would have p %v", -f.sums[i]*f.scale, next)
		}
	})
}

// table makes a resampler of columns of equal length.
func table(columns ...[]float64) *resampler {
	r, row := &resampler{columns: len(columns)}, make([]float64, len(columns))
	for i := range columns[0] {
		for j := range columns {
			row[j] = columns[j][i]
		}
		r.add(row)
	}
	return r
}

func TestBootstrap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sparse, dense := make([]float64, 400), make([]float64, 400)
	for i := range dense {
		dense[i] = rng.NormFloat64()
		if i%10 == 0 {
			sparse[i] = -1
		}
	}
	low, high := table(sparse, dense).interval()
	// The normal approximation of either mean.
	for j, column := range [][]float64{sparse, dense} {
		m, square := mean(column), 0.0
		for _, v := range column {
			square += (v - m) * (v - m)
		}
		half := 1.96 * math.Sqrt(square) / float64(len(column))
		if !near(low[j], m-half, half/8) || !near(high[j], m+half, half/8) {
			t.Errorf("column %d: [%v, %v], want about [%v, %v]", j, low[j], high[j], m-half, m+half)
		}
	}
	again, _ := table(sparse, dense).interval()
	if !slices.Equal(low, again) {
		t.Errorf("%v, and then %v", low, again)
	}
	if low, high := table(make([]float64, 9)).interval(); low[0] != 0 || high[0] != 0 {
		t.Errorf("nothing changed, and the interval is [%v, %v]", low[0], high[0])
	}
	if low, high := table([]float64{0.5, 0.5, 0.5}).interval(); low[0] != 0.5 || high[0] != 0.5 {
		t.Errorf("all changed alike, and the interval is [%v, %v]", low[0], high[0])
	}
}

func TestBinomial(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		n int
		p float64
	}{{1, 0.5}, {10, 0.1}, {1000, 0.999}, {20_000, 0.00005}, {20_000, 0.3}, {5, 1}} {
		b := newBinomial(c.n, c.p)
		const times = 20_000
		sum := 0
		for range times {
			k := b.draw(rng)
			if k < 0 || k > c.n {
				t.Fatalf("%d of %d", k, c.n)
			}
			sum += k
		}
		want := float64(c.n) * c.p
		if got := float64(sum) / times; !near(got, want, 5*math.Sqrt(want*(1-c.p)/times)+1e-9) {
			t.Errorf("binomial(%d, %v) is %v on average, want %v", c.n, c.p, got, want)
		}
	}
}
