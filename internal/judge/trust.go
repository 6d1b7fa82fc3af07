package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Trust says whether a judge's verdicts may decide objectives.
type Trust string

// A judge is trusted, not trusted, or nobody can tell.
const (
	Trusted      Trust = "Trusted"
	Untrusted    Trust = "Untrusted"
	TrustUnknown Trust = "Unknown"
)

// kappaTolerance keeps 0.6 from being below 0.60.
const kappaTolerance = 1e-9

// Trusted holds the judge to the least κ that a suite asks for, from -1, which
// asks for nothing, to 1. The judge is trusted where both questions reach it,
// and not where one falls short; else, while κ of one is unknown, it is
// neither. The message says so with its numbers.
func (c *Calibration) Trusted(minKappa float64) (Trust, string) {
	questions := []struct {
		name  string
		table Confusion
	}{{"correct", c.Correct}, {"grounded", c.Grounded}}
	trust := Trusted
	var parts []string
	for _, q := range questions {
		kappa, known := q.table.Kappa()
		short := known && kappa < minKappa-kappaTolerance
		switch {
		case short:
			trust = Untrusted
		case !known && trust == Trusted:
			trust = TrustUnknown
		}
		parts = append(parts, q.name+": "+describeKappa(q.table, kappa, minKappa, known, short))
	}
	message := strings.Join(parts, "; ")
	switch trust {
	case Trusted:
		message = "the judge agrees with people; " + message
	case Untrusted:
		message = "the judge does not agree with people; " + message
	default:
		message = "too few labels tell how far the judge agrees with people; " + message
	}
	if n := c.ungraded(); n > 0 {
		message += fmt.Sprintf("; no verdict on %d of %d labels (%s)", n, c.Labels, c.outcomes())
	}
	return trust, message
}

func describeKappa(t Confusion, kappa, minKappa float64, known, short bool) string {
	if !known {
		positives, negatives := t.people()
		return fmt.Sprintf("κ is unknown, for people said true %d times and false %d times, and at least %d of each are needed", positives, negatives, minClass)
	}
	relation := "at least"
	if short {
		relation = "below"
	}
	got, bound := distinct(kappa, minKappa)
	s := "κ " + got
	if minKappa > -1 {
		s += fmt.Sprintf(" is %s %s", relation, bound)
	}
	return fmt.Sprintf("%s (%d of %d agree)", s, t.TruePositives+t.TrueNegatives, t.Count())
}

// distinct prints two numbers with two decimals, or as many as it takes to tell
// them apart.
func distinct(a, b float64) (x, y string) {
	for digits := 2; ; digits++ {
		x, y = strconv.FormatFloat(a, 'f', digits, 64), strconv.FormatFloat(b, 'f', digits, 64)
		if x != y || digits == 9 {
			break
		}
		if diff := a - b; diff > -kappaTolerance && diff < kappaTolerance {
			break
		}
	}
	return x, y
}

func (c *Calibration) outcomes() string {
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(c.Ungraded)) {
		parts = append(parts, fmt.Sprintf("%s %d", outcome, c.Ungraded[outcome]))
	}
	return strings.Join(parts, ", ")
}
