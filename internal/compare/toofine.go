package compare

import (
	"fmt"

	"github.com/assay-dev/assay/internal/score"
)

// TooFine warns of a bound on a 0/1 metric that is smaller than what one of n
// cases weighs: the first case that gets worse is beyond it. It is empty where there
// is nothing to warn of.
func TooFine(r Relative, n int) string {
	m, err := score.ParseMetric(r.Metric)
	maxDrop, ok := decimal(r.MaxDrop)
	if err != nil || !ok || !m.Binary || n < 1 || maxDrop*float64(n) >= 1-tolerance {
		return ""
	}
	return fmt.Sprintf("maxDrop %s of %s is less than what one of its %s weighs (%s): the first that gets worse is beyond it; add cases, or raise maxDrop",
		r.MaxDrop, r.name(), cases(n), formatAgainst(1/float64(n), maxDrop))
}
