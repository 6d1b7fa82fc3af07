package score

import (
	"cmp"
	"fmt"
	"slices"
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
	// ReasonJudgeUntrusted is a judge that its calibration speaks against.
	ReasonJudgeUntrusted = "JudgeUntrusted"
	// ReasonNotCompared is a bound on a drop in a run without a comparison.
	ReasonNotCompared = "NotCompared"
	// ReasonLabelsStale is a golden set that names ids which the corpus no longer has.
	ReasonLabelsStale = "LabelsStale"
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
	// Void says that what was measured is of no one thing, so that it must not even
	// fail: the revision changed meanwhile.
	Void bool
}

// Facts are what a verdict is decided on.
type Facts struct {
	// Spec is what the run computes, so that a message can say why a metric is
	// not there.
	Spec       Spec
	Summary    Summary
	Objectives []Objective
	// MinCoverage from 0 to 1 that an objective asks for of its own stage, over
	// the cases of its tag.
	MinCoverage float64
	// Scored is how many cases have the outcome Scored, Total how many the run
	// has.
	Scored, Total int
	// Failures tells of the most common failure of each stage that had one.
	Failures map[Stage]string
	// Untrusted says why the judge's verdicts must decide nothing; empty: they may.
	Untrusted string
	// Stale says why the relevant ids no longer fit the corpus, so that retrieval
	// metrics must not fail it; empty: they fit. StaleDetail is for the verdict: it
	// names cases.
	Stale, StaleDetail string
	// Relative is how the bounds on a drop came out, one for each objective that has
	// one, in their order.
	Relative []RelativeResult
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

// Decide gives the verdict: Error where no stage could score anything, else Failed
// where an objective is missed on adequate coverage, else Inconclusive where one
// cannot be decided or something left the run open, else Passed.
func Decide(f Facts) Decision {
	bounds := f.bounds()
	d := f.decide(bounds)
	for _, b := range bounds {
		d.Objectives = append(d.Objectives, b.ObjectiveResult)
	}
	return d
}

func (f Facts) decide(bounds []boundResult) Decision {
	missed := withOutcome(bounds, Missed)
	open := withOutcome(bounds, OutcomeInconclusive)
	switch {
	case f.nothingScored() && f.stopped():
		return f.leftOpen()
	case f.nothingScored():
		return Decision{Verdict: Error, Reason: ReasonNothingScored, Message: f.emptyHanded()}
	case f.void():
		return f.leftOpen()
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

// nothingScored goes by the cases that any stage was due for, where there are
// some: in a run of retrieval alone the others come out Scored without being asked.
func (f Facts) nothingScored() bool {
	due, scored := 0, 0
	for _, stage := range []Stage{RetrievalStage, AnswerStage, JudgeStage} {
		c := f.Summary.Coverage(stage, "")
		due, scored = due+c.Due, scored+c.Scored
	}
	if due > 0 {
		return scored == 0
	}
	return f.Total > 0 && f.Scored == 0
}

// asked is how many cases some stage was due for, or all where none was.
func (f Facts) asked() int {
	return cmp.Or(max(f.Summary.Retrieval[""].Due, f.Summary.Answer[""].Due), f.Total)
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

// void says whether the numbers are of no one thing.
func (f Facts) void() bool {
	return slices.ContainsFunc(f.Undecided, func(u Undecided) bool { return u.Void })
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
	said := []string{fmt.Sprintf("none of %s could be scored", cases(f.asked()))}
	said = f.addFailures(said, RetrievalStage, AnswerStage, JudgeStage)
	for _, u := range f.Undecided {
		said = append(said, u.Message)
	}
	return join(said)
}

// addFailures adds the failures of some stages, none twice: where the answer
// service retrieves by itself, two stages fail as one.
func (f Facts) addFailures(said []string, stages ...Stage) []string {
	for _, stage := range stages {
		if failure := f.Failures[stage]; failure != "" && !slices.Contains(said, failure) {
			said = append(said, failure)
		}
	}
	return said
}

// undecidable is Inconclusive for a bound that cannot be decided. Behind the
// bounds stand the failures of the stages that gave too little.
func (f Facts) undecidable(open []boundResult) Decision {
	d := Decision{Verdict: Inconclusive, Reason: open[0].reason}
	if slices.ContainsFunc(open, func(r boundResult) bool { return r.reason == ReasonLabelsStale }) {
		d.Reason, d.Message = ReasonLabelsStale, f.StaleDetail
		return d
	}
	var failures []string
	for _, r := range open {
		if r.reason == ReasonCoverageTooLow {
			d.Reason = r.reason
		}
		switch r.short {
		case "":
		case AnswerStage: // a case that retrieval failed for gets no answer either
			failures = f.addFailures(failures, RetrievalStage, AnswerStage)
		default:
			failures = f.addFailures(failures, r.short)
		}
	}
	d.Message = strings.Join(append([]string{join(messages(open))}, failures...), "; ")
	return d
}

func withOutcome(bounds []boundResult, o ObjectiveOutcome) []boundResult {
	var out []boundResult
	for _, b := range bounds {
		if b.Outcome == o {
			out = append(out, b)
		}
	}
	return out
}

func messages(bounds []boundResult) []string {
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
