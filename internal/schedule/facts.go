package schedule

import (
	"strings"
	"time"
)

// What starts a run.
const (
	TriggerManual    = "Manual"
	TriggerAPI       = "API"
	TriggerSchedule  = "Schedule"
	TriggerDeploy    = "Deploy"
	TriggerGoldenSet = "GoldenSet"
	TriggerSpec      = "Spec"
)

// VerdictError is the verdict of a run that could not be scored: the one that is
// tried once more.
const VerdictError = "Error"

// Facts are everything that a decision about one suite rests on.
type Facts struct {
	Now    time.Time
	Suite  Suite
	Key    Key
	Status Status
	// Targets are the workloads whose rollouts start runs; nil for a suite without any.
	Targets *Targets
	// Runs are those that the suite owns, in any order.
	Runs []Run
}

// Suite is what the suite asks for.
type Suite struct {
	Name, UID string
	CreatedAt time.Time
	// Schedule and TimeZone as in the spec; an empty schedule has no slots.
	Schedule, TimeZone string
	// StartingDeadline is how late a slot may still start; nil: however late.
	StartingDeadline *time.Duration
	// Jitter is what the suite's own delay stays below, in whole seconds.
	Jitter  time.Duration
	Suspend bool
	// Replace cancels what is active when a slot comes; else the slot is skipped.
	Replace           bool
	OnGoldenSetChange bool
	// RunNow is the value of the run-now annotation.
	RunNow string
	// Ready is false while the suite is stalled: nothing starts, and a slot counts as missed.
	Ready bool
}

// Targets is how far the rollout of the suite's targets is.
type Targets struct {
	// RolledOutAt is since when all of them have rolled out at today's revision;
	// nil while a rollout goes.
	RolledOutAt *time.Time
	// Settle is for how long they have to be rolled out before a change starts a run.
	Settle time.Duration
}

// Key is what a verdict holds for.
type Key struct {
	EvaluationDigest string
	// GoldenSetDigest is empty while it is not known.
	GoldenSetDigest string
	// Revision is constant for a suite without targets, and empty while it is not known.
	Revision string
}

// Status is what earlier decisions left behind.
type Status struct {
	LastScheduleTime, LastMissedTime *time.Time
	MissedRuns                       int64
	LastHandledRunNow                string
	Counted                          *Counted
	LastTriggered                    *TriggeredKey
	// Results are those of full runs of the default endpoint, newest first.
	Results []PastResult
}

// Counted is the schedule that slots are counted by.
type Counted struct {
	Schedule, TimeZone string
	Suspend            bool
	// Since is when counting began: earlier slots are never run.
	Since time.Time
}

// TriggeredKey is what a change started a run for.
type TriggeredKey struct {
	EvaluationDigest, GoldenSetDigest, Revision string
}

// PastResult is a verdict that outlives its run.
type PastResult struct {
	Run                                         string
	EvaluationDigest, GoldenSetDigest, Revision string
	Verdict, Reason                             string
	// Time is when the run ended.
	Time time.Time
}

// Run is a run of the suite, in whatever state.
type Run struct {
	Name, UID, Trigger string
	// TriggeredBy is what Create.TriggeredBy said; empty for a run made by hand.
	TriggeredBy string
	CreatedAt   time.Time
	// StartedAt and FinishedAt are nil until then.
	StartedAt, FinishedAt *time.Time
	// Verdict is empty until the run has finished, and so is the Reason of it.
	Verdict, Reason string
	// Full says that it asks the default endpoint all cases at the suite's own topK.
	Full bool
	// EvaluationDigest and GoldenSetDigest are what it measures; empty until it has started.
	EvaluationDigest, GoldenSetDigest string
	// Revision is the one that it measures; empty until it has started, and for one
	// that started while a rollout went.
	Revision string
	// RetryOf is the run that it repeats.
	RetryOf string
	// Canceled says that somebody asked it to end.
	Canceled bool
}

func (r Run) finished() bool { return r.FinishedAt != nil }

// knows reports whether the run got as far as knowing what it measures.
func (r Run) knows() bool { return r.EvaluationDigest != "" && r.GoldenSetDigest != "" }

// measures reports whether the run speaks of one key: it knows what it measures,
// and no rollout came in between.
func (r Run) measures() bool { return r.knows() && r.Revision != "" && !overtaken(r.Reason) }

// overtaken holds for the reason of a run that a newer revision has put an end to.
func overtaken(reason string) bool {
	return reason == ReasonRevisionChanged || reason == ReasonSuperseded
}

func (r Run) measured() TriggeredKey {
	return TriggeredKey{EvaluationDigest: r.EvaluationDigest, GoldenSetDigest: r.GoldenSetDigest, Revision: r.Revision}
}

// began is when the run left the queue: it started, or ended without; nil while it waits.
func (r Run) began() *time.Time {
	if r.StartedAt != nil {
		return r.StartedAt
	}
	return r.FinishedAt
}

// newerThan orders runs by creation; in one second, the one that left the queue
// later or waits is the newer, and then the name decides.
func (r Run) newerThan(o Run) bool {
	if !r.CreatedAt.Equal(o.CreatedAt) {
		return r.CreatedAt.After(o.CreatedAt)
	}
	began, other := r.began(), o.began()
	if (began == nil) != (other == nil) {
		return began == nil
	}
	if began != nil && !began.Equal(*other) {
		return began.After(*other)
	}
	return r.Name > o.Name
}

func (k Key) triggered() TriggeredKey {
	return TriggeredKey(k)
}

func (k Key) known() bool {
	return k.EvaluationDigest != "" && k.GoldenSetDigest != "" && k.Revision != ""
}

// String names the key for people, and for telling what a run was started for.
func (k Key) String() string {
	s := "evaluation " + k.EvaluationDigest + ", golden set " + k.GoldenSetDigest
	if k.Revision != "" {
		s += beforeRevision + k.Revision
	}
	return s
}

const beforeRevision = ", revision "

// revisionIn returns the revision in what String gave; "" where there is none.
func revisionIn(key string) string {
	i := strings.LastIndex(key, beforeRevision)
	if i < 0 {
		return ""
	}
	return key[i+len(beforeRevision):]
}

// run returns the run of a name.
func (f Facts) run(name string) (Run, bool) {
	for _, r := range f.Runs {
		if r.Name == name {
			return r, true
		}
	}
	return Run{}, false
}

// newest returns the newest of the runs that a condition holds for.
func (f Facts) newest(is func(Run) bool) (Run, bool) {
	var newest Run
	found := false
	for _, r := range f.Runs {
		if is(r) && (!found || r.newerThan(newest)) {
			newest, found = r, true
		}
	}
	return newest, found
}

// any reports whether a condition holds for some run.
func (f Facts) any(is func(Run) bool) bool {
	_, ok := f.newest(is)
	return ok
}
