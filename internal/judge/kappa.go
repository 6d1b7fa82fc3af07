package judge

// minClass is how many labels of either class it takes to know κ: fewer, and
// one verdict moves it by more than anybody would bound.
const minClass = 5

// Confusion compares a judge's verdicts on one question with those of people,
// which count as the truth.
type Confusion struct {
	// TruePositives are true to both, TrueNegatives false to both.
	TruePositives int `json:"truePositives"`
	TrueNegatives int `json:"trueNegatives"`
	// FalsePositives are true to the judge alone, FalseNegatives to people alone.
	FalsePositives int `json:"falsePositives"`
	FalseNegatives int `json:"falseNegatives"`
}

// add counts a pair of verdicts, where both are there.
func (c *Confusion) add(person, judge *bool) {
	switch {
	case person == nil || judge == nil:
	case *person && *judge:
		c.TruePositives++
	case *person:
		c.FalseNegatives++
	case *judge:
		c.FalsePositives++
	default:
		c.TrueNegatives++
	}
}

// Count is how many pairs there are.
func (c Confusion) Count() int {
	return c.TruePositives + c.TrueNegatives + c.FalsePositives + c.FalseNegatives
}

// Agreement is the share of pairs that agree, from 0 to 1; false over no pairs.
func (c Confusion) Agreement() (float64, bool) {
	n := c.Count()
	if n == 0 {
		return 0, false
	}
	return float64(c.TruePositives+c.TrueNegatives) / float64(n), true
}

// Kappa is Cohen's κ, from -1 to 1: the agreement beyond what two raters with
// these shares of true would reach by chance. It is 1 for full agreement and 0
// for chance, and unknown (false) while people said true, or false, fewer than
// five times.
//
//	κ = (p_o − p_e) / (1 − p_e)
//
// p_o is the agreement; p_e = Σ over the classes of the product of both raters'
// shares. J. Cohen, A coefficient of agreement for nominal scales, Educational
// and Psychological Measurement 20 (1960), 37–46.
func (c Confusion) Kappa() (float64, bool) {
	positives, negatives := c.people()
	if positives < minClass || negatives < minClass {
		return 0, false
	}
	n := float64(c.Count())
	observed := float64(c.TruePositives+c.TrueNegatives) / n
	judgedTrue := float64(c.TruePositives + c.FalsePositives)
	judgedFalse := float64(c.TrueNegatives + c.FalseNegatives)
	chance := (float64(positives)*judgedTrue + float64(negatives)*judgedFalse) / (n * n)
	return (observed - chance) / (1 - chance), true
}

// people counts the labels of either class.
func (c Confusion) people() (positives, negatives int) {
	return c.TruePositives + c.FalseNegatives, c.TrueNegatives + c.FalsePositives
}
