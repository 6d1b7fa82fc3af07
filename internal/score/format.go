package score

import (
	"math"
	"strconv"
)

// decimals is how many digits behind the point a number gets for people.
const decimals = 4

// Format writes a value as status and messages have it: "0.9167".
func Format(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }

// formatAgainst writes a value with as many digits as it takes to see that it
// is not the bound: 0.89996 against 0.90 is "0.89996", not "0.9000". What counts
// as equal is written as equal.
func formatAgainst(v, bound float64) string {
	if math.Abs(v-bound) <= tolerance {
		return Format(v)
	}
	const most = 17
	for d := decimals; d < most; d++ {
		s := strconv.FormatFloat(v, 'f', d, 64)
		if s != strconv.FormatFloat(bound, 'f', d, 64) {
			return s
		}
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
