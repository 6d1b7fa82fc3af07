package connect

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/assay-dev/assay/internal/compare"
)

// seen is how likely a drop shows (p below 0.05) in a set of n cases, of which each
// gets worse with one chance and better with another.
func seen(n int, worse, better float64) float64 {
	var power float64
	for w := 1; w <= n; w++ {
		for b := 0; w+b <= n; b++ {
			logP := lchoose(n, w) + lchoose(n-w, b) + float64(w)*math.Log(worse) + float64(n-w-b)*math.Log1p(-worse-better)
			if b > 0 {
				if better == 0 {
					break
				}
				logP += float64(b) * math.Log(better)
			}
			if p := math.Exp(logP); p > 1e-12 && compare.McNemar(w, b) <= 0.05 {
				power += p
			}
		}
	}
	return power
}

func lchoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// dropSeen is the smallest drop, in steps of 0.005, that shows four times of five,
// while a share of the cases gets better by chance and as many worse.
func dropSeen(n int, churn float64) float64 {
	for step := 1; step < 200; step++ {
		drop := float64(step) * 0.005
		if drop+2*churn < 1 && seen(n, drop+churn, churn) >= 0.8 {
			return drop
		}
	}
	return math.NaN()
}

// wilsonHalf is half the width of Wilson's 95 % interval.
func wilsonHalf(share float64, n int) float64 {
	const z = 1.959964
	m := float64(n)
	return z / (1 + z*z/m) * math.Sqrt(share*(1-share)/m+z*z/(4*m*m))
}

var powerRow = regexp.MustCompile(`(?m)^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ±([\d.]+) \|$`)

// The table of how many cases show which drop is what the comparison really does.
func TestHowManyCasesShowADrop(t *testing.T) {
	p := readPage(t, "growing-a-golden-set.md")
	rows := powerRow.FindAllStringSubmatch(p.text, -1)
	if len(rows) < 5 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		n, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		fewest := 1
		for compare.McNemar(fewest, 0) > 0.05 {
			fewest++
		}
		for i, want := range []float64{1 / float64(n), float64(fewest) / float64(n), dropSeen(n, 0), dropSeen(n, 0.02), wilsonHalf(0.9, n)} {
			got, err := strconv.ParseFloat(row[i+2], 64)
			if err != nil || math.Abs(got-want) > 0.00051 {
				t.Errorf("%s cases, column %d: the page has %s, it is %.3f", row[1], i+2, row[i+2], want)
			}
		}
	}
}
