package compare

import (
	"fmt"
	"math"
	"strconv"

	"github.com/assay-dev/assay/internal/score"
)

// tolerance of comparisons with a bound: 0.90 − 0.88 is not more than 0.02.
const tolerance = 1e-9

// Relative bounds how much worse than the baseline one metric may be, over the
// cases of one tag.
type Relative struct {
	Metric string
	// Tag of the cases; empty for all.
	Tag string
	// MaxDrop is a decimal string; empty for no bound.
	MaxDrop string
}

// Outcomes that only a bound on a drop has.
const (
	// Unproven is a drop beyond the bound that the test does not support. It is
	// reported and is no failure.
	Unproven score.ObjectiveOutcome = "Unproven"
	// NoBaseline is a bound with nothing to compare with, which passes.
	NoBaseline score.ObjectiveOutcome = "NoBaseline"
)

// Reasons for which a bound on a drop is open, beside those of score.
const (
	// ReasonNoBaseline is a bound with nothing to compare with, where the suite
	// does not let that pass.
	ReasonNoBaseline = "NoBaseline"
	// ReasonBaselineLost is a baseline that was known and cannot be read any more.
	ReasonBaselineLost = "BaselineLost"
)

// OnNotComparable says what a bound means that there is nothing to compare with.
type OnNotComparable string

// What a bound may mean then.
const (
	// Ignore lets it pass.
	Ignore OnNotComparable = "Ignore"
	// LeaveOpen makes it Inconclusive.
	LeaveOpen OnNotComparable = "Inconclusive"
)

// Policy is how bounds on a drop are decided.
type Policy struct {
	// MinConfidence is a decimal string from "0" to "1": a drop beyond its bound
	// counts only where 1 − p reaches it. Empty: every such drop counts.
	MinConfidence string
	// OnNotComparable is Ignore where it is empty.
	OnNotComparable OnNotComparable
	// Missing says, for people, why there is no baseline, where there is none.
	Missing string
	// Lost says that there was a baseline and that it cannot be read any more: that
	// leaves every bound open.
	Lost bool
	// Open gives the reason and the message of what leaves a bound open whatever
	// the numbers are, such as a coverage that is too low; an empty reason: nothing
	// does. It may be nil.
	Open func(metric, tag string) (reason, message string)
}

// Result is how one bound came out. Its value is by how much the metric got
// worse, below 0 where it got better.
type Result struct {
	score.ObjectiveResult
	// Reason is one CamelCase word; given where the outcome is Inconclusive.
	Reason string
}

// Judge decides bounds on a drop, in their order; what has no MaxDrop has no
// result. The comparison is nil where there is no baseline.
func Judge(relative []Relative, c *Comparison, o Policy) []Result {
	corrected, tests := c.corrections(relative)
	var results []Result
	for _, r := range relative {
		if r.MaxDrop == "" {
			continue
		}
		d := decision{relative: r, comparison: c, policy: o, tests: tests}
		if p, ok := corrected[key{r.Metric, r.Tag}]; ok {
			d.p = &p
		}
		results = append(results, d.result())
	}
	return results
}

// corrections gives Holm's p-value for every bound that has one, and how many
// were corrected together.
func (c *Comparison) corrections(relative []Relative) (map[key]float64, int) {
	if c == nil {
		return nil, 0
	}
	var keys []key
	var p []float64
	corrected := map[key]float64{}
	for _, r := range relative {
		k := key{r.Metric, r.Tag}
		d, ok := c.Delta(r.Metric, r.Tag)
		if _, twice := corrected[k]; twice || !ok || d.P == nil || r.MaxDrop == "" {
			continue
		}
		corrected[k] = *d.P
		keys, p = append(keys, k), append(p, *d.P)
	}
	for i, adjusted := range Holm(p) {
		corrected[keys[i]] = adjusted
	}
	return corrected, len(keys)
}

// correct puts the corrected p-values into the deltas.
func (c *Comparison) correct(relative []Relative) {
	corrected, _ := c.corrections(relative)
	for i := range c.Deltas {
		if p, ok := corrected[key{c.Deltas[i].Metric, c.Deltas[i].Tag}]; ok {
			c.Deltas[i].Corrected = &p
		}
	}
}

// decision is all that one bound is decided on.
type decision struct {
	relative   Relative
	comparison *Comparison
	policy     Policy
	// p is the corrected p-value; nil where there is no test.
	p *float64
	// tests is how many bounds it was corrected for.
	tests int
}

func (d decision) result() Result {
	r := Result{ObjectiveResult: score.ObjectiveResult{
		Metric: d.relative.Metric, Tag: d.relative.Tag, Bound: "maxDrop " + d.relative.MaxDrop, Outcome: score.OutcomeInconclusive,
	}}
	maxDrop, ok := decimal(d.relative.MaxDrop)
	if !ok {
		r.Reason, r.Message = score.ReasonInvalidBound, fmt.Sprintf("%s cannot be decided: maxDrop %q is no decimal number", d.name(), d.relative.MaxDrop)
		return r
	}
	confidence, ok := decimal(d.policy.MinConfidence)
	if d.policy.MinConfidence != "" && (!ok || confidence > 1) {
		r.Reason, r.Message = score.ReasonInvalidBound, fmt.Sprintf("%s cannot be decided: minConfidence %q is no decimal number from 0 to 1", d.name(), d.policy.MinConfidence)
		return r
	}
	delta, compared := d.delta()
	if compared {
		worsening := delta.Worsening()
		r.Value = &worsening
	}
	if reason, message := d.open(); reason != "" {
		r.Reason, r.Message = reason, message
		return r
	}
	if !compared {
		r.Outcome, r.Reason, r.Message = d.nothing()
		return r
	}
	r.Outcome, r.Message = d.weigh(delta, maxDrop, confidence)
	return r
}

