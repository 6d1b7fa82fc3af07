package score

import (
	"math"
	"slices"
)

// Evidence sets what was retrieved against what was answered: was a relevant id
// among the first primaryK, and was the answer correct? A miss that was answered
// right was luck, or knowledge of the model's own; a hit that was answered wrong
// was not used.
type Evidence struct {
	HitRight, HitWrong, MissRight, MissWrong int
}

// CountEvidence counts the cases that have both a hit rate at primaryK and an
// accuracy. It gives nil where there are none.
func CountEvidence(metrics []Metric, cases []CaseScore, primaryK int) *Evidence {
	hit := slices.IndexFunc(metrics, func(m Metric) bool { return m.Family == HitRate && m.K == primaryK })
	right := slices.IndexFunc(metrics, func(m Metric) bool { return m.Family == Accuracy })
	if hit < 0 || right < 0 {
		return nil
	}
	var e Evidence
	for _, c := range cases {
		if c.Values == nil || math.IsNaN(c.Values[hit]) || math.IsNaN(c.Values[right]) {
			continue
		}
		*e.cell(c.Values[hit] == 1, c.Values[right] == 1)++
	}
	if e == (Evidence{}) {
		return nil
	}
	return &e
}

func (e *Evidence) cell(hit, right bool) *int {
	switch {
	case hit && right:
		return &e.HitRight
	case hit:
		return &e.HitWrong
	case right:
		return &e.MissRight
	}
	return &e.MissWrong
}
