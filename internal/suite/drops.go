package suite

import (
	"slices"
	"strings"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/score"
)

// ReasonDropTooFine is that of the Event which tells of FineDrops.
const ReasonDropTooFine = "DropTooFine"

// FineDrops warns of every maxDrop that is smaller than what one case of the golden
// set weighs. A suite that compares with no baseline has none.
func FineDrops(s *v1alpha1.EvalSuite, set *golden.Set) []string {
	if s.Spec.Baseline.Policy == v1alpha1.BaselineNone {
		return nil
	}
	var warnings []string
	for _, o := range s.Spec.Objectives {
		if o.MaxDrop == "" {
			continue
		}
		r := compare.Relative{Metric: o.Metric, Tag: tagOf(o), MaxDrop: o.MaxDrop}
		if w := compare.TooFine(r, dueCases(r, set)); w != "" {
			warnings = append(warnings, w)
		}
	}
	return warnings
}

// dueCases is how many cases a metric is the mean of, where no call fails.
func dueCases(r compare.Relative, set *golden.Set) int {
	m, err := score.ParseMetric(r.Metric)
	if err != nil {
		return 0
	}
	n := 0
	for i := range set.Cases {
		c := &set.Cases[i]
		if (r.Tag == "" || slices.Contains(c.Tags, r.Tag)) && due(m, c) {
			n++
		}
	}
	return n
}

// due says whether a metric has a value for a case.
func due(m score.Metric, c *golden.Case) bool {
	switch m.Family {
	case score.ErrorRate, score.HallucinationRate:
		return true
	case score.Accuracy:
		return c.Answerable && strings.TrimSpace(c.ReferenceAnswer) != ""
	case score.AbstentionAccuracy:
		return !c.Answerable
	case score.AbstentionRate:
		return c.Answerable
	}
	return c.Due()
}