func (d decision) delta() (Delta, bool) {
	if d.comparison == nil {
		return Delta{}, false
	}
	return d.comparison.Delta(d.relative.Metric, d.relative.Tag)
}

func (d decision) open() (reason, message string) {
	if d.policy.Lost {
		return ReasonBaselineLost, d.name() + " cannot be decided: the baseline was known and is lost" + d.missing()
	}
	if d.policy.Open == nil {
		return "", ""
	}
	return d.policy.Open(d.relative.Metric, d.relative.Tag)
}

// nothing is the outcome where there is no delta.
func (d decision) nothing() (outcome score.ObjectiveOutcome, reason, message string) {
	why, own := d.absence()
	switch {
	case own:
		return score.OutcomeInconclusive, score.ReasonMetricAbsent, d.name() + " cannot be decided: " + why
	case d.policy.OnNotComparable == LeaveOpen:
		return score.OutcomeInconclusive, ReasonNoBaseline, d.name() + " cannot be compared: " + why
	}
	return NoBaseline, "", fmt.Sprintf("%s is not compared, which passes: %s", d.name(), why)
}

// absence says why there is no delta, and whether that is the run's own doing:
// a metric that the baseline has and the run has not is no missing baseline.
func (d decision) absence() (why string, own bool) {
	c := d.comparison
	if c == nil {
		return "there is no baseline" + d.missing(), false
	}
	if !c.Comparable {
		return c.Message, false
	}
	have := c.have[key{d.relative.Metric, d.relative.Tag}]
	if have.base > 0 && have.head == 0 {
		return fmt.Sprintf("the baseline has a value of it in %s, and this run in none", cases(have.base)), true
	}
	if difference, ok := c.difference(d.relative.Metric); ok {
		return difference.String(), false
	}
	if have.base == 0 && have.head > 0 {
		return "the baseline has no value of it", false
	}
	return "no case with a value of it is the same in both runs", false
}

func (d decision) missing() string {
	if d.policy.Missing == "" {
		return ""
	}
	return ": " + d.policy.Missing
}

// weigh decides a bound that there is a delta for.
func (d decision) weigh(delta Delta, maxDrop, confidence float64) (score.ObjectiveOutcome, string) {
	worsening := delta.Worsening()
	said := d.measured(delta, 1-confidence)
	if worsening-maxDrop <= tolerance {
		return score.Met, fmt.Sprintf("%s, meets maxDrop %s", said, d.relative.MaxDrop)
	}
	said = fmt.Sprintf("%s: %s worse, more than maxDrop %s", said, formatAgainst(worsening, maxDrop), d.relative.MaxDrop)
	// A drop without a test, of a latency, has only its bound.
	if d.policy.MinConfidence == "" || d.p == nil || *d.p <= 1-confidence+tolerance {
		return score.Missed, said
	}
	said = fmt.Sprintf("%s, but not proven at minConfidence %s", said, d.policy.MinConfidence)
	switch smallest := delta.SmallestDrop; {
	case smallest == nil:
		said += "; so few changes could show no drop"
	case worsening < *smallest-tolerance:
		said = fmt.Sprintf("%s; a drop of %s is the smallest that %s could show", said, formatAgainst(*smallest, worsening), cases(delta.Count))
	}
	return Unproven, said
}

// measured says what was measured: both values, over how many cases, and p, which
// can be told from the limit.
func (d decision) measured(delta Delta, limit float64) string {
	then, now := apart(delta.Base, delta.Head)
	over := "on " + cases(delta.Count)
	if d.p != nil {
		over = fmt.Sprintf("%s, p %s", over, formatP(*d.p, limit))
		if d.tests > 1 {
			over = fmt.Sprintf("%s corrected for %d bounds", over, d.tests)
		}
	}
	switch {
	case math.Abs(delta.Delta) <= tolerance:
		return fmt.Sprintf("%s stayed at %s (%s)", d.name(), now, over)
	case delta.Delta < 0:
		return fmt.Sprintf("%s fell from %s to %s (%s)", d.name(), then, now, over)
	}
	return fmt.Sprintf("%s rose from %s to %s (%s)", d.name(), then, now, over)
}

// name of what is bounded, for people.
func (d decision) name() string { return d.relative.name() }

func (r Relative) name() string {
	if r.Tag == "" {
		return r.Metric
	}
	return fmt.Sprintf("%s of tag %s", r.Metric, r.Tag)
}

// decimal reads a number from 0.
func decimal(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v >= 0 && finite(v)
}
