package schedule

import "time"

// What starts a run.
const (
	TriggerManual    = "Manual"
	TriggerAPI       = "API"
	TriggerSchedule  = "Schedule"
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

// Key is what a verdict holds for.
type Key struct {
	EvaluationDigest string
	// GoldenSetDigest is empty while it is not known.
	GoldenSetDigest string
	Revision        string
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
	EvaluationDigest, GoldenSetDigest string
}

// PastResult is a verdict that outlives its run.
type PastResult struct {
	Run                               string
	EvaluationDigest, GoldenSetDigest string
	Verdict                           string
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
	// Verdict is empty until the run has finished.
	Verdict string
	// Full says that it asks the default endpoint all cases at the suite's own topK.
	Full bool
	// EvaluationDigest and GoldenSetDigest are what it measures; empty until it has started.
	EvaluationDigest, GoldenSetDigest string
	// RetryOf is the run that it repeats.
	RetryOf string
	// Canceled says that somebody asked it to end.
	Canceled bool
}

func (r Run) finished() bool { return r.FinishedAt != nil }

// measures reports whether the run got as far as knowing what it measures.
func (r Run) measures() bool { return r.EvaluationDigest != "" && r.GoldenSetDigest != "" }

func (r Run) measured() TriggeredKey {
	return TriggeredKey{EvaluationDigest: r.EvaluationDigest, GoldenSetDigest: r.GoldenSetDigest}
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
	return TriggeredKey{EvaluationDigest: k.EvaluationDigest, GoldenSetDigest: k.GoldenSetDigest}
}

func (k Key) known() bool { return k.EvaluationDigest != "" && k.GoldenSetDigest != "" }

// String names the key for people, and for telling what a run was started for.
func (k Key) String() string {
	s := "evaluation " + k.EvaluationDigest + ", golden set " + k.GoldenSetDigest
	if k.Revision != "" {
		s += ", revision " + k.Revision
	}
	return s
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
