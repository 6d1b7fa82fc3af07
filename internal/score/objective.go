package score

import (
	"fmt"
	"math"
	"strconv"
)

// tolerance of comparisons with a bound: 0.90 − 0.88 is not more than 0.02.
const tolerance = 1e-9

// Objective bounds one metric over the cases of one tag.
type Objective struct {
	// Metric by its name.
	Metric string
	// Tag of the cases; empty for all.
	Tag string
	// Min and Max are decimal strings; empty for no bound.
	Min, Max string
}

// ObjectiveOutcome says how one bound came out.
type ObjectiveOutcome string

// The outcomes of a bound.
const (
	Met    ObjectiveOutcome = "Met"
	Missed ObjectiveOutcome = "Missed"
	// OutcomeInconclusive is a bound that cannot be decided.
	OutcomeInconclusive ObjectiveOutcome = "Inconclusive"
)

// ObjectiveResult is how one bound of an objective came out.
type ObjectiveResult struct {
	Metric, Tag string
	// Bound as the suite gives it: "min 0.90".
	Bound string
	// Value that was measured; nil where there is none. It is given also where
	// the outcome is open.
	Value   *float64
	Outcome ObjectiveOutcome
	// Message names metric, tag, value, bound and how many cases stand behind it.
	Message string
}

// judged is a bound's result with what the verdict needs beside it.
type judged struct {
	ObjectiveResult
	// reason why the outcome is open.
	reason string
}

// bound is one side of an objective.
type bound struct {
	side, text string
	// excess is how far a value lies beyond the bound.
	excess func(v, limit float64) float64
	word   string
}

func (o Objective) bounds() []bound {
	var out []bound
	if o.Min != "" {
		out = append(out, bound{"min", o.Min, func(v, limit float64) float64 { return limit - v }, "below"})
	}
	if o.Max != "" {
		out = append(out, bound{"max", o.Max, func(v, limit float64) float64 { return v - limit }, "above"})
	}
	return out
}

// judge decides every bound of the facts' objectives.
func (f Facts) judge() []judged {
	var out []judged
	for _, o := range f.Objectives {
		for _, b := range o.bounds() {
			out = append(out, f.judgeBound(o, b))
		}
	}
	return out
}

func (f Facts) judgeBound(o Objective, b bound) judged {
	r := judged{ObjectiveResult: ObjectiveResult{Metric: o.Metric, Tag: o.Tag, Bound: b.side + " " + b.text, Outcome: OutcomeInconclusive}}
	limit, err := strconv.ParseFloat(b.text, 64)
	if err != nil || math.IsNaN(limit) {
		r.reason = ReasonInvalidBound
		r.Message = fmt.Sprintf("%s cannot be decided: %s %q is no decimal number", o.name(), b.side, b.text)
		return r
	}
	mean, measured := f.Summary.Mean(o.Metric, o.Tag)
	if measured {
		r.Value = &mean.Value
	}
	if why, short := f.shortCoverage(o); short {
		r.reason, r.Message = ReasonCoverageTooLow, o.name()+" cannot be decided: "+why
		return r
	}
	if !measured {
		r.reason, r.Message = ReasonMetricAbsent, o.name()+" has no value: "+f.absence(o)
		return r
	}
	said := fmt.Sprintf("%s is %s (%s)", o.name(), formatAgainst(mean.Value, limit), f.behind(o, mean))
	if b.excess(mean.Value, limit) > tolerance {
		r.Outcome, r.Message = Missed, fmt.Sprintf("%s, %s %s", said, b.word, r.Bound)
		return r
	}
	r.Outcome, r.Message = Met, fmt.Sprintf("%s, meets %s", said, r.Bound)
	return r
}

// name of what is bounded, for people.
func (o Objective) name() string {
	if o.Tag == "" {
		return o.Metric
	}
	return fmt.Sprintf("%s of tag %s", o.Metric, o.Tag)
}

// asksCoverage says whether the metric means something only where most cases
// were scored. Failures and latencies speak for themselves.
func (o Objective) asksCoverage() bool {
	return o.Metric != ErrorRate && o.Metric != LatencyP95
}

// shortCoverage says whether too few of the cases of the objective's tag were
// scored, and how few.
func (f Facts) shortCoverage(o Objective) (string, bool) {
	c := f.Summary.Retrieval[o.Tag]
	ratio, due := c.Ratio()
	if !o.asksCoverage() || !due || ratio >= f.MinCoverage-tolerance {
		return "", false
	}
	return fmt.Sprintf("%d of %s due got a result, coverage %s is below minCoverage %s",
		c.Scored, cases(c.Due), formatAgainst(ratio, f.MinCoverage), strconv.FormatFloat(f.MinCoverage, 'f', -1, 64)), true
}

// behind says how many cases a value rests on.
func (f Facts) behind(o Objective, m Mean) string {
	switch o.Metric {
	case ErrorRate:
		return fmt.Sprintf("%d of %s failed", int(math.Round(m.Value*float64(m.Count))), cases(m.Count))
	case LatencyP95:
		return "over " + cases(m.Count)
	}
	return fmt.Sprintf("%d of %s scored", m.Count, cases(f.Summary.Retrieval[o.Tag].Due))
}

// absence says why a metric has no value, and what to do.
func (f Facts) absence(o Objective) string {
	coverage := f.Summary.Retrieval[o.Tag]
	switch {
	case o.Tag != "" && f.Summary.Cases[o.Tag] == 0:
		return fmt.Sprintf("no case carries the tag %s: add it to cases of the golden set, or change the objective", o.Tag)
	case f.Summary.Cases[o.Tag] == 0:
		return "the run has no cases"
	case o.Metric == LatencyP95:
		return "no call was answered or timed out"
	case coverage.Due == 0:
		return "no case is answerable and has a relevant id: add relevant ids to cases of the golden set"
	case coverage.Scored == 0:
		return fmt.Sprintf("none of %s due got a result", cases(coverage.Due))
	}
	return "the run does not compute it: its cut-off is above the run's topK"
}

func cases(n int) string {
	if n == 1 {
		return "1 case"
	}
	return fmt.Sprintf("%d cases", n)
}
