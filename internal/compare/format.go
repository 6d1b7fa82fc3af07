package compare

import (
	"math"
	"strconv"

	"github.com/assay-dev/assay/internal/score"
)

// apart writes two values with as many digits as it takes to tell them apart.
// What counts as equal is written as equal.
func apart(a, b float64) (string, string) { return formatAgainst(a, b), formatAgainst(b, a) }

// formatAgainst writes a value as status has it, or with as many digits as it
// takes to see that it is not another.
func formatAgainst(v, other float64) string {
	short := score.Format(v)
	if math.Abs(v-other) <= tolerance {
		return short
	}
	for digits := 4; digits < 17; digits++ {
		s := strconv.FormatFloat(v, 'f', digits, 64)
		if s != strconv.FormatFloat(other, 'f', digits, 64) {
			return s
		}
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// formatP writes a p-value with two digits that say something, or with as many
// as it takes to see that it is not the limit.
func formatP(p, limit float64) string {
	if p < 1e-4 {
		return "below 0.0001"
	}
	short := strconv.FormatFloat(p, 'g', 2, 64)
	if math.Abs(p-limit) <= tolerance {
		return short
	}
	for digits := 2; digits < 17; digits++ {
		s := strconv.FormatFloat(p, 'g', digits, 64)
		if s != strconv.FormatFloat(limit, 'g', digits, 64) {
			return s
		}
	}
	return short
}
