package compare

import "math"

// level is what a p-value must not exceed for a worsening to count as shown.
const level = 0.05

// McNemar is the exact one-sided test of "no worse" for pairs of 0/1 values:
// how likely it is that at least so many of the cases that changed got worse, if
// each were as likely to get better. It is the upper tail of a binomial
// distribution with probability one half (McNemar 1947, in its exact form).
// Cases that did not change say nothing. Without any, p is 1.
func McNemar(worse, better int) float64 {
	worse, better = max(worse, 0), max(better, 0)
	n := worse + better
	if worse <= better {
		// The tail is more than half of the whole, and the rest of it is the tail
		// at the other end, which does not lose its small terms.
		return 1 - upperTail(n, n-worse+1)
	}
	return upperTail(n, worse)
}

// upperTail is the probability of at least k heads in n fair throws, for k above
// n/2, from where the terms only fall.
func upperTail(n, k int) float64 {
	if k > n {
		return 0
	}
	term := math.Exp(logChoose(n, k) - float64(n)*math.Ln2)
	sum := 0.0
	for ; k <= n && term > 0; k++ {
		sum += term
		term *= float64(n-k) / float64(k+1)
	}
	return min(sum, 1)
}

// logChoose is the logarithm of the number of ways to take k of n.
func logChoose(n, k int) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	taken, _ := math.Lgamma(float64(k + 1))
	left, _ := math.Lgamma(float64(n - k + 1))
	return all - taken - left
}

// smallestBinaryDrop is the smallest worsening of a 0/1 metric that n cases can
// show: the fewest cases that have to get worse, with none that gets better, over
// n. It is nil where even all of them would not do.
func smallestBinaryDrop(n int) *float64 {
	worse := 1
	for McNemar(worse, 0) > level {
		worse++
	}
	if worse > n {
		return nil
	}
	drop := float64(worse) / float64(n)
	return &drop
}
