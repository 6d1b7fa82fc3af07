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
	// MaxDrop is how much worse than the baseline it may be, a decimal string;
	// empty for no bound. It is decided elsewhere: see Facts.Relative.
	MaxDrop string
}

// RelativeResult is how a bound on a drop came out.
type RelativeResult struct {
	ObjectiveResult
	// Reason is given where the outcome is open.
	Reason string
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

// boundResult is a bound's result with what the verdict needs beside it.
type boundResult struct {
	ObjectiveResult
	// reason why the outcome is open.
	reason string
	// short is the stage that gave too few results to decide; empty where that is
	// not the reason.
	short Stage
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

// bounds decides every bound of the facts' objectives.
func (f Facts) bounds() []boundResult {
	var out []boundResult
	drops := 0
	for _, o := range f.Objectives {
		for _, b := range o.bounds() {
			out = append(out, f.unlessStale(o, f.decideBound(o, b)))
		}
		if o.MaxDrop != "" {
			out = append(out, f.unlessStale(o, f.drop(o, drops)))
			drops++
		}
	}
	return out
}

// unlessStale leaves a bound on retrieval open that is missed for labels which no
// longer fit. One that is met all the same is met.
func (f Facts) unlessStale(o Objective, r boundResult) boundResult {
	if f.Stale == "" || r.Outcome != Missed || o.family().stage != RetrievalStage || o.family().beside {
		return r
	}
	r.Outcome, r.reason = OutcomeInconclusive, ReasonLabelsStale
	r.Message += "; it cannot be decided: " + f.Stale
	return r
}

// drop is how the bound on a drop came out that is the i-th of the objectives'.
func (f Facts) drop(o Objective, i int) boundResult {
	if i < len(f.Relative) {
		return boundResult{ObjectiveResult: f.Relative[i].ObjectiveResult, reason: f.Relative[i].Reason}
	}
	return boundResult{reason: ReasonNotCompared, ObjectiveResult: ObjectiveResult{
		Metric: o.Metric, Tag: o.Tag, Bound: "maxDrop " + o.MaxDrop, Outcome: OutcomeInconclusive,
		Message: o.name() + " cannot be decided: the run was compared with no other",
	}}
}

// Open says what keeps a metric's bounds from being decided, whatever its value
// is; an empty reason: nothing does.
func (f Facts) Open(metric, tag string) (reason, message string) {
	o := Objective{Metric: metric, Tag: tag}
	reason, _, message = f.open(o)
	return reason, message
}

// open is Open, with the stage that gave too few results, where that is it.
func (f Facts) open(o Objective) (reason string, short Stage, message string) {
	if why := f.leftOut(o); why != "" {
		return ReasonMetricAbsent, "", o.name() + " has no value: " + why
	}
	if f.Untrusted != "" && o.family().stage == JudgeStage {
		return ReasonJudgeUntrusted, "", o.name() + " cannot be decided: " + f.Untrusted
	}
	if stage, why := f.shortCoverage(o); stage != "" {
		return ReasonCoverageTooLow, stage, o.name() + " cannot be decided: " + why
	}
	return "", "", ""
}

func (f Facts) decideBound(o Objective, b bound) boundResult {
	r := boundResult{ObjectiveResult: ObjectiveResult{Metric: o.Metric, Tag: o.Tag, Bound: b.side + " " + b.text, Outcome: OutcomeInconclusive}}
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
	if r.reason, r.short, r.Message = f.open(o); r.reason != "" {
		return r
	}
	if !measured {
		stage, why := f.absence(o)
		r.reason, r.short, r.Message = ReasonMetricAbsent, stage, o.name()+" has no value: "+why
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

// family of the metric; the zero one where the name is no metric's.
func (o Objective) family() family {
	m, err := ParseMetric(o.Metric)
	if err != nil {
		return family{}
	}
	return families[m.Family]
}

// asksCoverage lists the stages whose coverage an objective asks for. The judge
// grades only what was answered, so its metrics rest on both. Failures and
// latencies speak for themselves.
func (o Objective) asksCoverage() []Stage {
	switch f := o.family(); {
	case f.beside || f.stage == "":
		return nil
	case f.stage == JudgeStage:
		return []Stage{AnswerStage, JudgeStage}
	default:
		return []Stage{f.stage}
	}
}

// shortCoverage gives the stage, if there is one, that gave results for too few
// of the cases of the objective's tag, and says how few.
func (f Facts) shortCoverage(o Objective) (Stage, string) {
	for _, stage := range o.asksCoverage() {
		c := f.Summary.Coverage(stage, o.Tag)
		ratio, due := c.Ratio()
		if !due || ratio >= f.MinCoverage-tolerance {
			continue
		}
		return stage, fmt.Sprintf("%d of %s due got %s, coverage %s is below minCoverage %s",
			c.Scored, cases(c.Due), stage.gives(), formatAgainst(ratio, f.MinCoverage), strconv.FormatFloat(f.MinCoverage, 'f', -1, 64))
	}
	return "", ""
}

// gives is what a case gets of a stage, for people.
func (s Stage) gives() string {
	switch s {
	case AnswerStage:
		return "an answer"
	case JudgeStage:
		return "a verdict"
	}
	return "a result"
}

// behind says how many cases a value rests on.
func (f Facts) behind(o Objective, m Mean) string {
	switch family := o.family(); {
	case o.Metric == ErrorRate:
		return fmt.Sprintf("%d of %s failed", int(math.Round(m.Value*float64(m.Count))), cases(m.Count))
	case family.beside || family.stage != RetrievalStage:
		return "over " + cases(m.Count)
	}
	return fmt.Sprintf("%d of %s scored", m.Count, cases(f.Summary.Retrieval[o.Tag].Due))
}

func cases(n int) string {
	if n == 1 {
		return "1 case"
	}
	return fmt.Sprintf("%d cases", n)
}
