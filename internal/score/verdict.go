package score

import (
	"fmt"
	"strings"
)

// The reasons of a verdict. An Inconclusive one may also have the reason of
// what left it open.
const (
	ReasonNothingScored    = "NothingScored"
	ReasonObjectivesMissed = "ObjectivesMissed"
	ReasonObjectivesMet    = "ObjectivesMet"
	ReasonNoObjectives     = "NoObjectives"
	ReasonCoverageTooLow   = "CoverageTooLow"
	ReasonMetricAbsent     = "MetricAbsent"
	ReasonInvalidBound     = "InvalidBound"
	// ReasonDeadlineExceeded is what Undecided gives where the run's own limit
	// was reached.
	ReasonDeadlineExceeded = "DeadlineExceeded"
)

// Undecided is something outside the metrics that leaves a run open.
type Undecided struct {
	// Reason is one CamelCase word: DeadlineExceeded, Replaced, Canceled.
	Reason string
	// Message for people.
	Message string
}

// Facts are what a verdict is decided on.
type Facts struct {
	Summary    Summary
	Objectives []Objective
	// MinCoverage from 0 to 1 that an objective on a retrieval metric asks for.
	MinCoverage float64
	// Scored is how many cases have the outcome Scored, Total how many the run
	// has.
	Scored, Total int
	// FirstFailure tells of the most common failure; empty where there was none.
	FirstFailure string
	// Undecided is what leaves the run open, the first cause first.
	Undecided []Undecided
}

// Decision is the verdict of a run, why, and how every bound came out.
type Decision struct {
	Verdict Verdict
	// Reason is one CamelCase word.
	Reason string
	// Message for people names metric, value and bound.
	Message string
	// Objectives has a result for every bound, in the order of the objectives.
	Objectives []ObjectiveResult
}

// Decide gives the verdict: Error where nothing could be scored, else Failed
// where an objective is missed on adequate coverage, else Inconclusive where one
// cannot be decided or something left the run open, else Passed.
func Decide(f Facts) Decision {
	bounds := f.judge()
	d := f.decide(bounds)
	for _, b := range bounds {
		d.Objectives = append(d.Objectives, b.ObjectiveResult)
	}
	return d
}

func (f Facts) decide(bounds []judged) Decision {
	missed := withOutcome(bounds, Missed)
	open := withOutcome(bounds, OutcomeInconclusive)
	switch {
	case f.nothingScored() && f.stopped():
		return f.leftOpen()
	case f.nothingScored():
		return Decision{Verdict: Error, Reason: ReasonNothingScored, Message: f.emptyHanded()}
	case len(missed) > 0:
		return Decision{Verdict: Failed, Reason: ReasonObjectivesMissed, Message: join(messages(missed))}
	case len(f.Undecided) > 0:
		return f.leftOpen()
	case len(bounds) == 0:
		return Decision{Verdict: Inconclusive, Reason: ReasonNoObjectives,
			Message: "the suite has no objectives: add one, for example hit_rate@5 with min \"0.90\", for a run to pass or fail"}
	case len(open) > 0:
		return f.undecidable(open)
	case len(bounds) == 1:
		return Decision{Verdict: Passed, Reason: ReasonObjectivesMet, Message: bounds[0].Message}
	}
	return Decision{Verdict: Passed, Reason: ReasonObjectivesMet, Message: fmt.Sprintf("all %d bounds are met", len(bounds))}
}

// nothingScored goes by the cases that a stage was due for, where there are
// any: the others come out Scored without being asked.
func (f Facts) nothingScored() bool {
	if c := f.Summary.Retrieval[""]; c.Due > 0 {
		return c.Scored == 0
	}
	return f.Total > 0 && f.Scored == 0
}

// stopped says whether someone ended the run, so that its having scored nothing
// is no sign of an outage. Reaching the limit with nothing in hand is one.
func (f Facts) stopped() bool {
	for _, u := range f.Undecided {
		if u.Reason != ReasonDeadlineExceeded {
			return true
		}
	}
	return false
}

// leftOpen is Inconclusive for what is outside the metrics.
func (f Facts) leftOpen() Decision {
	said := make([]string, 0, len(f.Undecided))
	for _, u := range f.Undecided {
		said = append(said, u.Message)
	}
	return Decision{Verdict: Inconclusive, Reason: f.Undecided[0].Reason, Message: join(said)}
}

// emptyHanded says that nothing was scored, and why.
func (f Facts) emptyHanded() string {
	said := []string{fmt.Sprintf("none of %s could be scored", cases(f.Total))}
	if f.FirstFailure != "" {
		said = append(said, f.FirstFailure)
	}
	for _, u := range f.Undecided {
		said = append(said, u.Message)
	}
	return join(said)
}

// undecidable is Inconclusive for a bound that cannot be decided.
func (f Facts) undecidable(open []judged) Decision {
	d := Decision{Verdict: Inconclusive, Reason: open[0].reason, Message: join(messages(open))}
	for _, r := range open {
		if r.reason == ReasonCoverageTooLow {
			d.Reason = r.reason
		}
	}
	if d.Reason == ReasonCoverageTooLow && f.FirstFailure != "" {
		d.Message += "; " + f.FirstFailure
	}
	return d
}

func withOutcome(bounds []judged, o ObjectiveOutcome) []judged {
	var out []judged
	for _, b := range bounds {
		if b.Outcome == o {
			out = append(out, b)
		}
	}
	return out
}

func messages(bounds []judged) []string {
	out := make([]string, 0, len(bounds))
	for _, b := range bounds {
		out = append(out, b.Message)
	}
	return out
}

// join puts several messages into one that still fits an Event.
func join(all []string) string {
	const most = 4
	if len(all) <= most {
		return strings.Join(all, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(all[:most], "; "), len(all)-most)
}
