package compare

import (
	"cmp"
	"slices"
)

// Holm corrects p-values for being looked at together, so that the chance that
// any of them is low by accident stays what a single one's is (Holm 1979, step
// down). The smallest is multiplied by their number, the next by one less, and
// so on; none comes out above 1 or below that of a smaller one. The order is kept.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = highest
	}
	return adjusted
}
